/**
 * What is kept of one voice, and its forms in a store: `voice.json` (what is known of it), `sample` (the
 * recording as it was uploaded) and one `codes-*.json` for each way in which it was encoded. Files are not trusted:
 * whatever does not fit is refused with a sentence.
 */
import { z } from "zod";
import type { VoiceCodes } from "../models/types.ts";
import { type CodesKey, sha256 } from "./encode-reference.ts";
import type { StoredVoice } from "./store.ts";

export const DETAILS_FILE = "voice.json";
export const SAMPLE_FILE = "sample";

const FORMAT = 1;
/** A frame is 80 ms: more than an hour. */
const MAX_FRAMES = 50_000;

const Details = z.object({
  format: z.literal(FORMAT),
  id: z.string(),
  name: z.string().min(1),
  consent: z.string(),
  refText: z.string().optional(),
  speakerDescription: z.string().optional(),
  language: z.string().optional(),
  origin: z.enum(["upload", "recording"]),
  createdAt: z.int().nonnegative(),
  durationSeconds: z.number().positive(),
  sampleRate: z.int().positive(),
  loudnessLufs: z.number().nullable(),
  fileSize: z.int().nonnegative(),
  mimeType: z.string(),
  sha256: z.string(),
  /** Ids of voices that this one takes the place of. */
  replaces: z.array(z.string()),
});

const Codes = z.object({
  format: z.literal(FORMAT),
  family: z.string(),
  codec: z.string(),
  recipe: z.string(),
  frames: z.int().min(1).max(MAX_FRAMES),
  books: z.int().min(1).max(64),
  /** Base64 of 16-bit codes, low byte first, row by row. */
  data: z.string(),
  /** Of the bytes in `data`. */
  sha256: z.string(),
});

/** The content of `voice.json`. */
export interface VoiceDetails {
  readonly voice: StoredVoice;
  readonly replaces: readonly string[];
}

export function formatDetails({ voice, replaces }: VoiceDetails): string {
  return `${JSON.stringify({ format: FORMAT, ...voice, replaces }, null, 2)}\n`;
}

/**
 * What `voice.json` says, where the recording that lies beside it has `sampleBytes` bytes.
 * @throws Error with a sentence for the log
 */
export function parseDetails(text: string, id: string, sampleBytes: number): VoiceDetails {
  const parsed = Details.safeParse(parseJson(text));
  if (!parsed.success) {
    const field = parsed.error.issues[0]?.path.join(".") || "its content";
    throw new Error(`${DETAILS_FILE} is damaged: ${field} does not fit`);
  }
  const { format: _, replaces, ...voice } = parsed.data;
  if (voice.id !== id) throw new Error(`${DETAILS_FILE} belongs to another voice`);
  if (sampleBytes !== voice.fileSize) {
    throw new Error(`its recording has ${sampleBytes} bytes instead of ${voice.fileSize}`);
  }
  return { voice, replaces };
}

/** Name of the file with codes of that key. */
export function codesFile({ family, codec, recipe }: CodesKey): string {
  const hash = sha256(Buffer.from(JSON.stringify([family, codec, recipe])));
  return `codes-${hash.slice(0, 32)}.json`;
}

export function formatCodes({ family, codec, recipe }: CodesKey, codes: VoiceCodes): string {
  const bytes = Buffer.alloc(codes.data.length * 2);
  for (const [i, code] of codes.data.entries()) bytes.writeUInt16LE(code, i * 2);
  const { frames, books } = codes;
  const key = { family, codec, recipe };
  const data = bytes.toString("base64");
  return JSON.stringify({ format: FORMAT, ...key, frames, books, data, sha256: sha256(bytes) });
}

/** @throws Error with a sentence for the log if the text holds no codes of that key */
export function parseCodes(text: string, key: CodesKey): VoiceCodes {
  const parsed = Codes.safeParse(parseJson(text));
  if (!parsed.success) throw new Error("its codes are damaged");
  const { frames, books, family, codec, recipe } = parsed.data;
  if (family !== key.family || codec !== key.codec || recipe !== key.recipe) {
    throw new Error("its codes were made in another way than their file says");
  }
  const bytes = Buffer.from(parsed.data.data, "base64");
  if (bytes.length !== frames * books * 2 || sha256(bytes) !== parsed.data.sha256) {
    throw new Error("its codes are damaged");
  }
  const data = new Uint16Array(frames * books);
  for (let i = 0; i < data.length; i++) data[i] = bytes.readUInt16LE(i * 2);
  return { frames, books, data };
}

/** Undefined for text that is not JSON; no schema accepts that. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
