/** Curves of the last minutes: their points, their range, and their means by the minute. Pure. */
import type { StatusTick } from "../../server/protocol/playground.ts";

/** Reads one figure off a tick; undefined where there is none yet. */
export type Figure = (tick: StatusTick) => number | undefined;

const MOST_MINUTES = 10;
const MINUTE_MS = 60_000;
/** Ticks come once a second; a longer silence is a gap in the curve, not a straight line. */
const GAP_MS = 5000;

export interface Range {
  readonly low: number;
  readonly high: number;
}

/** Smallest and largest value; undefined without any. */
export function rangeOf(ticks: readonly StatusTick[], figure: Figure): Range | undefined {
  const values = ticks.map(figure).filter((value) => value !== undefined);
  if (values.length === 0) return undefined;
  return { low: Math.min(...values), high: Math.max(...values) };
}

/** Minutes that a curve spans: those since the first tick, one at least and ten at most. */
export function windowMinutes(ticks: readonly StatusTick[]): number {
  const spanMs = (ticks.at(-1)?.at_ms ?? 0) - (ticks[0]?.at_ms ?? 0);
  return Math.min(MOST_MINUTES, Math.max(1, Math.ceil(spanMs / MINUTE_MS)));
}

/**
 * An SVG path through the figures of a window that ends with the last tick, in a box of the given size; the top of the box
 * is the largest value, its bottom is 0. Empty if there is nothing to draw.
 */
export function pathOf(
  ticks: readonly StatusTick[],
  figure: Figure,
  box: { readonly width: number; readonly height: number },
): string {
  const end = ticks.at(-1)?.at_ms ?? 0;
  const windowMs = windowMinutes(ticks) * MINUTE_MS;
  const top = rangeOf(ticks, figure)?.high || 1;
  let before: number | undefined;
  const steps = ticks.flatMap((tick) => {
    const value = figure(tick);
    const age = end - tick.at_ms;
    if (value === undefined || age > windowMs) return [];
    const isNew = before === undefined || tick.at_ms - before > GAP_MS;
    before = tick.at_ms;
    const x = box.width * (1 - age / windowMs);
    const y = box.height * (1 - value / top);
    return [`${isNew ? "M" : "L"}${x.toFixed(1)} ${y.toFixed(1)}`];
  });
  return steps.join("");
}

export interface MinuteMean {
  /** Minutes ago, 0 for the last one. */
  readonly ago: number;
  /** In the order of the figures. */
  readonly means: readonly (number | undefined)[];
}

/** Means of several figures by the minute, the latest first; minutes without ticks are left out. */
export function minutesOf(ticks: readonly StatusTick[], figures: readonly Figure[]): MinuteMean[] {
  const end = ticks.at(-1)?.at_ms ?? 0;
  const byMinute = new Map<number, StatusTick[]>();
  for (const tick of ticks) {
    const ago = Math.floor((end - tick.at_ms) / MINUTE_MS);
    if (ago >= MOST_MINUTES) continue;
    byMinute.set(ago, [...(byMinute.get(ago) ?? []), tick]);
  }
  return [...byMinute]
    .sort(([a], [b]) => a - b)
    .map(([ago, own]) => ({ ago, means: figures.map((figure) => meanOf(own, figure)) }));
}

function meanOf(ticks: readonly StatusTick[], figure: Figure): number | undefined {
  const values = ticks.map(figure).filter((value) => value !== undefined);
  if (values.length === 0) return undefined;
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}
