/**
 * The client of a case's speech socket. Keeps everything that arrives, with what it belongs to, and can be as rude as
 * clients get: bytes that are no frames, close codes that do not exist, a network that swallows everything.
 */
import { type AddressInfo, connect, createServer, type Server, type Socket } from "node:net";
import { connect as connectSecurely } from "node:tls";
import { WebSocket } from "ws";
import { parseJson } from "../protocol/json.ts";
import { wrong } from "./check.ts";
import { EVENTS } from "./mapping.ts";

export type SocketEvent =
  | {
      readonly kind: "message";
      readonly type: string;
      readonly message: Readonly<Record<string, unknown>>;
    }
  | {
      readonly kind: "audio";
      readonly bytes: Buffer;
      readonly utterance: number;
      readonly sentence: number;
    }
  | { readonly kind: "close"; readonly code: number; readonly reason: string };

export interface Until {
  readonly event: string;
  readonly sentence?: number;
}

export class CaseSocket {
  readonly events: SocketEvent[] = [];
  /** Times in milliseconds from each ping to its pong. */
  readonly pongMs: number[] = [];
  /** Labels of utterances in order of use; the index is the utterance's. */
  readonly labels: string[] = [];
  /** Text that was sent, in one piece. */
  text = "";
  readonly #socket: WebSocket;
  readonly #opened: Promise<void>;
  readonly #proxy: BlackHole | undefined;
  #raw: Socket | undefined;
  #read = 0;
  #wake: () => void = () => {};
  #current: { utterance: number; sentence: number } = { utterance: -1, sentence: -1 };
  #pingedAt = 0;
  #pongs: (() => void)[] = [];

  private constructor(url: string, headers: Record<string, string>, proxy?: BlackHole) {
    this.#proxy = proxy;
    this.#socket = new WebSocket(url, {
      headers,
      perMessageDeflate: true,
      maxPayload: 0,
      // A connection of our own, for what a well-behaved client cannot send.
      createConnection: (() => {
        this.#raw = proxy?.connect() ?? connectTo(new URL(url));
        return this.#raw;
      }) as typeof connect,
    });
    this.#opened = new Promise((resolve, reject) => {
      this.#socket.on("open", resolve).on("error", reject);
    });
    this.#opened.catch(() => {});
    this.#socket.on("message", (data, isBinary) => this.#take(data as Buffer, isBinary));
    this.#socket.on("close", (code, reason) =>
      this.#add({ kind: "close", code, reason: String(reason) }),
    );
    this.#socket.on("pong", () => {
      this.pongMs.push(performance.now() - this.#pingedAt);
      for (const heard of this.#pongs.splice(0)) heard();
    });
  }

  /** Opens a socket; resolves also when the server refuses it, which then counts as closed. */
  static async open(
    url: string,
    headers: Record<string, string>,
    options: { readonly throughProxy?: boolean } = {},
  ): Promise<CaseSocket> {
    const proxy = options.throughProxy ? await BlackHole.open(url) : undefined;
    const socket = new CaseSocket(url, headers, proxy);
    await socket.#opened.catch((error: Error) => {
      if (!socket.isClosed) socket.#add({ kind: "close", code: 1006, reason: error.message });
    });
    return socket;
  }

  get isClosed(): boolean {
    return this.events.at(-1)?.kind === "close";
  }

  sendText(text: string, compress = false): void {
    this.#socket.send(text, { compress, binary: false }, () => {});
  }

  sendBytes(bytes: Buffer): void {
    this.#socket.send(bytes, () => {});
  }

  /** Writes bytes that are no frame of ours. */
  sendRaw(bytes: Buffer): void {
    this.#raw?.write(bytes);
  }

  /** A close frame with any code, also one that may not be sent. */
  sendClose(code: number): void {
    // Opcode 8, masked with zeros, two bytes: the code.
    this.#raw?.write(Buffer.from([0x88, 0x82, 0, 0, 0, 0, code >> 8, code & 0xff]));
  }

  close(): void {
    this.#socket.close(1000);
  }

  terminate(): void {
    this.#socket.terminate();
    this.#proxy?.close();
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** From now on the network between the two sides swallows everything, without a word. */
  loseNetwork(): void {
    if (this.#proxy === undefined) throw new Error("this socket was not opened through a proxy");
    this.#proxy.swallow();
  }

  /** Resolves with the pong. @throws Mismatch when none comes */
  async ping(patienceMs: number): Promise<void> {
    this.#pingedAt = performance.now();
    const heard = new Promise<boolean>((resolve) => {
      this.#pongs.push(() => resolve(true));
      setTimeout(() => resolve(false), patienceMs);
    });
    this.#socket.ping();
    if (!(await heard)) wrong(`no pong within ${patienceMs} ms`);
  }

  /**
   * Reads on until an event.
   * @throws Mismatch when it does not come in time or the socket closes before
   */
  async until({ event, sentence }: Until, patienceMs: number): Promise<SocketEvent> {
    const end = performance.now() + patienceMs;
    for (;;) {
      while (this.#read < this.events.length) {
        const next = this.events[this.#read] as SocketEvent;
        if (next.kind === "close") {
          if (event === "close") return next;
          wrong(`the socket closed with ${next.code} before ${event}: ${this.summary()}`);
        }
        this.#read += 1;
        if (this.#is(next, event, sentence)) return next;
      }
      const left = end - performance.now();
      if (left <= 0) wrong(`no ${event} came within ${patienceMs} ms: ${this.summary()}`);
      await this.#more(left);
    }
  }

  /** Waits up to a time for the server to close. */
  async closed(patienceMs: number): Promise<boolean> {
    const end = performance.now() + patienceMs;
    while (!this.isClosed && performance.now() < end) await this.#more(end - performance.now());
    return this.isClosed;
  }

  /** All events of a neutral name. */
  named(event: string): SocketEvent[] {
    return this.events.filter((one) => this.#is(one, event));
  }

  /** Types of what has arrived; audio counts once. */
  summary(): string {
    const types = this.events.map((one) => (one.kind === "message" ? one.type : one.kind));
    return types.filter((type, i) => type !== types[i - 1]).join(" ");
  }

  #is(one: SocketEvent, event: string, sentence?: number): boolean {
    if (event === "first_audio" || event === "audio") {
      return one.kind === "audio" && (sentence ?? one.sentence) === one.sentence;
    }
    if (one.kind !== "message" || !EVENTS[event]?.includes(one.type)) return false;
    return event !== "done" || !this.#wasCancelled(one);
  }

  /** An utterance that was cancelled while it was open is closed with a message of its own; no client waits for it. */
  #wasCancelled(done: SocketEvent & { kind: "message" }): boolean {
    return this.events
      .slice(0, this.events.indexOf(done))
      .some(
        (one) =>
          one.kind === "message" &&
          one.type === "audio.cancelled" &&
          one.message.utterance_index === done.message.utterance_index &&
          Number(one.message.sent_bytes) + Number(one.message.dropped_chars) > 0,
      );
  }

  #more(patienceMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, patienceMs);
      this.#wake = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }

  #take(data: Buffer, isBinary: boolean): void {
    if (isBinary) {
      this.#add({ kind: "audio", bytes: data, ...this.#current });
      return;
    }
    const message = parseJson(String(data)) as Record<string, unknown>;
    if (message.type === "audio.start") {
      this.#current = {
        utterance: Number(message.utterance_index),
        sentence: Number(message.sentence_index),
      };
    }
    this.#add({ kind: "message", type: String(message.type), message });
  }

  #add(event: SocketEvent): void {
    this.events.push(event);
    this.#wake();
  }
}

function connectTo({ protocol, hostname, port }: URL): Socket {
  if (protocol !== "wss:") return connect(Number(port || 80), hostname);
  return connectSecurely({ host: hostname, port: Number(port || 443), servername: hostname });
}

/** A network in between that can begin to swallow everything. */
class BlackHole {
  readonly #pairs: [Socket, Socket][] = [];

  private constructor(private readonly server: Server) {}

  static async open(url: string): Promise<BlackHole> {
    const { hostname, port } = new URL(url);
    const server = createServer();
    const proxy = new BlackHole(server);
    server.on("connection", (client) => {
      const inner = connect(Number(port), hostname);
      for (const [one, other] of [
        [client, inner],
        [inner, client],
      ] as const) {
        one.on("data", (data) => other.write(data));
        one.on("error", () => {}).on("close", () => other.destroy());
      }
      proxy.#pairs.push([client, inner]);
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return proxy;
  }

  connect(): Socket {
    return connect((this.server.address() as AddressInfo).port, "127.0.0.1");
  }

  swallow(): void {
    for (const socket of this.#pairs.flat()) {
      socket.removeAllListeners("data");
      socket.on("data", () => {});
    }
  }

  close(): void {
    for (const socket of this.#pairs.flat()) socket.destroy();
    this.server.close();
  }
}
