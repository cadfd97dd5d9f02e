/**
 * The doors of a server as the load test uses them: one request is one text, spoken to its end. A socket is kept and used
 * again, as a program would; opening it is not part of a request.
 */
import { WebSocket } from "ws";
import {
  PlaybackMeter,
  SonantError,
  SpeechClient,
  SpeechSocket,
  toSonantError,
} from "../protocol/client/index.ts";
import type { Outcome, Spoken } from "./bench-server-figures.ts";
import type { DoorName } from "./bench-server-options.ts";

/** What is asked of the server: pacing would measure the clock, so there is none. */
const WISH = { response_format: "pcm", max_lead_ms: 3_600_000 } as const;
const REFUSALS: ReadonlySet<string> = new Set([
  ...["overloaded", "unavailable", "warming_up", "shutting_down"],
  ...["rate_limited", "too_many_sessions", "request_timeout"],
]);

export interface Door {
  readonly name: DoorName;
  /** Speaks a text. Never fails: what goes wrong is an outcome. */
  speak(text: string, signal: AbortSignal): Promise<Outcome>;
  close(): Promise<void>;
}

export interface DoorOptions {
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  readonly voice: string | undefined;
}

export function openDoor(name: DoorName, options: DoorOptions): Door {
  return name === "http" ? new HttpDoor(options) : new SocketDoor(options);
}

/** What became of a request that was not spoken. */
function outcomeOf(error: unknown): Outcome {
  const { code, message } = toSonantError(error);
  return { kind: REFUSALS.has(code) ? "refused" : "failed", code, message };
}

function spokenOf(meter: PlaybackMeter): Spoken {
  const { ttfpMs, elapsedMs, audioMs, arrivals, continuity } = meter.read();
  if (ttfpMs === undefined) throw new SonantError("no_audio");
  return {
    kind: "spoken",
    ttfpMs,
    totalMs: elapsedMs,
    audioMs,
    gapsMs: arrivals.slice(1).map(({ atMs }, i) => atMs - (arrivals[i]?.atMs ?? atMs)),
    underruns: continuity.events,
    shortfallMs: continuity.underrunSeconds * 1000,
    isContinuous: continuity.ok,
  };
}

class HttpDoor implements Door {
  readonly name = "http";
  readonly #client: SpeechClient;
  readonly #voice: { voice?: string };

  constructor({ baseUrl, apiKey, voice }: DoorOptions) {
    this.#client = new SpeechClient({ baseUrl, apiKey });
    this.#voice = voice === undefined ? {} : { voice };
  }

  async speak(text: string, signal: AbortSignal): Promise<Outcome> {
    const meter = new PlaybackMeter();
    try {
      const stream = await this.#client.stream(
        { ...WISH, ...this.#voice, input: text },
        { signal },
      );
      for await (const { durationMs = 0 } of stream) meter.chunk(durationMs);
      meter.end();
      return spokenOf(meter);
    } catch (error) {
      return outcomeOf(error);
    }
  }

  async close(): Promise<void> {}
}

class SocketDoor implements Door {
  readonly name = "ws";
  readonly #options: DoorOptions;
  /** Sessions that nobody speaks on. */
  readonly #idle: SpeechSocket[] = [];
  readonly #all = new Set<SpeechSocket>();

  constructor(options: DoorOptions) {
    this.#options = options;
  }

  async speak(text: string, signal: AbortSignal): Promise<Outcome> {
    try {
      const socket = this.#idle.pop() ?? (await this.#open(signal));
      const outcome = await this.#speakOn(socket, text, signal);
      this.#idle.push(socket);
      return outcome;
    } catch (error) {
      return outcomeOf(error);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#all].map((socket) => socket.close()));
    this.#all.clear();
  }

  async #open(signal: AbortSignal): Promise<SpeechSocket> {
    const { voice, ...access } = this.#options;
    // A session that is lost is a failure to be counted, not one to be mended.
    const socket = new SpeechSocket({ ...access, WebSocket, reconnect: false, acks: "manual" });
    await socket.open({ ...WISH, ...(voice === undefined ? {} : { voice }) }, { signal });
    this.#all.add(socket);
    socket.on("state", ({ state }) => {
      if (state === "closed") this.#all.delete(socket);
    });
    return socket;
  }

  /** @throws SonantError; the socket is then of no more use */
  async #speakOn(socket: SpeechSocket, text: string, signal: AbortSignal): Promise<Spoken> {
    const stop = () => void socket.close();
    signal.addEventListener("abort", stop);
    const reader = socket.events();
    const meter = new PlaybackMeter();
    try {
      signal.throwIfAborted();
      socket.sendText(text);
      socket.end();
      for await (const event of reader) {
        if (event.type === "chunk") meter.chunk(event.durationMs ?? 0);
        if (event.type === "error") throw event.error;
        if (event.type !== "done") continue;
        meter.end();
        return spokenOf(meter);
      }
      throw new SonantError(signal.aborted ? "aborted" : "closed");
    } catch (error) {
      void socket.close();
      throw error;
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }
}
