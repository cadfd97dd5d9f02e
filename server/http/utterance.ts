/**
 * One text spoken by a session of its own: its audio in order, and what is known of it at the end. However reading ends,
 * the session is closed.
 */
import { ApiError } from "../protocol/envelope.ts";
import { type Usage, usageOf } from "../protocol/usage.ts";
import { speechError } from "../speech/errors.ts";
import type {
  AudioReady,
  SessionRequest,
  SpeechService,
  SpeechSession,
  UnitEnded,
  UtteranceEnded,
} from "../speech/types.ts";

/** What is known of a speech that has ended. */
export interface SpeechReport {
  readonly segments: number;
  readonly truncated: boolean;
  readonly seconds: number;
  readonly usage: Usage;
  /** Time to the first audio, in milliseconds. */
  readonly ttfaMs: number | undefined;
  /** Computing time over audio time. */
  readonly rtf: number;
}

/** A text of marks and invisible letters alone, which no repetition would give a sound. */
function nothingToSpeak(): ApiError {
  const message = "Input text cannot be empty: nothing in it can be spoken.";
  return new ApiError("input_empty", message, { param: "input" });
}

/** Times of units, added up. */
class Timing {
  ttfaMs: number | undefined;
  #audioMs = 0;
  #computingMs = 0;

  add({ ttfaMs, durationMs, rtf }: UnitEnded): void {
    this.ttfaMs ??= ttfaMs;
    this.#audioMs += durationMs;
    this.#computingMs += durationMs * rtf;
  }

  get rtf(): number {
    return this.#audioMs === 0 ? 0 : this.#computingMs / this.#audioMs;
  }
}

export class Utterance {
  readonly #session: SpeechSession;
  readonly #signal: AbortSignal;
  readonly #timing = new Timing();
  #ended: UtteranceEnded | undefined;

  /** @throws ApiError if the service takes no more requests */
  constructor(
    service: SpeechService,
    request: SessionRequest & { signal: AbortSignal },
    text: string,
  ) {
    this.#signal = request.signal;
    this.#session = service.open(request);
    try {
      this.#session.push(text);
      this.#session.end();
    } catch (error) {
      void this.close();
      throw error;
    }
  }

  /**
   * The audio, to be read once.
   * @throws ApiError if the speech fails or has no audio, the signal's reason if that ends it
   */
  async *audio(): AsyncGenerator<AudioReady, void> {
    let isSilent = true;
    try {
      for await (const event of this.#session.events) {
        if (event.kind === "audio") {
          isSilent = false;
          yield event;
        } else if (event.kind === "unit-end") {
          if (event.error !== undefined) throw this.#failure(event.error);
          this.#timing.add(event);
        } else if (event.kind === "utterance-end") {
          if (event.error !== undefined) throw this.#failure(event.error);
          this.#ended = event;
          break;
        }
      }
      this.#signal.throwIfAborted();
      if (this.#ended === undefined) throw new ApiError("shutting_down");
      if (isSilent) throw this.#ended.units === 0 ? nothingToSpeak() : new ApiError("no_audio");
    } finally {
      await this.close();
    }
  }

  /** What failed: an error of a session that was told to stop is no news. */
  #failure(error: Error): unknown {
    return this.#signal.aborted ? this.#signal.reason : speechError(error);
  }

  /** Frees what the session holds. Safe to call at any time. */
  close(): Promise<void> {
    return this.#session.close();
  }

  /** Complete once the audio has been read to its end. */
  get report(): SpeechReport {
    const { usage, units = 0, truncated = false, durationMs = 0 } = this.#ended ?? {};
    return {
      segments: units,
      truncated,
      seconds: durationMs / 1000,
      usage: usageOf(usage?.textTokens ?? 0, usage?.referenceFrames ?? 0, usage?.frames ?? 0),
      ttfaMs: this.#timing.ttfaMs,
      rtf: this.#timing.rtf,
    };
  }
}
