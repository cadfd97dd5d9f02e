/**
 * Names of voices: what they may be, and when two of them are the same. Names are for people and may be in any script;
 * they are compared by their key and never become part of a path.
 */
import { ApiError } from "../protocol/envelope.ts";
import type { Limits } from "../protocol/limits.ts";
import { checkVoiceName } from "../protocol/voice-upload.ts";

const INVISIBLE = /\p{Default_Ignorable_Code_Point}/gu;
/** Looks like an id of this server, which a name must not. */
const RESERVED = /^(voice_|vp_)/;

/** The word that stands for whatever voice speaks when none is named. */
export const DEFAULT_VOICE = "default";

/** Lower, upper, lower: so that ẞ, ß and SS meet. The dotless i is a letter of its own and stays. */
function foldCharacter(character: string): string {
  return character === "ı" ? character : character.toLowerCase().toUpperCase().toLowerCase();
}

/**
 * What identifies a name: equal keys, same voice. Case, composition of accents, invisible characters and the width of
 * white space make no difference. Empty if nothing visible is left.
 */
export function voiceKey(name: string): string {
  const visible = name.normalize("NFD").replace(INVISIBLE, "");
  // Character by character: in whole words, lower case depends on the neighbours (the Greek final sigma).
  const folded = Array.from(visible, foldCharacter).join("");
  return folded.normalize("NFC").replace(/\s+/gu, " ").trim();
}

/**
 * Checks the name of a voice that is being uploaded or renamed and returns it without surrounding white space.
 * @param builtIn keys of names that uploads must not take
 * @throws ApiError `invalid_value` that says what is wrong with it
 */
export function checkNewName(name: string, builtIn: ReadonlySet<string>, limits: Limits): string {
  const refuse = (reason: string): never => {
    throw new ApiError("invalid_value", `Invalid voice name: ${reason}`, { param: "name" });
  };
  const trimmed = name.trim();
  checkVoiceName(trimmed, limits);
  const key = voiceKey(trimmed);
  if (key === "" || !name.isWellFormed()) refuse("it must consist of whole, visible characters");
  if (key === DEFAULT_VOICE) refuse(`'${DEFAULT_VOICE}' stands for the server's default voice`);
  if (RESERVED.test(key)) refuse("it must not begin like an id (voice_ or vp_)");
  if (builtIn.has(key)) refuse(`'${trimmed}' is the name of a built-in voice`);
  return trimmed;
}
