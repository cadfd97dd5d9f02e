/**
 * The arithmetic of the load test: percentiles, arrivals by chance, and what a step's outcomes add up to. Pure; the terms
 * are those of the published benchmarks, so that figures can be laid side by side.
 */

/** How one request went. Times in milliseconds. */
export type Outcome = Spoken | NotSpoken;

export interface Spoken {
  readonly kind: "spoken";
  /** From the request to the first piece of sound. */
  readonly ttfpMs: number;
  /** From the request to the last byte. */
  readonly totalMs: number;
  readonly audioMs: number;
  /** Times between one piece and the next. */
  readonly gapsMs: readonly number[];
  /** Pieces that came after the sound before them had been played. */
  readonly underruns: number;
  /** Largest shortfall of a player without a cushion. */
  readonly shortfallMs: number;
  /** The shortfall is below what a listener would call a gap. */
  readonly isContinuous: boolean;
}

export interface NotSpoken {
  /** Refused: the server said that it had too much to do. Failed: anything else. */
  readonly kind: "refused" | "failed";
  readonly code: string;
  /** What went wrong, in a sentence. */
  readonly message: string;
}

/** What one step of the test came to. */
export interface Figures {
  readonly spoken: number;
  readonly refused: number;
  readonly failed: number;
  /** How often each refusal and failure was met, by code. */
  readonly codes: Readonly<Record<string, number>>;
  readonly ttfpMs: Percentiles;
  /** Time to the last byte over the length of the sound, as a client sees it. */
  readonly rtf: Percentiles;
  readonly gapMs: Percentiles;
  /** Seconds of sound in a second. */
  readonly audioPerSecond: number;
  readonly requestsPerSecond: number;
  /** Share of the spoken requests without an audible gap; 0 to 1. */
  readonly continuous: number;
  readonly underruns: number;
  readonly longestShortfallMs: number;
  /** From the first request to the last answer. */
  readonly seconds: number;
}

/** Undefined members where there was nothing to measure. */
export interface Percentiles {
  readonly p50: number | undefined;
  readonly p95: number | undefined;
  readonly p99: number | undefined;
}

/** The value below which a share of the values lies, linear between neighbours; undefined of no values. */
export function percentile(values: readonly number[], share: number): number | undefined {
  const sorted = [...values].sort((a, b) => a - b);
  const place = share * (sorted.length - 1);
  const below = sorted[Math.floor(place)];
  const above = sorted[Math.ceil(place)];
  if (below === undefined || above === undefined) return undefined;
  return below + (above - below) * (place - Math.floor(place));
}

export function percentiles(values: readonly number[]): Percentiles {
  return {
    p50: percentile(values, 0.5),
    p95: percentile(values, 0.95),
    p99: percentile(values, 0.99),
  };
}

/** @param seconds from the first request to the last answer */
export function figuresOf(outcomes: readonly Outcome[], seconds: number): Figures {
  const spoken = outcomes.flatMap((outcome) => (outcome.kind === "spoken" ? [outcome] : []));
  const others = outcomes.flatMap((outcome) => (outcome.kind === "spoken" ? [] : [outcome]));
  const codes: Record<string, number> = {};
  for (const { code } of others) codes[code] = (codes[code] ?? 0) + 1;
  const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0);
  const refused = others.filter(({ kind }) => kind === "refused").length;
  const per = (amount: number) => (seconds > 0 ? amount / seconds : 0);
  return {
    spoken: spoken.length,
    refused,
    failed: others.length - refused,
    codes,
    ttfpMs: percentiles(spoken.map(({ ttfpMs }) => ttfpMs)),
    rtf: percentiles(spoken.map(({ totalMs, audioMs }) => totalMs / audioMs)),
    gapMs: percentiles(spoken.flatMap(({ gapsMs }) => gapsMs)),
    audioPerSecond: per(sum(spoken.map(({ audioMs }) => audioMs)) / 1000),
    requestsPerSecond: per(spoken.length),
    continuous:
      spoken.length === 0
        ? 0
        : spoken.filter(({ isContinuous }) => isContinuous).length / spoken.length,
    underruns: sum(spoken.map(({ underruns }) => underruns)),
    longestShortfallMs: spoken.reduce((most, { shortfallMs }) => Math.max(most, shortfallMs), 0),
    seconds,
  };
}

/** Numbers from 0 up to 1 that look random and follow from the seed (mulberry32). */
export function randomly(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/**
 * Times at which requests arrive that know nothing of each other (a Poisson process), in milliseconds.
 * @param perSecond how many arrive in a second on average
 */
export function arrivals(perSecond: number, seconds: number, random: () => number): number[] {
  const times: number[] = [];
  for (let at = 0; ; ) {
    at += (-Math.log(1 - random()) / perSecond) * 1000;
    if (at >= seconds * 1000) return times;
    times.push(at);
  }
}
