/** `npm run eval -- voice`: the whole of it, small. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { concatBytes, toPcm16 } from "../audio/pcm.ts";
import { babble } from "../audio/test-audio.ts";
import { wavHeader } from "../audio/wav.ts";
import { recogniserMissing } from "./recognise.ts";
import { Command, temporaryFolder } from "./test-command.ts";

const folder = temporaryFolder();

async function recording(file: string, samples: Float32Array): Promise<void> {
  await writeFile(file, concatBytes([wavHeader(48_000, 1, samples.length), toPcm16(samples)]));
}

function evaluate(...options: string[]) {
  const small = ["voice", "--device", "cpu", "--voices", "nora", "--sentences", "1"];
  return new Command("eval.ts", [...small, ...options]).result;
}

describe.skipIf(recogniserMissing())("npm run eval -- voice", () => {
  it("measures presets, teachers and clones, and writes them into a part of a file", async () => {
    const [teachers, references] = [join(folder, "teachers"), join(folder, "buzzes")];
    for (const name of [teachers, references]) await mkdir(name);
    // Nobody understands a buzz, so its errors are all the words of the sentence.
    await recording(join(teachers, "nora_000.wav"), babble(1));
    await recording(join(teachers, "nora_100.wav"), babble(1));
    await recording(join(references, "one.wav"), babble(1.5));
    await recording(join(references, "two.wav"), babble(2).toReversed());
    const [json, metrics] = [join(folder, "voice.json"), join(folder, "METRICS.md")];
    await writeFile(
      metrics,
      "# Kept\n\n<!-- eval voice: begin -->old<!-- eval voice: end -->\n\nAlso kept\n",
    );

    const { status, stderr } = await evaluate(
      ...["--teachers", teachers, "--references", references, "--json", json, "--metrics", metrics],
    );
    expect(status, stderr).toBe(0);
    expect(stderr.match(/^\d of 3: /gm)).toEqual(["1 of 3: ", "2 of 3: ", "3 of 3: "]);

    const { presets, clones, engine } = JSON.parse(await readFile(json, "utf8"));
    expect(engine.device).toBe("cpu");
    const { sets, sound, teacher } = presets.nora;
    expect(sets.interface).toMatchObject({ words: 7, recordings: 1, stopped: 1, clipped: 0 });
    expect(teacher.sets.interface.words).toBe(7);
    expect(teacher.sets.interface.errors).toBeGreaterThanOrEqual(6);
    expect(teacher.codec.melDistance).toBeGreaterThan(0);
    expect(teacher.codec.pitch.voiced).toBeGreaterThan(teacher.codec.pitch.wrong);
    expect(sound).toMatchObject({ recordings: 2, runOn: 0, cutShort: 0, longSilences: 0 });
    expect(clones.buzzes.map((clone: { name: string }) => clone.name)).toEqual([
      "one.wav",
      "two.wav",
    ]);
    for (const { place, referenceHz, copyHz } of clones.buzzes) {
      expect([1, 2]).toContain(place);
      expect(referenceHz).toBeGreaterThan(100);
      expect(copyHz).toBeGreaterThan(50);
    }

    const text = await readFile(metrics, "utf8");
    expect(text).toMatch(/^# Kept\n\n<!-- eval voice: begin -->\n\n### Aims\n/);
    expect(text).toMatch(/<!-- eval voice: end -->\n\nAlso kept\n$/);
    expect(text).toContain("| every generation stops ");
    expect(text).toContain("### Clones of the recordings in buzzes");
    expect(text).not.toContain("old");
  });

  it("names what is missing", async () => {
    const empty = join(folder, "empty");
    await mkdir(empty);
    await recording(join(empty, "nora_000.wav"), babble(1));
    const missing = await evaluate("--teachers", empty);
    expect([missing.status, missing.stderr]).toEqual([
      1,
      `${empty} has recordings of nora, but not nora_100.wav.\n`,
    ]);
    const alone = await evaluate("--references", empty);
    expect(alone.status).toBe(1);
    expect(alone.stderr).toBe(
      `--references needs a folder with two recordings at least; ${empty} has 1.\n`,
    );
  });
});

it("refuses options out of range with status 2", async () => {
  const { status, stderr } = await evaluate("--sentences", "61");
  expect([status, stderr]).toEqual([
    2,
    "--sentences must be a whole number from 1 to 60, not '61'\n",
  ]);
});
