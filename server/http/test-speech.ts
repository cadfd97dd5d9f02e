/** A speech service without an engine, for tests: a tone for each text, and failures on demand. */
import { setImmediate as turn } from "node:timers/promises";
import { ApiError } from "../protocol/envelope.ts";
import type { ErrorCode } from "../protocol/error-registry.ts";
import type { SessionRequest, SpeechEvent, SpeechService, SpeechSession } from "../speech/types.ts";

/** What happens to a speech. */
export interface Fate {
  /** Chunks of 80 ms; Infinity goes on until it is stopped. */
  readonly chunks?: number;
  /** Segments that it has. */
  readonly units?: number;
  /** Fails in front of this chunk. */
  readonly failAt?: number;
  readonly failure?: Error;
  /** Refused when it is opened. */
  readonly refusal?: ErrorCode;
  /** Resolves when the chunk may be made. */
  readonly before?: (chunk: number) => Promise<unknown>;
}

const CHUNK_MS = 80;
const PLACE = { utterance: 0, unit: 0, generation: 0 } as const;

export class FakeSession implements SpeechSession {
  readonly requestId: string;
  /** Chunks that were made. */
  made = 0;
  text = "";
  isClosed = false;
  /** Whether it was closed before it had ended. */
  wasStopped = false;
  isBusy = true;
  hasUtterance = true;
  readonly #stopped: Promise<void>;
  #stop: () => void = () => {};

  constructor(
    readonly request: SessionRequest,
    readonly fate: Fate,
  ) {
    this.requestId = request.requestId;
    this.#stopped = new Promise((resolve) => {
      this.#stop = resolve;
    });
    request.signal?.addEventListener("abort", () => void this.close(), { once: true });
  }

  push(text: string): void {
    this.text += text;
  }

  get events(): AsyncIterable<SpeechEvent> {
    return this.#speak();
  }

  async *#speak(): AsyncGenerator<SpeechEvent> {
    const { chunks = 10, units = 1, failAt, failure, before } = this.fate;
    const { sampleRate, channels, seed = 0n } = this.request;
    for (; this.made < chunks; this.made++) {
      await turn();
      if (before !== undefined) await Promise.race([before(this.made), this.#stopped]);
      if (this.isClosed) return;
      if (this.made === failAt) {
        const error = failure ?? new ApiError("generation_failed");
        this.isBusy = false;
        yield { kind: "utterance-end", ...this.#report(0, seed), error };
        return;
      }
      const startMs = this.made * CHUNK_MS;
      const pcm = tone(this.made, sampleRate, channels);
      yield { kind: "audio", ...PLACE, pcm, sampleRate, channels, startMs };
    }
    this.isBusy = false;
    const durationMs = this.made * CHUNK_MS;
    const times = { durationMs, frames: this.made, ttfaMs: 12, timing: undefined, rtf: 0.25, seed };
    yield { kind: "unit-end", ...PLACE, ...times, truncated: false, cancelled: false };
    yield { kind: "utterance-end", ...this.#report(units, seed) };
  }

  #report(units: number, seed: bigint) {
    return {
      utterance: 0,
      units,
      seed,
      truncated: false,
      durationMs: this.made * CHUNK_MS,
      usage: { textTokens: 5, referenceFrames: 3, frames: this.made },
    };
  }

  async close(): Promise<void> {
    if (this.isClosed) return;
    this.isClosed = true;
    this.wasStopped = this.isBusy;
    this.#stop();
  }

  flush(): void {}
  end(): void {}
  cancel(): void {}
  played(): void {}
  update(): void {}
}

/** One chunk of a tone that goes on from chunk to chunk. */
function tone(chunk: number, sampleRate: number, channels: number): Float32Array {
  const frames = (sampleRate * CHUNK_MS) / 1000;
  return Float32Array.from({ length: frames * channels }, (_, i) => {
    const at = chunk * frames + Math.floor(i / channels);
    return 0.4 * Math.sin((2 * Math.PI * 330 * at) / sampleRate);
  });
}

export class FakeSpeech implements SpeechService {
  readonly sessions: FakeSession[] = [];
  state: SpeechService["state"] = { stage: "ready" };
  load = { active: 0, waiting: 0, capacity: 4, expectedWaitMs: 2500 };

  constructor(
    readonly model: SpeechService["model"],
    public fate: Fate = {},
  ) {}

  get last(): FakeSession {
    const session = this.sessions.at(-1);
    if (session === undefined) throw new Error("No session was opened");
    return session;
  }

  open(request: SessionRequest): FakeSession {
    if (this.fate.refusal !== undefined) throw new ApiError(this.fate.refusal);
    const session = new FakeSession(request, this.fate);
    this.sessions.push(session);
    return session;
  }

  async drain(): Promise<void> {}
  async close(): Promise<void> {}
}
