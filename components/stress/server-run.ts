/**
 * Runs whose load the server makes: its namespace on the page's standing connection. One run of this page at a time; it is
 * taken up again after the connection was lost, and after the page was reloaded.
 */
import { io, type Socket } from "socket.io-client";
import { create } from "zustand";
import type {
  PageToStress,
  StressHello,
  StressPlan,
  StressRefusal,
  StressStarted,
  StressToPage,
} from "../../server/stress/types.ts";
import { STRESS_NAMESPACE, STRESS_OWNER_GRACE_MS } from "../../server/stress/types.ts";
import { apiKey } from "../api/key.ts";
import type { Trouble } from "../api/trouble.ts";
import type { RunHandle, RunListener } from "./run-handle.ts";

interface GeneratorState {
  /** `absent`: the server has no such namespace, or lets nobody in. */
  readonly state: "connecting" | "ready" | "absent";
  readonly hello: StressHello | undefined;
  /** A run of another page is on. */
  readonly isBusy: boolean;
}

export const useGenerator = create<GeneratorState>()(() => ({
  state: "connecting",
  hello: undefined,
  isBusy: false,
}));

/** The server's time for an answer, in milliseconds. */
const ANSWER_MS = 10_000;
/** Where a reloaded page finds the run that it had. */
const STORED = "sonant-stress-run";

/** The run of this page. */
interface Owned {
  readonly id: string;
  readonly listener: RunListener;
}

let socket: Socket<StressToPage, PageToStress> | undefined;
let owned: Owned | undefined;
let patience: ReturnType<typeof setTimeout> | undefined;

/** Connects, once; the connection is that of the server's gauges. */
export function watchGenerator(): void {
  socket ??= connect();
}

/** Tries again, after a key was entered. */
export function askGeneratorAgain(): void {
  if (socket !== undefined && !socket.connected) socket.disconnect().connect();
}

/** Asks the server for a run; what becomes of it is told to the listener. */
export async function startOnServer(plan: StressPlan, listener: RunListener): Promise<void> {
  watchGenerator();
  const answer = await ask((give) => socket?.timeout(ANSWER_MS).emit("start", plan, give));
  if (answer === undefined) listener.failed(troubleOfCode("stress_silent"));
  else if ("code" in answer) listener.failed(troubleOfRefusal(answer));
  else own(answer, plan, listener);
}

/**
 * Takes up the run that this page had before it was reloaded.
 * @returns its plan; undefined if there is none or if it has ended
 */
export async function takeUpRun(listener: RunListener): Promise<StressPlan | undefined> {
  const stored = sessionStorage.getItem(STORED);
  if (stored === null || owned !== undefined) return undefined;
  const { id, plan } = JSON.parse(stored) as { id: string; plan: StressPlan };
  watchGenerator();
  // The report of a run that has ended meanwhile comes before the answer.
  owned = { id, listener };
  const answer = await attach(id);
  if (owned?.id !== id) return plan;
  if (answer === undefined || "code" in answer) {
    release();
    return undefined;
  }
  own(answer, plan, listener);
  return plan;
}

type Answer = StressStarted | StressRefusal | undefined;

/** The answer to an event; undefined if none came in time. */
function ask(
  send: (give: (error: Error | null, info: StressStarted | StressRefusal) => void) => void,
): Promise<Answer> {
  return new Promise((resolve) => {
    send((error, info) => resolve(error === null ? info : undefined));
  });
}

function attach(id: string): Promise<Answer> {
  return ask((give) => socket?.timeout(ANSWER_MS).emit("attach", { id }, give));
}

function own({ id, startedAt }: StressStarted, plan: StressPlan, listener: RunListener): void {
  owned = { id, listener };
  useGenerator.setState({ isBusy: false });
  sessionStorage.setItem(STORED, JSON.stringify({ id, plan }));
  const handle: RunHandle = {
    stop: () =>
      socket?.emit("stop", { id }, (refusal) => refusal && giveUp(troubleOfRefusal(refusal))),
    listen: (lane) => socket?.emit("listen", { lane }, () => {}),
    // What slows a page does not slow the server's workers.
    caveat: () => {},
  };
  listener.started(handle, startedAt);
}

function connect(): Socket<StressToPage, PageToStress> {
  const connection: Socket<StressToPage, PageToStress> = io(STRESS_NAMESPACE, {
    transports: ["websocket"],
    auth: (give) => give({ key: apiKey() }),
  });
  connection.on("hello", (hello) => {
    const isBusy = hello.running !== null && hello.running.id !== owned?.id;
    useGenerator.setState({ state: "ready", hello, isBusy });
  });
  connection.on("connect", () => void takeOver());
  connection.on("connect_error", () => useGenerator.setState({ state: "absent" }));
  connection.on("disconnect", () => {
    if (owned === undefined) return;
    owned.listener.reachable(false);
    clearTimeout(patience);
    patience = setTimeout(() => giveUp(troubleOfCode("stress_lost")), STRESS_OWNER_GRACE_MS);
  });
  connection.on("tick", (id, tick) => {
    if (id === owned?.id) owned.listener.tick(tick);
    else useGenerator.setState({ isBusy: true });
  });
  connection.on("done", (id, report) => {
    if (id !== owned?.id) {
      useGenerator.setState({ isBusy: false });
      return;
    }
    const { listener } = owned;
    release();
    listener.ended(report);
  });
  connection.on("pcm", (info, audio) => owned?.listener.sound(info, new Uint8Array(audio)));
  return connection;
}

/** After the connection is back: the run is this page's again, if the server still has it. */
async function takeOver(): Promise<void> {
  if (owned === undefined) return;
  const { id, listener } = owned;
  const answer = await attach(id);
  if (owned?.id !== id || answer === undefined) return;
  if ("code" in answer) {
    giveUp(troubleOfRefusal(answer));
    return;
  }
  clearTimeout(patience);
  listener.reachable(true);
}

function giveUp(trouble: Trouble): void {
  const listener = owned?.listener;
  release();
  listener?.failed(trouble);
}

function release(): void {
  clearTimeout(patience);
  owned = undefined;
  sessionStorage.removeItem(STORED);
}

function troubleOfRefusal({ code, message, hint }: StressRefusal): Trouble {
  return { code, message, hint };
}

/** What the page finds by itself; the words for its code say it. */
function troubleOfCode(code: "stress_lost" | "stress_silent"): Trouble {
  return { code, message: code };
}
