/**
 * Names of voices, judged before the server is asked: it has the last word, and knows more than this page does. Pure.
 */
import type { Voice } from "../api/voices.ts";

export type NameProblem = "empty" | "long" | "letters" | "reserved" | "taken" | "preset";

type Known = Pick<Voice, "id" | "name" | "kind">;

/** What the server's default is called, which no voice may be. */
const DEFAULT = "default";
const RESERVED = /^(voice_|vp_)/;
const FORBIDDEN = /[/\\\p{Cc}]/u;

/** Names with equal keys are the same to the server, or nearly: it looks closer at rare letters. */
export function nameKey(name: string): string {
  return name.normalize("NFKC").toLowerCase().replace(/\s+/gu, " ").trim();
}

/**
 * What is wrong with a name; undefined if nothing is known to be.
 * @param own id of the voice that has the name already and may keep it
 */
export function nameProblem(
  name: string,
  voices: readonly Known[],
  maxChars: number,
  own?: string,
): NameProblem | undefined {
  const key = nameKey(name);
  if (key === "" || key === "." || key === "..") return "empty";
  if (Array.from(name.trim()).length > maxChars) return "long";
  if (FORBIDDEN.test(name)) return "letters";
  if (key === DEFAULT || RESERVED.test(key)) return "reserved";
  const holder = voices.find(({ id, name }) => id !== own && namesOf(id, name).includes(key));
  if (holder === undefined) return undefined;
  return holder.kind === "preset" ? "preset" : "taken";
}

/** A preset is called by its id as well as by its name. */
function namesOf(id: string, name: string): string[] {
  return [nameKey(id), nameKey(name)];
}

/** A name for a voice from the name of its file: without ending and separators, shortened, and free. */
export function nameFromFile(
  fileName: string,
  voices: readonly Known[],
  maxChars: number,
  fallback: string,
): string {
  const bare = fileName
    .replace(/\.[^.]{1,8}$/, "")
    .replace(/[_\s/\\\p{Cc}]+/gu, " ")
    .trim();
  return freeName(bare === "" ? fallback : bare, voices, maxChars);
}

/** The name, or the name with the first number that makes it free. */
export function freeName(name: string, voices: readonly Known[], maxChars: number): string {
  for (let number = 1; ; number++) {
    const tail = number === 1 ? "" : ` ${number}`;
    const head = Array.from(name).slice(0, maxChars - tail.length);
    const candidate = `${head.join("").trim()}${tail}`;
    const problem = nameProblem(candidate, voices, maxChars);
    if (problem === undefined || (problem !== "taken" && problem !== "preset")) return candidate;
  }
}
