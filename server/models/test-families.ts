/**
 * A small model of each family, without weights, for tests: `fixtures/FAMILY/` holds what tells the family, and the
 * starter's tokenizer stands in where the family brings none of its own.
 */
import { cpSync, existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ADAPTERS } from "./registry.ts";
import type { Model, VoicePrompt } from "./types.ts";

const FIXTURES = join(import.meta.dirname, "fixtures");
const TOKENIZER = join(import.meta.dirname, "../../native/models/starter/lm/tokenizer.model");

/** Of every adapter in the registry. */
export const FAMILIES = ADAPTERS.map(({ family }) => family);

/** A copy of the family's sample; the caller removes it. */
export function sampleFolder(family: string): string {
  const source = join(FIXTURES, family);
  if (!existsSync(source)) {
    throw new Error(
      `server/models/fixtures/${family} is missing: every family has a small sample there, see docs/add-a-model-family.md`,
    );
  }
  const folder = mkdtempSync(join(tmpdir(), `sonant-${family}-`));
  cpSync(source, folder, { recursive: true });
  const tokenizer = join(folder, "lm/tokenizer.model");
  if (!existsSync(tokenizer)) cpSync(TOKENIZER, tokenizer);
  return folder;
}

/** Texts of several lengths and kinds, all of which have something to say. */
export const TEXTS = [
  "Hi.",
  "The ferry leaves at nine, and the last one comes back at ten past eleven.",
  "A café in Zürich, one stop from the lake.",
  "word ".repeat(150),
];

/** Books of codes that the model's prompts carry. */
export const booksOf = (model: Model): number =>
  model.planSegment({ text: "Hi.", voice: { kind: "none" } }).rowWidth - 1;

/** A reference that fits every model with so many books: codes 0 and 1 are in every codebook. */
export function reference(books: number, frames: number): Extract<VoicePrompt, { kind: "clone" }> {
  const data = Uint16Array.from({ length: frames * books }, (_, i) => (i * i) % 2);
  return { kind: "clone", codes: { frames, books, data } };
}

/** Every voice that the model may be asked for: its presets, none, and references where it follows them. */
export function promptsOf(model: Model): VoicePrompt[] {
  const presets = [...model.presets.keys()].map((name) => model.voice(name));
  if (!model.capabilities.cloning) return [...presets, { kind: "none" }];
  const books = booksOf(model);
  const [short, long] = [reference(books, 2), reference(books, 3)];
  return [...presets, { kind: "none" }, short, structuredClone(short), long];
}
