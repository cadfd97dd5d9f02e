/** `POST /v1/audio/speech`: the request, and which of its fields nobody reads. */
import { z } from "zod";
import { flag, real } from "./fields.ts";
import { checkSpellings, plainSpelling, referencesField } from "./references.ts";
import { generationFields, outputFields, voiceFields } from "./speech-fields.ts";

/** The request as it is written, aliases and nulls included. */
export const SpeechBody = z
  .object({
    input: z.string().describe("What to say"),
    ...voiceFields,
    ...outputFields,
    stream: flag().nullish().describe("Send audio while it is being generated"),
    stream_format: z
      .enum(["sse", "audio"])
      .nullish()
      .describe("Stream as server-sent events or as plain audio bytes"),
    ref_audio: z
      .union([z.string(), z.array(z.string()).min(1)])
      .nullish()
      .describe(
        "Speech to sound like: an http(s) URL, a data URL, base64 of an audio file, or a voice prompt id; " +
          "a list for models with several speakers",
      ),
    ref_audio_2: z.string().nullish().describe("The second speaker of a dialogue model"),
    ambient_sound: z.string().nullish().describe("The sound to make, for sound-effect models"),
    duration_seconds: real(0).nullish().describe("Length of a sound effect"),
    references: referencesField,
    ...generationFields,
  })
  .check(checkSpellings);

/** Reads a request: aliases resolved, nulls dropped, scalars converted. */
export const SpeechRequest = SpeechBody.transform(plainSpelling);
/** What the server works with. */
export type SpeechRequest = z.output<typeof SpeechRequest>;
/** What a client writes. */
export type SpeechRequestInput = z.input<typeof SpeechBody>;

/** Names of the members that a schema does not know, for the `X-Ignored-Fields` header. */
export function ignoredFields(schema: { shape: object }, body: unknown): string[] {
  if (typeof body !== "object" || body === null) return [];
  return Object.keys(body).filter((name) => !Object.hasOwn(schema.shape, name));
}
