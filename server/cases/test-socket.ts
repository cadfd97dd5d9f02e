/**
 * A client of the speech socket that watches it: keeps everything that arrives in order and hands it out one by one. Checks the
 * promises that hold in every session: audio only inside its unit, totals that are right, units that count by one.
 */
import { type ClientOptions, WebSocket } from "ws";
import { parseJson, toJson } from "../protocol/json.ts";
import type { ClientMessageInput } from "../protocol/socket-client.ts";
import { ServerMessage } from "../protocol/socket-server.ts";
import { decodeTagged, TAG_BYTES } from "../protocol/tagged-frame.ts";

export type Received =
  | { readonly kind: "message"; readonly message: Record<string, unknown> & { type: string } }
  | { readonly kind: "audio"; readonly bytes: Uint8Array }
  | { readonly kind: "close"; readonly code: number; readonly reason: string };

interface OpenUnit {
  readonly utterance: unknown;
  readonly sentence: unknown;
  /** It began on a connection that was lost. */
  readonly isResumed?: boolean;
}

/** How long something may take to arrive before a test gives up, in milliseconds. */
const PATIENCE_MS = 60_000;

export class TestSocket {
  readonly socket: WebSocket;
  readonly opened: Promise<void>;
  /** Everything that has arrived. */
  readonly all: Received[] = [];
  /** Promises of the protocol that were broken. */
  readonly broken: string[] = [];
  /** Audio headers are expected in front of binary messages. */
  tagged = false;
  /** Audio bytes since the last `audio.start`. */
  unitBytes = 0;
  #read = 0;
  #wake: () => void = () => {};
  #unit: OpenUnit | undefined;
  #previous: OpenUnit | undefined;
  #generation = 0;

  constructor(url: string, options: ClientOptions & { protocols?: string[] } = {}) {
    const { protocols = [], ...rest } = options;
    this.socket = new WebSocket(url, protocols, rest);
    this.opened = new Promise((resolve, reject) => {
      this.socket.on("open", resolve).on("error", reject);
    });
    this.opened.catch(() => {});
    this.socket.on("message", (data, isBinary) => {
      if (isBinary) this.#take({ kind: "audio", bytes: data as Buffer });
      else this.#take({ kind: "message", message: parseJson(String(data)) as { type: string } });
    });
    this.socket.on("close", (code, reason) =>
      this.#take({ kind: "close", code, reason: String(reason) }),
    );
  }

  send(message: ClientMessageInput | Record<string, unknown>): void {
    this.socket.send(toJson(message));
  }

  /** What arrives next; undefined if nothing does within the time. */
  async next(patienceMs = PATIENCE_MS): Promise<Received | undefined> {
    const end = performance.now() + patienceMs;
    while (this.#read === this.all.length) {
      const left = end - performance.now();
      if (left <= 0) return undefined;
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, left);
        this.#wake = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
    return this.all[this.#read++];
  }

  /** What arrives next, left where it is. */
  async peek(patienceMs = PATIENCE_MS): Promise<Received | undefined> {
    const next = await this.next(patienceMs);
    if (next !== undefined) this.#read -= 1;
    return next;
  }

  /** Reads on until a message of that type comes, that one included. */
  async until(type: string): Promise<Record<string, unknown>> {
    for (;;) {
      const next = await this.next();
      if (next === undefined) throw new Error(`No ${type} came`);
      if (next.kind === "message" && next.message.type === type) return next.message;
      if (next.kind === "close") {
        throw new Error(`Closed with ${next.code} before ${type}: ${this.summary()}`);
      }
    }
  }

  /** Reads on until audio comes. */
  async untilAudio(): Promise<Uint8Array> {
    for (;;) {
      const next = await this.next();
      if (next?.kind === "audio") return next.bytes;
      if (next === undefined || next.kind === "close") {
        throw new Error(`No audio came: ${this.summary()}`);
      }
    }
  }

  /** Reads on until the connection is closed. */
  async closed(): Promise<{ code: number; reason: string }> {
    for (;;) {
      const next = await this.next();
      if (next === undefined) throw new Error(`It stayed open: ${this.summary()}`);
      if (next.kind === "close") return next;
    }
  }

  /** Types of the messages that have arrived; audio counts once. */
  summary(): string {
    const types = this.all.map((item) => (item.kind === "message" ? item.message.type : item.kind));
    return types.filter((type, i) => type !== types[i - 1]).join(" ");
  }

  /** All messages of a type that have arrived. */
  messages(type: string): Record<string, unknown>[] {
    return this.all.flatMap((item) =>
      item.kind === "message" && item.message.type === type ? [item.message] : [],
    );
  }

  /** Bytes of all audio that has arrived, without headers. */
  audio(): Buffer {
    return Buffer.concat(
      this.all.flatMap((item) =>
        item.kind === "audio" ? [item.bytes.subarray(this.tagged ? TAG_BYTES : 0)] : [],
      ),
    );
  }

  #take(item: Received): void {
    this.all.push(item);
    if (item.kind === "audio") this.#checkAudio(item.bytes);
    else if (item.kind === "message") this.#checkMessage(item.message);
    this.#wake();
  }

  #checkAudio(bytes: Uint8Array): void {
    if (this.#unit === undefined) this.broken.push("audio outside of a unit");
    if (!this.tagged) {
      this.unitBytes += bytes.length;
      return;
    }
    const frame = decodeTagged(bytes);
    if (frame === undefined) this.broken.push("audio without its header");
    else {
      this.unitBytes += frame.payload.length;
      if (frame.tag.generation < this.#generation) this.broken.push("audio after its cancel");
    }
  }

  #checkMessage(message: Record<string, unknown> & { type: string }): void {
    const { success } = ServerMessage.safeParse(message);
    if (!success) this.broken.push(`${message.type} has an undocumented shape`);
    const { utterance_index: utterance, sentence_index: sentence } = message;
    switch (message.type) {
      case "audio.start": {
        if (this.#unit !== undefined && !this.#unit.isResumed)
          this.broken.push("a unit inside of a unit");
        const isSame = this.#previous?.utterance === utterance;
        const follows = isSame ? Number(this.#previous?.sentence) + 1 : 0;
        if (sentence !== follows)
          this.broken.push(`unit ${sentence} comes where ${follows} should`);
        this.#unit = { utterance, sentence };
        this.unitBytes = 0;
        break;
      }
      case "audio.done":
        if (this.#unit?.isResumed) this.#unit = { utterance, sentence };
        else if (this.#unit?.sentence !== sentence) this.broken.push("a unit ends without a start");
        else if (message.total_bytes !== this.unitBytes) {
          this.broken.push(`total_bytes ${message.total_bytes} is not ${this.unitBytes}`);
        }
        this.#previous = this.#unit;
        this.#unit = undefined;
        break;
      case "session.resumed":
        this.#unit = { utterance: undefined, sentence: undefined, isResumed: true };
        break;
      case "audio.cancelled":
        this.#generation += 1;
    }
  }
}
