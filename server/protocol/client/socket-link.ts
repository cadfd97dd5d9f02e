/**
 * One WebSocket connection: messages out, messages and audio in, a watch over its life, and its end, told once. Knows
 * nothing of sessions; a session may live through several of these.
 */
import { toJson } from "../json.ts";
import { KEY_SUBPROTOCOL, SOCKET_PATHS, SUBPROTOCOL } from "../socket-address.ts";
import type { ClientMessageInput } from "../socket-client.ts";
import type { ServerMessage } from "../socket-server.ts";
import { decodeTagged, type FrameTag } from "../tagged-frame.ts";
import { SonantError, toSonantError } from "./error.ts";
import { errorOfClose, errorOfHandshake } from "./error-answers.ts";
import { plainBaseUrl } from "./request.ts";
import { readServerMessage } from "./socket-events.ts";
import type { FrameLogEntry, WebSocketConstructor, WebSocketLike } from "./socket-types.ts";

/** What a connection is told when it is given up for another one: the server then keeps the session. */
const CLOSE_GIVEN_UP = 4000;
const CLOSE_NORMAL = 1000;

export interface LinkOptions {
  readonly WebSocket: WebSocketConstructor;
  readonly url: string;
  readonly apiKey: string | undefined;
  /** Whether this kind of WebSocket sets headers, which those of platforms do not. */
  readonly setsHeaders: boolean;
  readonly keepAliveMs: number;
  readonly log: (entry: Omit<FrameLogEntry, "atMs">) => void;
}

export interface LinkListener {
  opened(): void;
  /** @param text as it was written */
  message(message: ServerMessage, text: string): void;
  audio(tag: FrameTag, payload: Uint8Array): void;
  /** The connection has ended, or never began. Nothing comes after it. */
  ended(error: SonantError): void;
}

/** A message, with the number that counted ones have. */
export type Outgoing = ClientMessageInput & { readonly seq?: unknown };

export class SocketLink {
  readonly #options: LinkOptions;
  readonly #listener: LinkListener;
  readonly #socket: WebSocketLike;
  #isOpen = false;
  #isOver = false;
  #failure: string | undefined;
  /** Something has come since the last beat. */
  #isAlive = true;
  #beat: ReturnType<typeof setInterval> | undefined;

  constructor(options: LinkOptions, listener: LinkListener) {
    this.#options = options;
    this.#listener = listener;
    this.#socket = connect(options);
    this.#socket.binaryType = "arraybuffer";
    this.#listen();
  }

  /** Bytes that have not left yet. */
  get bufferedAmount(): number {
    return this.#socket.bufferedAmount;
  }

  send(message: Outgoing): void {
    if (!this.#isOpen || this.#isOver) return;
    const text = toJson(message);
    const { type } = message;
    const seq = typeof message.seq === "number" ? message.seq : undefined;
    this.#options.log({ direction: "out", type, seq, bytes: text.length, text });
    this.#socket.send(text);
  }

  /** Ends it in order; `ended` follows when the server has agreed. */
  close(): void {
    this.#socket.close(CLOSE_NORMAL);
  }

  /** Lets go of it at once: nothing is told any more. @param isWanted whether the server shall keep the session */
  drop(isWanted: boolean): void {
    this.#over();
    if (isWanted) this.#socket.close(CLOSE_GIVEN_UP, "The client connects anew");
    else this.#socket.close(CLOSE_NORMAL);
  }

  #listen(): void {
    const socket = this.#socket;
    socket.onopen = () => {
      if (this.#isOver) return;
      this.#isOpen = true;
      this.#watch();
      this.#listener.opened();
    };
    socket.onmessage = ({ data }: { readonly data: unknown }) => {
      if (this.#isOver) return;
      this.#isAlive = true;
      if (typeof data === "string") this.#text(data);
      else this.#binary(data);
    };
    socket.onerror = ({ message }: { readonly message?: unknown }) => {
      if (typeof message === "string") this.#failure = message;
    };
    socket.onclose = ({ code, reason }: { readonly code: number; readonly reason: string }) => {
      if (this.#isOver) return;
      const failure = this.#failure;
      const wasOpen = this.#isOpen;
      this.#over();
      this.#listener.ended(
        wasOpen ? errorOfClose(code, reason, failure) : errorOfHandshake(failure),
      );
    };
  }

  #text(text: string): void {
    let message: ServerMessage;
    try {
      message = readServerMessage(text);
    } catch (error) {
      this.#unusable(toSonantError(error));
      return;
    }
    const { type } = message;
    this.#options.log({ direction: "in", type, seq: undefined, bytes: text.length, text });
    this.#listener.message(message, text);
  }

  #binary(data: unknown): void {
    const frame = data instanceof ArrayBuffer ? decodeTagged(new Uint8Array(data)) : undefined;
    if (frame === undefined) {
      const error = new SonantError("malformed_answer", "An audio message has no header.");
      this.#unusable(error);
      return;
    }
    const { seq } = frame.tag;
    const { byteLength } = data as ArrayBuffer;
    const text = undefined;
    this.#options.log({ direction: "in", type: "audio", seq, bytes: byteLength, text });
    this.#listener.audio(frame.tag, frame.payload);
  }

  /** What came cannot be used: another connection would bring the same. */
  #unusable(error: SonantError): void {
    this.drop(false);
    this.#listener.ended(error);
  }

  /** A network that goes away says nothing; only silence tells. */
  #watch(): void {
    const { keepAliveMs } = this.#options;
    if (keepAliveMs <= 0) return;
    this.#beat = setInterval(() => {
      if (this.#isAlive) {
        this.#isAlive = false;
        this.send({ type: "ping", t: "beat" });
        return;
      }
      this.drop(true);
      this.#listener.ended(errorOfClose(1006, "The connection has fallen silent."));
    }, keepAliveMs);
  }

  #over(): void {
    this.#isOver = true;
    clearInterval(this.#beat);
  }
}

/** Opens a connection, with the key where the platform lets it be: in a header, else in a subprotocol. */
function connect({ WebSocket, url, apiKey, setsHeaders }: LinkOptions): WebSocketLike {
  if (apiKey === undefined) return new WebSocket(url, [SUBPROTOCOL]);
  if (!setsHeaders) return new WebSocket(url, [SUBPROTOCOL, keySubprotocol(apiKey)]);
  return new WebSocket(url, [SUBPROTOCOL], { headers: { authorization: `Bearer ${apiKey}` } });
}

/** An API key as the name of a subprotocol: base64url, since few characters are allowed in one. */
export function keySubprotocol(apiKey: string): string {
  const binary = String.fromCharCode(...new TextEncoder().encode(apiKey));
  const base64 = btoa(binary).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  return KEY_SUBPROTOCOL + base64;
}

/** The platform's own WebSocket. @throws SonantError where it has none */
export function platformWebSocket(): WebSocketConstructor {
  const { WebSocket } = globalThis as { WebSocket?: WebSocketConstructor };
  if (WebSocket !== undefined) return WebSocket;
  throw new SonantError("not_open", "There is no WebSocket here; pass that of the ws package.");
}

/** Address of the speech socket of a server. */
export function socketUrl(baseUrl: string): string {
  const { location } = globalThis as { location?: { readonly href: string } };
  const url = new URL(plainBaseUrl(baseUrl) + SOCKET_PATHS[1], location?.href);
  url.protocol = url.protocol === "https:" ? "wss:" : "ws:";
  return url.href;
}
