/**
 * HdrHistogram as it is used here: its counting and arithmetic from the library, and its V2 form written out, since the
 * library's own calls `eval` where it is loaded, which pages with a content security policy forbid.
 */
import * as library from "hdr-histogram-js/dist/Int32Histogram.js";

type Class = typeof library.default;
export type Histogram = InstanceType<Class>;

/** Bundlers and Node disagree on what the default of a CommonJS module is. */
const Counted: Class =
  (library.default as unknown as { default?: Class }).default ?? library.default;

const DIGITS = 3;
/** The largest value that is kept, 12 days in microseconds. */
export const LARGEST_VALUE = 2 ** 40;
/** Says that what follows is an uncompressed histogram of version 2. */
const COOKIE = 0x1c849313;
const HEADER_BYTES = 40;

/** An empty one, for integers from 0 on, that grows with its values. */
export function newHistogram(): Histogram {
  const histogram = new Counted(1, 2, DIGITS);
  histogram.autoResize = true;
  return histogram;
}

/** In HdrHistogram's V2 form, base64. */
export function encodeHistogram(histogram: Histogram): string {
  const payload: number[] = [];
  const length = indexAfter(histogram);
  for (let index = 0; index < length; ) {
    const count = histogram.getCountAtIndex(index++);
    let zeros = count === 0 ? 1 : 0;
    while (zeros > 0 && index < length && histogram.getCountAtIndex(index) === 0) {
      zeros += 1;
      index += 1;
    }
    putZigZag(payload, zeros > 1 ? -zeros : count);
  }
  const bytes = new Uint8Array(HEADER_BYTES + payload.length);
  const view = new DataView(bytes.buffer);
  view.setInt32(0, COOKIE);
  view.setInt32(4, payload.length);
  view.setInt32(12, DIGITS);
  view.setBigInt64(16, 1n);
  view.setBigInt64(24, BigInt(histogram.highestTrackableValue));
  view.setFloat64(32, 1);
  bytes.set(payload, HEADER_BYTES);
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return btoa(text);
}

function indexAfter(histogram: Histogram): number {
  let last = -1;
  for (let index = 0; index < histogram.countsArrayLength; index++) {
    if (histogram.getCountAtIndex(index) > 0) last = index;
  }
  return last + 1;
}

/** @throws Error if it is not what `encodeHistogram` writes */
export function decodeHistogram(text: string): Histogram {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const view = new DataView(bytes.buffer);
  const isWhole =
    bytes.length >= HEADER_BYTES &&
    view.getInt32(0) === COOKIE &&
    view.getInt32(4) === bytes.length - HEADER_BYTES &&
    view.getInt32(12) === DIGITS &&
    view.getBigInt64(16) === 1n;
  const highest = isWhole ? Number(view.getBigInt64(24)) : 0;
  if (highest < 2 || highest > 2 * LARGEST_VALUE) throw new Error("This is not a histogram.");
  const histogram = new Counted(1, highest, DIGITS);
  histogram.autoResize = true;
  let index = 0;
  for (let at = HEADER_BYTES; at < bytes.length; ) {
    const { value, next } = zigZagAt(bytes, at);
    at = next;
    if (value < 0) index -= value;
    else if (index < histogram.countsArrayLength) histogram.setCountAtIndex(index++, value);
    else throw new Error("The histogram has more counts than it has room for.");
  }
  histogram.establishInternalTackingValues();
  return histogram;
}

/** Seven bits a byte, the lowest first; signs alternate. Sufficient for what 32-bit counts need. */
function putZigZag(bytes: number[], value: number): void {
  let rest = value < 0 ? -2 * value - 1 : 2 * value;
  for (; rest > 127; rest = Math.floor(rest / 128)) bytes.push((rest % 128) + 128);
  bytes.push(rest);
}

function zigZagAt(bytes: Uint8Array, from: number): { value: number; next: number } {
  let whole = 0;
  let at = from;
  for (let factor = 1; ; factor *= 128, at++) {
    const byte = bytes[at];
    if (byte === undefined || factor > 2 ** 42) throw new Error("The histogram is damaged.");
    whole += (byte % 128) * factor;
    if (byte < 128) break;
  }
  return { value: whole % 2 === 0 ? whole / 2 : -(whole + 1) / 2, next: at + 1 };
}
