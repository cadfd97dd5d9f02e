/** Observations that cannot throw: metrics must never harm what they measure, whatever a clock does. */

interface Observer<L> {
  observe(labels: L, value: number): void;
}

interface Increment<L> {
  inc(labels: L, value: number): void;
}

type Labels = Partial<Record<string, string | number>>;

/** Negative values count as 0; what is not a finite number is left out. */
function usable(value: number): number | undefined {
  return Number.isFinite(value) ? Math.max(0, value) : undefined;
}

/** Adds a value to a histogram or summary. */
export function observe(target: Observer<Labels>, labels: Labels, value: number): void {
  const clean = usable(value);
  if (clean !== undefined) target.observe(labels, clean);
}

/** Adds to a counter. */
export function count(target: Increment<Labels>, labels: Labels, value = 1): void {
  const clean = usable(value);
  if (clean !== undefined && clean > 0) target.inc(labels, clean);
}

/** The last values of something, for percentiles of the recent past. */
export class RecentValues {
  private readonly values: number[] = [];
  private next = 0;

  constructor(private readonly size = 512) {}

  add(value: number): void {
    const clean = usable(value);
    if (clean === undefined) return;
    this.values[this.next] = clean;
    this.next = (this.next + 1) % this.size;
  }

  /** Linear interpolation between neighbours; 0 while there are no values. @param share between 0 and 1 */
  percentile(share: number): number {
    const sorted = [...this.values].sort((a, b) => a - b);
    const place = share * (sorted.length - 1);
    const below = sorted[Math.floor(place)] ?? 0;
    const above = sorted[Math.ceil(place)] ?? 0;
    return below + (above - below) * (place - Math.floor(place));
  }
}
