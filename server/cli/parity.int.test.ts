/** `npm run parity` notices when the engine and the reference part. */
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { ROOT } from "./native-tool.ts";
import { Command, temporaryFolder } from "./test-command.ts";

const FIXTURES = join(ROOT, "native/test/fixtures");
const folder = temporaryFolder();

/** A fixture in a folder of its own. */
function copyOf(fixture: string, name: string): string {
  const copy = join(folder, name);
  cpSync(join(FIXTURES, fixture), join(copy, fixture), { recursive: true });
  return copy;
}

/** Adds to one number in the middle of a safetensors file's F32 tensor. */
function perturb(file: string, tensor: string, by: number): void {
  const bytes = readFileSync(file);
  const headerEnd = 8 + Number(bytes.readBigUInt64LE(0));
  const header = JSON.parse(bytes.toString("utf8", 8, headerEnd));
  const { dtype, data_offsets: offsets } = header[tensor];
  expect(dtype).toBe("F32");
  const at = headerEnd + offsets[0] + 4 * Math.floor((offsets[1] - offsets[0]) / 8);
  bytes.writeFloatLE(bytes.readFloatLE(at) + by, at);
  writeFileSync(file, bytes);
}

it("passes on the fixtures as they are", async () => {
  const { status, stdout } = await new Command("parity.ts", [copyOf("lm-tiny", "sound")]).result;
  expect(stdout.toString()).not.toBe("");
  expect(status).toBe(0);
});

it("fails when one expected number is off by more than the tolerance", async () => {
  const copy = copyOf("lm-tiny", "perturbed");
  perturb(join(copy, "lm-tiny/expected.safetensors"), "audio_logits", 5);
  const { status, stdout } = await new Command("parity.ts", [copy]).result;
  expect(status).toBe(1);
  expect(stdout.toString()).toContain("FAIL");
});
