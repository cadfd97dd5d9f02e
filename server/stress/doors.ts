/**
 * The doors of a server as load uses them: one request is one text, spoken to its end. Sockets are kept and used again, as
 * a program would; opening one is no part of a request.
 */
import {
  type AudioEvent,
  SonantError,
  SpeechClient,
  SpeechSocket,
  type StreamPiece,
} from "../protocol/client/index.ts";
import type { StressPlan } from "../protocol/stress.ts";
import type { StressAccess } from "./types.ts";

/** Pacing would measure the clock: without readers in real time there is none. */
const UNPACED = { max_lead_ms: 3_600_000 } as const;
/** How often a reader in real time tells how far he is, in milliseconds. */
const REPORT_MS = 200;

export interface LoadRequest {
  readonly text: string;
  readonly voice: string | undefined;
  readonly seed: number;
}

/** What a request's reader is told. */
export interface Reader {
  /** A chunk of 16-bit samples came; `durationMs` of sound. */
  chunk(bytes: Uint8Array, durationMs: number, form: SoundForm): void;
  /** How much has been played, in milliseconds; asked by readers in real time. */
  playedMs(): number;
  /** All has been played; at once unless it is a reader in real time. */
  finished(signal: AbortSignal): Promise<void>;
}

export interface SoundForm {
  /** Hz */
  readonly sampleRate: number;
  readonly channels: number;
}

/** Speaks a text to its end. Once. @throws SonantError */
export type Speak = (request: LoadRequest, reader: Reader, signal: AbortSignal) => Promise<void>;

export interface Door {
  /** Makes ready for one request, as far as that is no part of it, such as opening a socket. @throws SonantError */
  prepare(signal: AbortSignal): Promise<Speak>;
  close(): Promise<void>;
}

/** What the requests of a plan have in common. */
export type DoorPlan = Pick<StressPlan, "target" | "model">;

/** @param realTime readers of the socket report what they have heard */
export function openDoor(
  { target, model }: DoorPlan,
  access: StressAccess,
  realTime: boolean,
): Door {
  const own = model === undefined ? {} : { model };
  if (target === "ws") return new SocketDoor(access, realTime, own);
  return new HttpDoor(access, target === "sse", own);
}

/** The model of a request, where it names one. */
interface OwnModel {
  readonly model?: string;
}

function wishOf({ text, voice, seed }: LoadRequest) {
  return {
    ...UNPACED,
    response_format: "pcm",
    input: text,
    seed,
    ...(voice === undefined ? {} : { voice }),
  } as const;
}

class HttpDoor implements Door {
  readonly #client: SpeechClient;
  readonly #isSse: boolean;
  readonly #own: OwnModel;

  constructor(access: StressAccess, isSse: boolean, own: OwnModel) {
    this.#client = new SpeechClient(access);
    this.#isSse = isSse;
    this.#own = own;
  }

  async prepare(): Promise<Speak> {
    return (...request) => this.#speak(...request);
  }

  async #speak(request: LoadRequest, reader: Reader, signal: AbortSignal): Promise<void> {
    const wish = { ...wishOf(request), ...this.#own };
    const stream = this.#isSse
      ? await this.#client.sse(wish, { signal })
      : await this.#client.stream(wish, { signal });
    const { sampleRate, channels } = stream.receipt;
    const pieces: AsyncIterable<StreamPiece | AudioEvent> = stream;
    for await (const piece of pieces) {
      if ("bytes" in piece) {
        reader.chunk(piece.bytes, piece.durationMs ?? 0, { sampleRate, channels });
      }
    }
  }

  async close(): Promise<void> {}
}

class SocketDoor implements Door {
  readonly #access: StressAccess;
  readonly #realTime: boolean;
  readonly #own: OwnModel;
  /** Sessions that nobody speaks on. */
  readonly #idle: SpeechSocket[] = [];
  readonly #all = new Set<SpeechSocket>();

  constructor(access: StressAccess, realTime: boolean, own: OwnModel) {
    this.#access = access;
    this.#realTime = realTime;
    this.#own = own;
  }

  async prepare(signal: AbortSignal): Promise<Speak> {
    const socket = this.#idle.pop() ?? (await this.#open(signal));
    return async (request, reader, stopped) => {
      await this.#speakOn(socket, request, reader, stopped);
      if (socket.state === "open") this.#idle.push(socket);
    };
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((socket) => socket.close()));
    this.#all.clear();
  }

  async #open(signal: AbortSignal): Promise<SpeechSocket> {
    const { baseUrl, apiKey, WebSocket } = this.#access;
    // A session that is lost is a failure to be counted, not one to be mended.
    const options = { baseUrl, apiKey, WebSocket, reconnect: false, acks: "manual" } as const;
    const socket = new SpeechSocket(options);
    this.#all.add(socket);
    socket.on("state", ({ state }) => {
      if (state !== "closed") return;
      this.#all.delete(socket);
      const place = this.#idle.indexOf(socket);
      if (place >= 0) this.#idle.splice(place, 1);
    });
    await socket.open({ ...(this.#realTime ? {} : UNPACED), ...this.#own }, { signal });
    return socket;
  }

  /** @throws SonantError; the socket is then of no more use */
  async #speakOn(
    socket: SpeechSocket,
    { text, voice, seed }: LoadRequest,
    reader: Reader,
    signal: AbortSignal,
  ): Promise<void> {
    const stop = () => void socket.close();
    signal.addEventListener("abort", stop);
    let utterance: number | undefined;
    const report = () => {
      if (utterance !== undefined) socket.played(utterance, reader.playedMs());
    };
    const reports = this.#realTime ? setInterval(report, REPORT_MS) : undefined;
    const events = socket.events();
    try {
      if (signal.aborted) throw new SonantError("aborted");
      socket.update({ seed, ...(voice === undefined ? {} : { voice }) });
      socket.sendText(text);
      socket.end();
      for await (const event of events) {
        if (event.type === "error") throw event.error;
        if (event.type === "chunk") {
          utterance = event.utterance;
          const { sampleRate = 0, channels = 1 } = socket.session ?? {};
          reader.chunk(event.bytes, event.durationMs ?? 0, { sampleRate, channels });
        }
        if (event.type !== "done") continue;
        await reader.finished(signal);
        return;
      }
      throw new SonantError(signal.aborted ? "aborted" : "closed");
    } catch (error) {
      void socket.close();
      throw error;
    } finally {
      clearInterval(reports);
      signal.removeEventListener("abort", stop);
    }
  }
}
