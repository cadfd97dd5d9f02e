/** Which voices a list shows, and in which order. Pure. */
import type { Voice } from "../api/voices.ts";

export const ORDERS = ["name", "newest", "pitch"] as const;
export type Order = (typeof ORDERS)[number];

/** Samples that were made, by the voice's id, with their median pitch in hertz. */
export type SamplePitches = Readonly<Record<string, { readonly pitch: number | undefined }>>;

/**
 * The voices that fit a search, in order. By pitch, the lowest come first, and those without one last; equal ones are in
 * the order of their names. What the server tells of a voice's pitch counts before what its sample has.
 */
export function shownVoices(
  voices: readonly Voice[],
  query: string,
  order: Order,
  samples: SamplePitches,
): Voice[] {
  const wanted = query.trim().toLowerCase().split(/\s+/);
  const fits = ({ name, description, language }: Voice) => {
    const text = `${name} ${description} ${language}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  };
  const byName = (a: Voice, b: Voice) => a.name.localeCompare(b.name);
  const pitch = ({ id, pitchHz }: Voice) => pitchHz ?? samples[id]?.pitch ?? Number.MAX_VALUE;
  const compare = {
    name: byName,
    newest: (a: Voice, b: Voice) => b.createdAt - a.createdAt || byName(a, b),
    pitch: (a: Voice, b: Voice) => pitch(a) - pitch(b) || byName(a, b),
  }[order];
  return voices.filter(fits).sort(compare);
}
