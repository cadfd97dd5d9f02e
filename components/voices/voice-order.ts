/** Which voices the library shows, and in which order. Pure. */
import type { Voice } from "../api/voices.ts";

export const ORDERS = ["name", "newest", "pitch"] as const;
export type Order = (typeof ORDERS)[number];

/**
 * The voices that fit a search, in order.
 * @param pitchOf middle pitch of a voice in hertz; voices without one come last
 */
export function shownVoices(
  voices: readonly Voice[],
  query: string,
  order: Order,
  pitchOf: (id: string) => number | undefined,
): Voice[] {
  const wanted = query.trim().toLowerCase().split(/\s+/);
  const fits = ({ name, description, language }: Voice) => {
    const text = `${name} ${description} ${language}`.toLowerCase();
    return wanted.every((word) => text.includes(word));
  };
  const byName = (a: Voice, b: Voice) => a.name.localeCompare(b.name);
  const pitch = ({ id }: Voice) => pitchOf(id) ?? Number.MAX_VALUE;
  const compare = {
    name: byName,
    newest: (a: Voice, b: Voice) => b.createdAt - a.createdAt || byName(a, b),
    pitch: (a: Voice, b: Voice) => pitch(a) - pitch(b) || byName(a, b),
  }[order];
  return voices.filter(fits).sort(compare);
}
