/** Readings of a run as lines of charts and rows of tables. Pure. */

/** Readings that are kept of a run while it is on: half an hour of them, then fewer of what is long past. */
const MOST_TICKS = 3600;

/** The readings, or every second one if they have become too many. The last one always stays. */
export function thinned<T>(ticks: readonly T[], most = MOST_TICKS): readonly T[] {
  if (ticks.length <= most) return ticks;
  return ticks.filter((_, index) => (ticks.length - 1 - index) % 2 === 0);
}

/** Reads one figure; null where nothing was measured. */
export type Reading<T> = (of: T) => number | null | undefined;

export function valuesOf<T>(items: readonly T[], reading: Reading<T>): (number | null)[] {
  return items.map((item) => reading(item) ?? null);
}

export interface ValueRange {
  readonly last: number;
  readonly low: number;
  readonly high: number;
}

/** Undefined without any value. */
export function rangeOf(values: readonly (number | null)[]): ValueRange | undefined {
  let range: ValueRange | undefined;
  for (const value of values) {
    if (value === null) continue;
    range = {
      last: value,
      low: Math.min(range?.low ?? value, value),
      high: Math.max(range?.high ?? value, value),
    };
  }
  return range;
}

/**
 * Rows for a table: every n-th reading, so that there are `most` at most, the last one among them.
 * @returns the rows, and n
 */
export function rowsOf<T>(items: readonly T[], most: number): { rows: T[]; every: number } {
  const every = Math.max(1, Math.ceil(items.length / most));
  return { rows: items.filter((_, index) => (items.length - 1 - index) % every === 0), every };
}

/** Two lines over the same axis: all points of both in order, null where one has none. */
export function overlaid(
  a: readonly (readonly [number, number | null])[],
  b: readonly (readonly [number, number | null])[],
): { x: number[]; a: (number | null)[]; b: (number | null)[] } {
  const x = [...new Set([...a, ...b].map(([at]) => at))].sort((one, other) => one - other);
  const [ofA, ofB] = [new Map(a), new Map(b)];
  return { x, a: x.map((at) => ofA.get(at) ?? null), b: x.map((at) => ofB.get(at) ?? null) };
}

/**
 * Where a share stands on an axis that is finer towards the end: 0.9 at 1, 0.99 at 2, 0.999 at 3. The axis ends at 4.5.
 */
export function ninesOf(share: number): number {
  return share >= 1 ? LAST_NINE : Math.min(LAST_NINE, -Math.log10(1 - share));
}
const LAST_NINE = 4.5;

/** The percentage at a place of that axis, such as `99.9`. */
export function percentAt(nines: number): string {
  return (100 * (1 - 10 ** -nines)).toFixed(Math.max(0, Math.ceil(nines) - 2));
}

/** The latest figure that was measured. */
export function latest<T>(items: readonly T[], reading: Reading<T>): number | undefined {
  for (let at = items.length - 1; at >= 0; at--) {
    const value = reading(items[at] as T);
    if (value !== null && value !== undefined) return value;
  }
  return undefined;
}
