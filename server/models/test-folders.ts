/** Model folders without weights, for tests: copied from `../shared` or the project into a temporary place. */
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { sharedFile } from "../text/test-files.ts";

const STARTER = join(import.meta.dirname, "../../native/models/starter");

function build(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), "sonant-model-"));
  for (const [target, source] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, target)), { recursive: true });
    cpSync(source, join(folder, target), { recursive: true });
  }
  return folder;
}

/** A copy of the official checkpoint's configs and tokenizer; undefined without `../shared/data`. */
export function officialFolder(): string | undefined {
  const source = sharedFile("data/moss-tts-nano");
  if (source === undefined) return undefined;
  return build({
    "lm/config.json": join(source, "lm-config.json"),
    "lm/tokenizer.model": join(source, "tokenizer.model"),
    "codec/config.json": join(source, "codec-config.json"),
  });
}

/** A copy of the starter's configs, tokenizer and voices; undefined where it is nowhere to be found. */
export function starterFolder(): string | undefined {
  const inProject = existsSync(join(STARTER, "lm/config.json"));
  const shared = sharedFile("starter");
  if (!inProject && shared === undefined) return undefined;
  const weights = inProject ? STARTER : join(shared ?? "", "weights");
  const voices = inProject ? join(STARTER, "voices") : join(shared ?? "", "voices");
  return build({
    "lm/config.json": join(weights, "lm/config.json"),
    "lm/tokenizer.model": join(weights, "lm/tokenizer.model"),
    "codec/config.json": join(weights, "codec/config.json"),
    voices,
  });
}

/** Rewrites a JSON file of a folder through `change`. */
export function editJson(
  folder: string,
  name: string,
  change: (value: Record<string, unknown>) => unknown,
): void {
  const path = join(folder, name);
  const value = existsSync(path) ? JSON.parse(readFileSync(path, "utf8")) : {};
  writeFileSync(path, JSON.stringify(change(value)));
}
