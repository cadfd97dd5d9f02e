/**
 * Clients that leave: by every door, at every stage of a session, politely or without a word. Each visit resolves when
 * its client is gone; what became of it on the server is for the server to show.
 */
import { once } from "node:events";
import { type ClientRequest, type IncomingMessage, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { io, type Socket as PageSocket } from "socket.io-client";
import { WebSocket } from "ws";
import { toJson } from "../protocol/json.ts";
import type { BreakableNetwork } from "./test-network.ts";

export const DOORS = ["ws, dialect 1", "ws, dialect 2", "stream", "sse", "page"] as const;
export type Door = (typeof DOORS)[number];

/** When a client leaves. "slow" stops reading for a while; "cut off" vanishes without a word, seen from the server. */
export type Moment =
  | "before anything"
  | "in text"
  | "before sound"
  | "in sound"
  | "after the end"
  | "slow"
  | "cut off";

export interface Visit {
  readonly door: Door;
  readonly moment: Moment;
  readonly seed: number;
  /** Draws what is left to chance: delays, and manners. */
  readonly random: () => number;
}

export interface Place {
  readonly port: number;
  readonly network: BreakableNetwork;
}

/** How a visit went. */
export interface Stay {
  /** Audio came. */
  readonly heard: boolean;
  /** The speech came to its end. */
  readonly served: boolean;
}

const LONG =
  "The ferry timetable changes on the first weekend of every month, so please check the board.";
const SHORT = "Yes.";
/** Characters of a text that is not finished. */
const BEGUN = 3;
/** Frames of a visit that hears everything, of one that leaves after the first, and of one that a reader holds up. */
const FEW = 2;
const SOME = 8;
const MANY = 24;
/** A client gives up when nothing happens for this long, in milliseconds: the test then fails by its counts. */
const PATIENCE_MS = 30_000;

/** What a visitor sends. */
function wishOf({ moment, seed }: Visit) {
  const isHeldUp = moment === "slow" || moment === "cut off";
  const frames = isHeldUp ? MANY : moment === "in sound" ? SOME : FEW;
  return {
    text: isHeldUp ? LONG : SHORT,
    settings: { voice: "clara", seed, max_new_tokens: frames },
  };
}

/** Resolves with the first of these events, or when patience is over. */
function either(...events: Promise<unknown>[]): Promise<unknown> {
  const late = new AbortController();
  const patience = sleep(PATIENCE_MS, undefined, { signal: late.signal, ref: false });
  return Promise.race([...events, patience.catch(() => {})]).finally(() => late.abort());
}

/** A promise and the function that keeps it. */
function promised() {
  let keep: () => void = () => {};
  const promise = new Promise<void>((resolve) => {
    keep = resolve;
  });
  return { promise, keep };
}

/** What the moments do, in terms that every door has. */
interface Client {
  readonly connected: Promise<unknown>;
  readonly heard: Promise<unknown>;
  readonly done: Promise<unknown>;
  readonly closed: Promise<unknown>;
  /** Asks without finishing. */
  begin(): void;
  /** Asks, or completes what was begun. */
  ask(): void;
  /** Reads no more, until told to. */
  pause(): void;
  resume(): void;
  leave(isPolite: boolean): void;
  /** Port of its end, for the network to find it. */
  localPort(): number | undefined;
}

async function live(client: Client, visit: Visit, { network }: Place): Promise<void> {
  const { moment, random } = visit;
  const until = (...events: Promise<unknown>[]) => either(client.closed, ...events);
  const wait = (most: number) => sleep(Math.floor(random() * most));
  const isPolite = random() < 0.5;
  if (moment === "before anything") {
    if (random() < 0.5) await until(client.connected);
    await wait(20);
    return client.leave(isPolite);
  }
  await until(client.connected);
  if (moment === "in text") {
    client.begin();
    await wait(30);
    return client.leave(isPolite);
  }
  client.ask();
  switch (moment) {
    case "before sound":
      await wait(25);
      break;
    case "in sound":
      await until(client.heard);
      await wait(random() < 0.5 ? 0 : 30);
      break;
    case "after the end":
      await until(client.done);
      break;
    case "slow":
      await until(client.heard);
      client.pause();
      await wait(1000);
      if (random() < 0.5) {
        client.resume();
        await until(client.done);
      } else if (isPolite) client.resume(); // who takes leave listens for the answer
      break;
    case "cut off": {
      if (random() < 0.5) await until(client.heard);
      const port = client.localPort();
      if (port !== undefined) network.sever(port);
    }
  }
  client.leave(isPolite);
}

function socketClient(visit: Visit, port: number): Client {
  const { text, settings } = wishOf(visit);
  const socket = new WebSocket(`ws://127.0.0.1:${port}/v1/audio/speech/stream`);
  const [heard, done] = [promised(), promised()];
  const closed = new Promise((resolve) => socket.once("close", resolve).on("error", resolve));
  socket.on("message", (data, isBinary) => {
    if (isBinary) heard.keep();
    else if (String(data).includes('"session.done"')) done.keep();
  });
  const say = (message: object) => {
    if (socket.readyState === WebSocket.OPEN) socket.send(toJson(message));
  };
  const begin = () => {
    const protocol = visit.door === "ws, dialect 2" ? 2 : 1;
    const format = { response_format: "pcm", stream_audio: true };
    say({ type: "session.config", protocol, ...settings, ...format });
    say({ type: "input.text", text: text.slice(0, BEGUN) });
  };
  const tcp = () => (socket as unknown as { readonly _socket?: Socket })._socket;
  return {
    connected: once(socket, "open").catch(() => {}),
    heard: heard.promise,
    done: done.promise,
    closed,
    begin,
    ask() {
      begin();
      say({ type: "input.text", text: text.slice(BEGUN) });
      say({ type: "input.done" });
    },
    pause: () => socket.pause(),
    resume: () => socket.resume(),
    leave: (isPolite) => (isPolite ? socket.close() : socket.terminate()),
    localPort: () => tcp()?.localPort,
  };
}

function httpClient(visit: Visit, port: number): Client {
  const { text, settings } = wishOf(visit);
  const format = visit.door === "sse" ? "sse" : "audio";
  const body = toJson({
    input: text,
    ...settings,
    stream: true,
    stream_format: format,
    response_format: "pcm",
  });
  const [heard, done, closed] = [promised(), promised(), promised()];
  const socket = connect(port, "127.0.0.1");
  let answer: IncomingMessage | undefined;
  let asked: ClientRequest | undefined;
  socket.on("error", () => {}).on("close", closed.keep);
  const open = () => {
    asked = request({
      createConnection: () => socket,
      method: "POST",
      path: "/v1/audio/speech",
      headers: {
        host: "127.0.0.1",
        connection: "close",
        "content-type": "application/json",
        "content-length": Buffer.byteLength(body),
      },
    });
    asked.on("error", () => {});
    asked.on("response", (arrived) => {
      answer = arrived;
      arrived.on("error", () => {});
      arrived.on("data", heard.keep).on("end", done.keep);
    });
    return asked;
  };
  return {
    connected: once(socket, "connect").catch(() => {}),
    heard: heard.promise,
    done: done.promise,
    closed: closed.promise,
    begin: () => void open().write(body.slice(0, body.length / 2)),
    ask: () => void open().end(body),
    pause: () => void answer?.pause(),
    resume: () => void answer?.resume(),
    // A polite one ends its side first; a server may go on speaking to that, but nobody stays to hear it.
    leave(isPolite) {
      if (isPolite) socket.end();
      setImmediate(() => socket.destroy());
    },
    localPort: () => socket.localPort,
  };
}

function pageClient(visit: Visit, port: number): Client {
  const { text, settings } = wishOf(visit);
  const page: PageSocket = io(`http://127.0.0.1:${port}`, {
    transports: ["websocket"],
    forceNew: true,
    reconnection: false,
  });
  const [heard, done, closed] = [promised(), promised(), promised()];
  page.on("chunk", heard.keep).on("done", done.keep);
  page.on("disconnect", closed.keep).on("connect_error", closed.keep);
  const socket = () =>
    (page.io.engine?.transport as unknown as { readonly ws?: WebSocket } | undefined)?.ws;
  const tcp = () => (socket() as unknown as { readonly _socket?: Socket } | undefined)?._socket;
  const connected = new Promise((resolve) => page.once("connect", () => resolve(undefined)));
  let isOpen: Promise<unknown> | undefined;
  const begin = () => {
    isOpen = page.emitWithAck("open", { session: "s", ...settings }).catch(() => {});
    void isOpen.then(() => page.emit("text", { session: "s", text: text.slice(0, BEGUN) }));
  };
  return {
    connected,
    heard: heard.promise,
    done: done.promise,
    closed: closed.promise,
    begin,
    ask() {
      begin();
      void isOpen?.then(() => {
        page.emit("text", { session: "s", text: text.slice(BEGUN) });
        page.emit("end", { session: "s" });
      });
    },
    pause: () => tcp()?.pause(),
    resume: () => tcp()?.resume(),
    leave(isPolite) {
      if (!isPolite) socket()?.terminate?.();
      page.disconnect();
      closed.keep(); // of a page that was never connected, nothing else says so
    },
    localPort: () => tcp()?.localPort,
  };
}

/** Comes, and leaves as it is meant to. */
export async function visit(plan: Visit, place: Place): Promise<Stay> {
  const port = plan.moment === "cut off" ? place.network.port : place.port;
  const make =
    plan.door === "page" ? pageClient : plan.door.startsWith("ws") ? socketClient : httpClient;
  const client = make(plan, port);
  let heard = false;
  let served = false;
  void client.heard.then(() => {
    heard = true;
  });
  void client.done.then(() => {
    served = true;
  });
  await live(client, plan, place);
  await either(client.closed);
  return { heard, served };
}
