/** How far a transfer is: one line that is drawn anew on a terminal, and now and then a whole line elsewhere. */

const REDRAW_MS = 200;
const LINE_MS = 10_000;
/** The rate is that of about the last seconds, not of the whole time. */
const RATE_WINDOW_MS = 5000;

export interface ProgressOutput {
  readonly isTTY?: boolean | undefined;
  write(text: string): unknown;
}

export class TransferProgress {
  readonly #total: number;
  readonly #out: ProgressOutput;
  readonly #now: () => number;
  readonly #samples: { readonly at: number; readonly bytes: number }[] = [];
  #shownAt = Number.NEGATIVE_INFINITY;
  #drawn = false;

  /**
   * @param total bytes of the whole transfer
   * @param now milliseconds on any clock
   */
  constructor(total: number, out: ProgressOutput, now: () => number = () => performance.now()) {
    this.#total = total;
    this.#out = out;
    this.#now = now;
  }

  /** Says that so many bytes are there, and which file they belong to. */
  update(bytes: number, name: string): void {
    const at = this.#now();
    const last = this.#samples.at(-1);
    // Begun anew: what was there does not count towards the rate.
    if (last !== undefined && bytes < last.bytes) this.#samples.length = 0;
    this.#samples.push({ at, bytes });
    while (at - (this.#samples[0]?.at ?? at) > RATE_WINDOW_MS) this.#samples.shift();
    if (at - this.#shownAt < (this.#out.isTTY ? REDRAW_MS : LINE_MS)) return;
    this.#shownAt = at;
    this.#show(this.#line(bytes, name));
  }

  /** Writes a line of its own. */
  say(text: string): void {
    this.clear();
    this.#out.write(`${text}\n`);
  }

  /** Takes the drawn line away. */
  clear(): void {
    if (this.#drawn) this.#out.write("\r\x1b[K");
    this.#drawn = false;
  }

  #show(line: string): void {
    if (!this.#out.isTTY) {
      this.#out.write(`${line}\n`);
      return;
    }
    this.#out.write(`\r\x1b[K${line}`);
    this.#drawn = true;
  }

  #line(bytes: number, name: string): string {
    const share = this.#total === 0 ? 1 : bytes / this.#total;
    const percent = `${Math.floor(share * 100)}`.padStart(3);
    const parts = [`${percent} %`, `${size(bytes)} of ${size(this.#total)}`];
    const rate = this.#rate();
    if (rate > 0) {
      parts.push(`${size(rate)}/s`, `${duration((this.#total - bytes) / rate)} left`);
    }
    return `${parts.join(", ")}  ${name}`;
  }

  /** Bytes a second; 0 while it is not known. */
  #rate(): number {
    const first = this.#samples[0];
    const last = this.#samples.at(-1);
    if (first === undefined || last === undefined || last.at - first.at < 500) return 0;
    return ((last.bytes - first.bytes) / (last.at - first.at)) * 1000;
  }
}

/** Bytes for people, in powers of ten. */
export function size(bytes: number): string {
  if (bytes < 1000) return `${Math.round(bytes)} B`;
  if (bytes < 1e6) return `${(bytes / 1e3).toFixed(0)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}

/** Seconds for people. */
function duration(seconds: number): string {
  const whole = Math.ceil(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
