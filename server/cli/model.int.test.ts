/** `npm run model -- convert` and `quantise` make a model folder of another one, and leave nothing half done. */
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "./native-tool.ts";
import { Command, temporaryFolder } from "./test-command.ts";

const FIXTURES = join(ROOT, "native/test/fixtures");
const folder = temporaryFolder();

const convert = (...args: string[]) => new Command("model.ts", ["convert", ...args]).result;

/** A model folder of the small checkpoints, with a voice beside them. */
function modelFolder(name: string): string {
  const model = join(folder, name);
  cpSync(join(FIXTURES, "lm-tiny"), join(model, "lm"), { recursive: true });
  cpSync(join(FIXTURES, "codec-tiny"), join(model, "codec"), { recursive: true });
  mkdirSync(join(model, "voices"));
  writeFileSync(join(model, "voices/nora.json"), "{}");
  return model;
}

/** What the header of a safetensors file says of each tensor. */
function tensorsOf(file: string): Record<string, { dtype: string; shape: number[] }> {
  const bytes = readFileSync(file);
  return JSON.parse(bytes.toString("utf8", 8, 8 + Number(bytes.readBigUInt64LE(0))));
}

it("converts a whole model folder and brings along what lies beside the weights", async () => {
  const out = join(folder, "int8");
  const { status } = await convert(modelFolder("model"), out, "--dtype", "int8");
  expect(status).toBe(0);
  const lm = tensorsOf(join(out, "lm/model.safetensors"));
  expect(lm["transformer.wte.weight"]?.dtype).toBe("I8");
  const codec = tensorsOf(join(out, "codec/model.safetensors"));
  expect(new Set(Object.values(codec).map(({ dtype }) => dtype))).toEqual(new Set(["F32"]));
  expect(existsSync(join(out, "lm/config.json"))).toBe(true);
  expect(readFileSync(join(out, "voices/nora.json"), "utf8")).toBe("{}");
});

it("converts a file that PyTorch wrote", async () => {
  const out = join(folder, "from-torch");
  const { status } = await convert(join(FIXTURES, "torch/mixed.bin"), out, "--dtype", "bf16");
  expect(status).toBe(0);
  const tensors = tensorsOf(join(out, "model.safetensors"));
  expect(tensors["a.weight"]).toMatchObject({ dtype: "BF16", shape: [2, 3] });
  expect(tensors.mask).toMatchObject({ dtype: "BOOL", shape: [2] });
});

it("says what is wrong and leaves nothing behind", async () => {
  const model = modelFolder("broken");
  const codec = join(model, "codec/model.safetensors");
  writeFileSync(codec, readFileSync(codec).subarray(0, 100_000));
  const out = join(folder, "never");
  const broken = await convert(model, out);
  expect(broken.status).toBe(1);
  expect(broken.stderr).toContain("codec/model.safetensors");
  expect(existsSync(out)).toBe(false);

  const unknown = await convert(join(model, "lm"), out, "--dtype", "int4");
  expect(unknown.status).toBe(1);
  expect(unknown.stderr).toContain('must be keep, bf16, f32 or int8, not "int4"');
  expect(existsSync(out)).toBe(false);

  const occupied = await convert(join(model, "lm"), join(model, "codec"));
  expect(occupied.status).toBe(2);
  expect(occupied.stderr).toContain("already there");

  const inside = await convert(model, join(model, "out"));
  expect(inside.status).toBe(2);
  expect(inside.stderr).toContain("lies inside");
});

it("quantises the language model of a folder, or leaves nothing behind", async () => {
  const quantise = (...args: string[]) => new Command("model.ts", ["quantise", ...args]).result;
  const out = join(folder, "quantised");
  const model = modelFolder("exact");
  expect((await quantise(model, out)).status).toBe(0);
  const lm = tensorsOf(join(out, "lm/model.safetensors"));
  expect(lm["transformer.wte.weight"]?.dtype).toBe("I8");
  const weights = "codec/model.safetensors";
  expect(readFileSync(join(out, weights)).equals(readFileSync(join(model, weights)))).toBe(true);
  expect(readFileSync(join(out, "voices/nora.json"), "utf8")).toBe("{}");

  const broken = join(model, "lm/model.safetensors");
  writeFileSync(broken, readFileSync(broken).subarray(0, 10_000));
  const never = join(folder, "never-quantised");
  const { status, stderr } = await quantise(model, never);
  expect(status).toBe(1);
  expect(stderr).toContain("lm/model.safetensors");
  expect(existsSync(never)).toBe(false);
});
