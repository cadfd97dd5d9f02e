/**
 * Other spellings of the same wish: `speaker` for `voice`, `voice: {id}` for its name, and `references` for
 * `ref_audio` and `ref_text`. After this file only the plain names exist.
 */
import { z } from "zod";
import { complain, withoutNulls } from "./fields.ts";

/** Read as it comes; the messages for what is wrong with it are fixed by the clients of this alias. */
export const referencesField = z
  .unknown()
  .optional()
  .meta({
    description: "Another form of `ref_audio` and `ref_text`: a list of exactly one reference",
    type: "array",
    minItems: 1,
    maxItems: 1,
    items: {
      type: "object",
      required: ["audio_path"],
      properties: {
        audio_path: { type: "string", description: "As `ref_audio`" },
        text: { type: "string", description: "As `ref_text`" },
      },
    },
  });

interface Reference {
  readonly audio_path: string;
  readonly text?: string | null;
}

interface Spelled {
  voice?: string | { id: string } | null | undefined;
  speaker?: string | null | undefined;
  ref_audio?: unknown;
  ref_text?: string | null | undefined;
  references?: unknown;
  speaker_embedding?: unknown;
}

function referencesFault(request: Spelled): string | undefined {
  const list = request.references;
  if (list === undefined || list === null) return undefined;
  if (!Array.isArray(list) || list.length === 0) return "'references' must be a non-empty array";
  if (list.length > 1) return "'references' only supports a single reference";
  const { audio_path: path, text } = (list[0] ?? {}) as Partial<Reference>;
  if (typeof path !== "string" || path === "") return "'references[0].audio_path' is required";
  if (text !== undefined && text !== null && typeof text !== "string") {
    return "'references[0].text' must be a string";
  }
  if (typeof request.ref_audio === "string" && request.ref_audio !== path) {
    return "'references' and 'ref_audio' are mutually exclusive: their values conflict";
  }
  if (
    typeof request.ref_text === "string" &&
    typeof text === "string" &&
    request.ref_text !== text
  ) {
    return "'references' and 'ref_text' are mutually exclusive: their values conflict";
  }
  return undefined;
}

/** Check for zod: the rules between a request's ways to name a voice. */
export function checkSpellings(context: { value: Spelled; issues: unknown[] }): void {
  const request = context.value;
  const message = referencesFault(request);
  if (message !== undefined) complain(context, ["references"], message);
  const embedding = request.speaker_embedding ?? undefined;
  if (embedding !== undefined && typeof request.ref_audio === "string") {
    const text = "'speaker_embedding' and 'ref_audio' are mutually exclusive";
    complain(context, ["speaker_embedding"], text);
  }
}

/** A request in plain spelling: no nulls, no aliases, the voice as a name. */
export type Plain<T> = Omit<
  { [K in keyof T]: Exclude<T[K], null> },
  "voice" | "speaker" | "references"
> & { voice?: string };

/** Rewrites a checked request in plain spelling. */
export function plainSpelling<T extends Spelled>(request: T): Plain<T> {
  const { voice, speaker, references, ...rest } = request;
  const named = (typeof voice === "object" ? voice?.id : voice) ?? speaker;
  const [reference] = (references ?? []) as Reference[];
  const plain = {
    ...rest,
    voice: named,
    ref_audio: rest.ref_audio ?? reference?.audio_path,
    ref_text: rest.ref_text ?? reference?.text,
  };
  return withoutNulls(plain) as unknown as Plain<T>;
}
