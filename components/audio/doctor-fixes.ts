/** Carries out what the doctor suggests. Pure: returns new planes and leaves the recording as it was. */
import type { Fix } from "./doctor.ts";
import { fromDb } from "./pcm.ts";

/** A cut begins and ends in a fade of this length, so that it does not click. */
const FADE_SECONDS = 0.005;

/**
 * Applies fixes to one plane a channel: the offset first, then the cut, then the level, in whatever order they are given.
 * Of several cuts, what all of them keep is kept.
 */
export function applyFixes(
  planes: readonly Float32Array[],
  sampleRate: number,
  fixes: readonly Fix[],
): Float32Array[] {
  let fixed: Float32Array[] = planes.map((plane) => plane.slice());
  if (fixes.some(({ kind }) => kind === "remove_offset")) fixed = fixed.map(withoutOffset);
  const cuts = fixes.filter((fix) => fix.kind === "trim");
  if (cuts.length > 0) {
    const start = Math.max(...cuts.map((cut) => Math.round(cut.start * sampleRate)));
    const end = Math.min(...cuts.map((cut) => Math.round(cut.end * sampleRate)));
    const fadeFrames = Math.round(FADE_SECONDS * sampleRate);
    fixed = fixed.map((plane) => trim(plane, start, end, fadeFrames));
  }
  const db = fixes.reduce((sum, fix) => sum + (fix.kind === "gain" ? fix.db : 0), 0);
  return db === 0 ? fixed : fixed.map((plane) => plane.map((x) => x * fromDb(db)));
}

function withoutOffset(plane: Float32Array): Float32Array {
  const mean = plane.reduce((sum, x) => sum + x, 0) / Math.max(1, plane.length);
  return plane.map((x) => x - mean);
}

/** A stretch of frames; ends that were really cut are faded. */
function trim(plane: Float32Array, start: number, end: number, fadeFrames: number): Float32Array {
  const cut = plane.slice(Math.max(0, start), end);
  const frames = Math.min(fadeFrames, Math.floor(cut.length / 2));
  for (let i = 0; i < frames; i++) {
    const level = 0.5 - 0.5 * Math.cos((Math.PI * i) / frames);
    const last = cut.length - 1 - i;
    if (start > 0) cut[i] = (cut[i] ?? 0) * level;
    if (end < plane.length) cut[last] = (cut[last] ?? 0) * level;
  }
  return cut;
}
