/**
 * One utterance: text up to the client's `end`, spoken with one seed. Holds its settings, its text and its sums, and
 * reports its course to the metrics exactly once, whichever way it ends.
 */
import { randomInt } from "node:crypto";
import type { Model } from "../models/types.ts";
import type { SegmenterOptions } from "../text/segmenter.ts";
import { NO_REPORT, type Outcome, type RequestReport } from "./metrics.ts";
import { TextFeed } from "./text-feed.ts";
import type { SpeechSettings, UtteranceEnded } from "./types.ts";

/** Drawn seeds stay below this, so that they survive as JSON numbers. */
const DRAWN_SEEDS = 2 ** 47;

export interface UtteranceRequest {
  readonly index: number;
  readonly settings: SpeechSettings;
  readonly model: Model;
  readonly granularity: NonNullable<SpeechSettings["granularity"]>;
  /** Seed of requests that have none. */
  readonly defaultSeed: number | undefined;
  /** Frames of first chunks. */
  readonly firstFrames: number;
  readonly report: () => RequestReport;
}

function segmenterOptions({ settings, model, granularity }: UtteranceRequest): SegmenterOptions {
  const { language, normalise } = settings;
  return {
    granularity,
    limits: model.limits,
    countTokens: (spoken) => model.countTokens(spoken),
    ...(language === undefined ? {} : { language }),
    ...(normalise === false ? { normalise: { markdown: false, spokenForms: false } } : {}),
  };
}

export class Utterance {
  readonly index: number;
  readonly firstFrames: number;
  readonly text: TextFeed;
  settings: SpeechSettings;
  seed: bigint;
  /** Cancelled or failed: nothing of it is spoken any more. */
  isOver = false;
  /** Whether all of its units have been made. */
  isCut = false;
  /** Units that have been started. */
  started = 0;
  /** Units that ended, well or not, but were not cancelled. */
  ended = 0;
  /** Audio that was queued for the listener. */
  audioMs = 0;
  isTruncated = false;
  #failure: Outcome | undefined;
  #isReported = false;
  #textTokens = 0;
  #frames = 0;
  #computeMs = 0;
  #report: RequestReport | undefined;
  readonly #startReport: () => RequestReport;

  constructor(request: UtteranceRequest) {
    this.index = request.index;
    this.settings = request.settings;
    this.firstFrames = request.firstFrames;
    this.text = new TextFeed(
      segmenterOptions(request),
      request.granularity === "auto",
      request.settings.pauseTags,
    );
    const { defaultSeed } = request;
    this.seed = request.settings.seed ?? BigInt(defaultSeed ?? randomInt(DRAWN_SEEDS));
    this.#startReport = request.report;
  }

  /** The metrics of this utterance; an utterance without text is no request. */
  get report(): RequestReport {
    return this.#report ?? NO_REPORT;
  }

  push(text: string, codePoints: number): void {
    if (text === "") return;
    this.text.push(text);
    this.#report ??= this.#startReport();
    this.#report.textAdded(codePoints);
  }

  /** Changes the settings of units that have not been started. */
  update(settings: SpeechSettings): void {
    if (settings.seed !== undefined) this.seed = settings.seed;
    this.settings = settings;
  }

  noteStart(textTokens: number): number {
    this.#textTokens += textTokens;
    return this.started++;
  }

  noteEnd(unit: {
    readonly frames: number;
    readonly computeMs: number;
    readonly isTruncated: boolean;
    readonly failure?: Outcome | undefined;
  }): void {
    this.#frames += unit.frames;
    this.#computeMs += unit.computeMs;
    this.isTruncated ||= unit.isTruncated;
    this.#failure ??= unit.failure;
  }

  /** Tells the metrics how it ended; only the first call counts. */
  finish(outcome?: Outcome): void {
    this.isOver = true;
    if (this.#isReported) return;
    this.#isReported = true;
    const natural = this.#failure ?? (this.isTruncated ? "length" : "stop");
    this.report.finished({
      outcome: outcome ?? natural,
      generationSeconds: this.#computeMs / 1000,
      truncated: this.isTruncated,
    });
  }

  /** The event that ends it. */
  endEvent(error?: Error): UtteranceEnded {
    const { voice } = this.settings;
    return {
      kind: "utterance-end",
      utterance: this.index,
      units: this.ended,
      seed: this.seed,
      truncated: this.isTruncated,
      durationMs: this.audioMs,
      usage: {
        textTokens: this.#textTokens,
        referenceFrames: voice.kind === "none" ? 0 : voice.codes.frames,
        frames: this.#frames,
      },
      ...(error === undefined ? {} : { error }),
    };
  }
}
