/** `npm run model -- random` makes a model with random weights of a shape that is named or given as a folder. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "./native-tool.ts";
import { Command, temporaryFolder } from "./test-command.ts";

const FIXTURES = join(ROOT, "native/test/fixtures");
const folder = temporaryFolder();

const random = (...args: string[]) => new Command("model.ts", ["random", ...args]).result;

/** The configs of the small checkpoints, without weights; `change` alters that of the language model. */
function shape(name: string, change: Record<string, unknown> = {}): string {
  const made = join(folder, name);
  for (const [part, fixture] of [
    ["lm", "lm-tiny"],
    ["codec", "codec-tiny"],
  ] as const) {
    mkdirSync(join(made, part), { recursive: true });
    cpSync(join(FIXTURES, fixture, "config.json"), join(made, part, "config.json"));
  }
  const path = join(made, "lm/config.json");
  const config = { ...JSON.parse(readFileSync(path, "utf8")), ...change };
  writeFileSync(path, JSON.stringify(config));
  return made;
}

it("makes a model of a folder's shape, without what of the starter does not fit", async () => {
  const out = join(folder, "small-model");
  const { status, stdout, stderr } = await random(shape("small"), "-o", out, "--dtype", "f32");
  expect(status).toBe(0);
  expect(stdout.toString().trim().split("\n").at(-1)).toBe(out);
  expect(stderr).toContain("voices: the starter's do not fit this shape");
  expect(existsSync(join(out, "voices"))).toBe(false);
  expect(existsSync(join(out, "lm/tokenizer.model"))).toBe(false);
  expect(JSON.parse(readFileSync(join(out, "sonant.json"), "utf8")).name).toContain("small");
  const info = await new Command("model.ts", ["info", out]).result;
  expect(info.status).toBe(0);
  expect(info.stdout.toString()).toContain("2 layers of 64, 1 local, 4 heads");
  expect(info.stdout.toString()).toContain(
    "4800 Hz, 2 channels, 192 samples a frame, 4 codebooks of 32",
  );
});

it("takes the starter's tokenizer and voices where they fit, and a shape's own before them", async () => {
  const books = {
    n_vq: 16,
    audio_codebook_sizes: undefined,
    audio_vocab_size: 1024,
    audio_pad_token_id: 1024,
  };
  const config = JSON.parse(readFileSync(join(FIXTURES, "lm-tiny/config.json"), "utf8"));
  const wide = { gpt2_config: { ...config.gpt2_config, vocab_size: 768 }, vocab_size: 768 };
  const fitting = shape("fitting", { ...books, ...wide });
  const out = join(folder, "fitting-model");
  expect((await random(fitting, "-o", out)).status).toBe(0);
  const starter = join(ROOT, "native/models/starter");
  for (const file of ["lm/tokenizer.model", "voices/kal.json"])
    expect(readFileSync(join(out, file))).toEqual(readFileSync(join(starter, file)));

  mkdirSync(join(fitting, "voices"));
  writeFileSync(join(fitting, "voices/nora.json"), "{}");
  writeFileSync(join(fitting, "lm/tokenizer.model"), "own");
  const other = join(folder, "other-model");
  expect((await random(fitting, "-o", other)).status).toBe(0);
  expect(readFileSync(join(other, "voices/nora.json"), "utf8")).toBe("{}");
  expect(existsSync(join(other, "voices/kal.json"))).toBe(false);
  expect(readFileSync(join(other, "lm/tokenizer.model"), "utf8")).toBe("own");
});

it("refuses what is no shape and names those it knows", async () => {
  const { status, stderr } = await random(join(folder, "nothing"), "-o", join(folder, "never"));
  expect(status).toBe(2);
  expect(stderr).toContain(
    "give a folder with lm/config.json and codec/config.json, or one of: moss-tts-nano",
  );
  expect(existsSync(join(folder, "never"))).toBe(false);
});
