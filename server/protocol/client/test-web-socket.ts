/** A WebSocket without a network, for tests: the test is the server, and the network that fails. */
import { parseJson, toJson } from "../json.ts";
import type { ServerMessage } from "../socket-server.ts";
import { encodeTagged, type FrameTag } from "../tagged-frame.ts";
import type { WebSocketConstructor } from "./socket-types.ts";

type Written = Record<string, unknown> & { type: string };

export class FakeWebSocket {
  binaryType = "blob";
  bufferedAmount = 0;
  onopen: unknown;
  onmessage: unknown;
  onerror: unknown;
  onclose: unknown;
  /** What the client has sent. */
  readonly sent: Written[] = [];
  /** How the client closed it; undefined while it has not. */
  closedWith: number | undefined;

  constructor(
    readonly url: string,
    readonly protocols: string[] | undefined,
    readonly options: { headers: Record<string, string> } | undefined,
  ) {}

  send(text: string): void {
    this.sent.push(parseJson(text) as Written);
  }

  close(code = 1005): void {
    this.closedWith ??= code;
  }

  /** The connection stands. */
  open(): void {
    this.#tell(this.onopen, {});
  }

  /** The server says something. */
  say(message: ServerMessage): void {
    this.sayText(toJson(message));
  }

  sayText(data: string): void {
    this.#tell(this.onmessage, { data });
  }

  /** The server sends a piece of audio. */
  audio(tag: Partial<FrameTag> & { readonly seq: number }, payload: readonly number[]): void {
    const place = { utterance: 0, sentence: 0, generation: 0 };
    const flags = { first: false, last: false, replayed: false };
    const message = encodeTagged({ ...place, ...flags, ...tag }, Uint8Array.from(payload));
    this.sayBinary(message.buffer as ArrayBuffer);
  }

  sayBinary(data: ArrayBuffer): void {
    this.#tell(this.onmessage, { data });
  }

  /** The connection ends, by the server or by the network. */
  end(code = 1006, reason = ""): void {
    this.#tell(this.onclose, { code, reason });
  }

  /** The connection never comes to be. */
  refuse(message?: string): void {
    this.#tell(this.onerror, message === undefined ? {} : { message });
    this.end();
  }

  /** Messages of a type that the client has sent. */
  of(type: string): Written[] {
    return this.sent.filter((message) => message.type === type);
  }

  #tell(listener: unknown, event: object): void {
    (listener as ((event: object) => void) | undefined)?.(event);
  }
}

/** A constructor, and all that it has made. */
export function fakeNetwork(): { WebSocket: WebSocketConstructor; made: FakeWebSocket[] } {
  const made: FakeWebSocket[] = [];
  class Recorded extends FakeWebSocket {
    constructor(url: string, protocols?: string[], options?: { headers: Record<string, string> }) {
      super(url, protocols, options);
      made.push(this);
    }
  }
  return { WebSocket: Recorded, made };
}

export const LIMITS_OF_SESSION = {
  config_chars: 1000,
  text_chars: 1000,
  buffer_chars: 100,
  queued_units: 64,
  frame_bytes: 1 << 20,
  idle_timeout_s: 30,
  max_lead_ms: 20_000,
  resume_ttl_s: 60,
};

/** The server's answer to a configuration. */
export const CREATED: ServerMessage = {
  type: "session.created",
  session_id: "ws_1",
  resume_token: "secret",
  protocol: 2,
  sample_rate: 1000,
  channels: 1,
  frame_ms: 80,
  limits: LIMITS_OF_SESSION,
};

/** The server begins a segment. */
export function startOf(sentence: number, utterance = 0): ServerMessage {
  return {
    type: "audio.start",
    utterance_index: utterance,
    sentence_index: sentence,
    sentence_text: `Sentence ${sentence}.`,
    format: "pcm",
    sample_rate: 1000,
    channels: 1,
    generation: 0,
  };
}

/** The server ends a segment. */
export function doneOf(sentence: number, utterance = 0): ServerMessage {
  return {
    type: "audio.done",
    utterance_index: utterance,
    sentence_index: sentence,
    total_bytes: 4,
    error: false,
    seed: 2n ** 60n,
    cancelled: false,
  };
}
