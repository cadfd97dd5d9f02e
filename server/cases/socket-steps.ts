/** Steps on the speech socket, by their `op`. */
import type { Step } from "./case-file.ts";
import { CaseSocket } from "./case-socket.ts";
import { NotRunnable } from "./check.ts";
import { messageFor, SOCKET_PATH } from "./mapping.ts";
import type { Scope } from "./values.ts";
import type { World } from "./world.ts";

/** An event that takes longer does not come. */
const PATIENCE_MS = 60_000;
const PONG_PATIENCE_MS = 10_000;
/** What a text is cut into by "random 1..17 chars". */
const LONGEST_PIECE = 17;

export async function socketStep(
  world: World,
  step: Step,
  conn: string,
  scope: Scope,
): Promise<void> {
  const name = String(await world.values.filled(conn, scope));
  if (step.op === "open") return open(world, step, name);
  const socket = world.sockets.get(name);
  if (socket === undefined) throw new Error(`Socket ${name} was not opened.`);
  switch (step.op) {
    case "text":
      return text(world, socket, step, scope);
    case "recv":
      await socket.until(
        untilOf(step),
        step.timeout_ms === undefined ? PATIENCE_MS : world.patient(step.timeout_ms),
      );
      return;
    case "ping":
      return socket.ping(PONG_PATIENCE_MS);
    case "terminate":
      return socket.terminate();
    case "pause_reading":
      return socket.pause();
    case "resume_reading":
      return socket.resume();
    case "raw_text":
      return socket.sendText(String(await world.values.filled(step.data, scope)), step.compress);
    case "raw_binary":
      return socket.sendBytes(Buffer.from(String(step.hex), "hex"));
    case "raw_tcp":
      return socket.sendRaw(Buffer.from(String(await world.values.filled(step.hex, scope)), "hex"));
    case "raw_close":
      return socket.sendClose(step.code ?? 0);
    default:
      return message(world, socket, step);
  }
}

async function open(world: World, step: Step, name: string): Promise<void> {
  const { target } = world;
  const url = target.socketUrl(step.path ?? SOCKET_PATH);
  const options = { throughProxy: step.via !== undefined };
  world.sockets.get(name)?.terminate();
  world.sockets.set(name, await CaseSocket.open(url, target.headers, options));
}

function message(world: World, socket: CaseSocket, step: Step): void {
  const built = messageFor(step.op ?? "", step, world.wanted.id);
  if (built === undefined) throw new NotRunnable(`no rule says how to ${step.op} a socket`);
  label(socket, step);
  socket.sendText(JSON.stringify(built));
}

/** Labels stand for utterances in the order in which they are first used. */
function label(socket: CaseSocket, { id }: Step): void {
  if (id !== undefined && !socket.labels.includes(id)) socket.labels.push(id);
}

async function text(world: World, socket: CaseSocket, step: Step, scope: Scope): Promise<void> {
  label(socket, step);
  const filled = await world.values.filled(step.text, scope);
  const isText = typeof filled === "string";
  // What is no text is sent as it is, for the server to refuse.
  for (const piece of isText ? pieces(world, filled, step.split) : [filled]) {
    const built = messageFor("text", { ...step, text: piece }, world.wanted.id);
    socket.sendText(JSON.stringify(built));
  }
  if (isText) socket.text += filled;
}

function pieces(world: World, whole: string, split: string | undefined): string[] {
  if (split === undefined) return [whole];
  if (split.includes("UTF-16")) return whole.split("");
  const cut: string[] = [];
  for (let at = 0; at < whole.length; at += cut.at(-1)?.length ?? 1) {
    const length = 1 + Math.floor(world.values.random("pieces") * LONGEST_PIECE);
    cut.push(whole.slice(at, at + length));
  }
  return cut;
}

function untilOf({ until = "" }: Step) {
  return typeof until === "string" ? { event: until } : until;
}
