/** Where tests find tokenizers: inside the project, or in the optional sibling folder `../shared`. */
import { existsSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

const firstExisting = (...paths: readonly string[]): string | undefined =>
  paths.map((path) => join(ROOT, path)).find((path) => existsSync(path));

/** `tokenizer.model` of the official checkpoint; undefined where `../shared/data` is absent. */
export const officialTokenizer = firstExisting("../shared/data/moss-tts-nano/tokenizer.model");

/** `tokenizer.model` of the starter checkpoint. */
export const starterTokenizer = firstExisting(
  "native/models/starter/lm/tokenizer.model",
  "../shared/starter/weights/lm/tokenizer.model",
);

/** A file of `../shared`; undefined where it is absent. */
export const sharedFile = (path: string): string | undefined => firstExisting(`../shared/${path}`);
