/** Expectations of speech sockets. A member may be the name of a socket, with expectations of its own inside. */
import type { Wanted } from "./case-file.ts";
import type { CaseSocket, SocketEvent } from "./case-socket.ts";
import { atMost, between, holds, oneOf, same, wrong } from "./check.ts";
import type { Checks } from "./expectation.ts";
import { DOCUMENTED_CLOSE_CODES } from "./mapping.ts";
import type { World } from "./world.ts";

const CLOSE_PATIENCE_MS = 10_000;

type Check = (socket: CaseSocket, wanted: never, world: World) => void | Promise<void>;
type Message = SocketEvent & { readonly kind: "message" };
type Audio = SocketEvent & { readonly kind: "audio" };

/** What arrived after the first acknowledged cancel. */
function afterCancel(socket: CaseSocket): SocketEvent[] {
  const at = socket.events.indexOf(socket.named("cancelled")[0] as SocketEvent);
  holds(at >= 0, "no cancel was acknowledged");
  return socket.events.slice(at + 1);
}

function checkErrors(socket: CaseSocket, wanted: number | { min: number; max: number }): void {
  const found = socket.named("error").length;
  const { min, max } = typeof wanted === "number" ? { min: wanted, max: wanted } : wanted;
  between("the number of errors", found, min, max);
}

async function checkCloseCode(
  socket: CaseSocket,
  wanted: readonly number[] | string,
  world: World,
): Promise<void> {
  await socket.closed(world.patient(CLOSE_PATIENCE_MS));
  const last = socket.events.at(-1);
  if (last?.kind !== "close") return wrong(`the socket stayed open: ${socket.summary()}`);
  const codes = typeof wanted === "string" ? DOCUMENTED_CLOSE_CODES[world.wanted.id] : wanted;
  oneOf("the close code", last.code, codes ?? []);
}

/** Texts of the units, put together, hold every letter that was sent, in order. */
function checkJoined(socket: CaseSocket): void {
  const units = socket.named("started") as Message[];
  const spoken = units.map(({ message }) => String(message.sentence_text));
  const letters = (text: string) => text.replaceAll(/\s+/g, "");
  // A socket is used for one utterance in the cases that look at this.
  same("the text of all units", letters(spoken.join("")), letters(socket.text));
  const words = socket.text.split(/\s+/).filter(Boolean);
  let at = 0;
  for (const unit of spoken) {
    const parts = unit.split(/\s+/).filter(Boolean);
    same("the words of a unit", parts, words.slice(at, at + parts.length));
    at += parts.length;
  }
}

const CHECKS: Readonly<Record<string, Check>> = {
  done: (socket) => holds(socket.named("done").length > 0, `no end came: ${socket.summary()}`),
  done_count: (socket, wanted: number) =>
    same("the number of ends", socket.named("done").length, wanted),
  errors: checkErrors,
  fatal_errors: (socket, wanted: number) => {
    const fatal = (socket.named("error") as Message[]).filter(
      ({ message }) => message.fatal === true,
    );
    same("the number of fatal errors", fatal.length, wanted);
  },
  closed: (socket, wanted: boolean) => same("whether it is closed", socket.isClosed, wanted),
  close_code: checkCloseCode,
  reason_not_empty: (socket) => {
    const last = socket.events.at(-1);
    holds(last?.kind === "close" && last.reason !== "", "the close has no reason");
  },
  none_after_cancelled: (socket, wanted: readonly string[]) => {
    const kinds = afterCancel(socket).map(({ kind }) => kind as string);
    for (const kind of wanted) holds(!kinds.includes(kind), `${kind} came after the cancel`);
  },
  sentences_started_max: (socket, most: number, { options }) => {
    // A client that the machine lets wait sends its cancel later than the case says.
    const late = options.patience > 1 ? 2 : 1;
    atMost("the number of sentences that began", socket.named("started").length, most * late);
  },
  audio_ids_after_ack: (socket, wanted: readonly string[]) => {
    const audio = afterCancel(socket).filter((one): one is Audio => one.kind === "audio");
    const labels = new Set(audio.map(({ utterance }) => socket.labels[utterance]));
    same("the utterances that were heard after the cancel", [...labels], wanted);
  },
  joined_sentence_text: checkJoined,
};

async function checkSocket(world: World, socket: CaseSocket, wanted: Wanted): Promise<void> {
  for (const [member, value] of Object.entries(wanted)) {
    const check = CHECKS[member];
    if (check !== undefined) await check(socket, value as never, world);
    else if (member !== "or") wrong(`nothing checks the expectation ws.${member}`);
  }
}

export const SOCKET_CHECKS: Checks = {
  ws: async (world, member, wanted) => {
    const socket = world.sockets.get(member);
    if (socket !== undefined) return checkSocket(world, socket, wanted);
    if (member === "open_sessions_gauge") {
      let open = Number.NaN;
      await world.eventually(1000, async () => {
        open = (await world.target.metrics()).sum("sockets");
        return open === wanted;
      });
      return same("the gauge of open sockets", open, wanted);
    }
    holds(world.sockets.size > 0, "no socket was opened");
    for (const one of world.sockets.values()) await checkSocket(world, one, { [member]: wanted });
  },
};
