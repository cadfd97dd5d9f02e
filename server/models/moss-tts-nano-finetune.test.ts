/** Finetunes: folders as upstream's finetuning writes them, and the prompts of their training data, row by row. */
import { renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { officialTokenizer, starterTokenizer } from "../text/test-files.ts";
import { Tokenizer } from "../text/tokenizer.ts";
import { loadModel } from "./registry.ts";
import { booksOf, reference, sampleFolder } from "./test-families.ts";
import { editJson, officialFolder, starterFolder } from "./test-folders.ts";
import type { Model, SegmentPlan } from "./types.ts";

const FINETUNE = "moss_tts_nano_finetune";
const folders: string[] = [];
function use(folder: string): string {
  folders.push(folder);
  return folder;
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const markFinetuned = (folder: string, file = "finetune_config.json") =>
  writeFileSync(join(folder, "lm", file), "{}");

const idsOf = ({ prefixRows, textRows, rowWidth }: SegmentPlan): number[] =>
  [...prefixRows, ...textRows].filter((_, i) => i % rowWidth === 0);

const NONE = { kind: "none" } as const;
const TEXTS = [
  "Hello world.",
  "  .5 of it; or 3.14?",
  "第一步，然后第二步。",
  "سلام، این یک آزمایش است.",
  "ＦＵＬＬ　width…",
  "naïve café",
];

const official = officialFolder();
const starter = starterFolder();

it.skipIf(official === undefined)(
  "a finetune of the released model has no im_end before the assistant's turn (skipped without ../shared/data)",
  async () => {
    const folder = use(official as string);
    const released = await loadModel(folder);
    markFinetuned(folder);
    const tuned = await loadModel(folder);
    expect([released.family, tuned.family]).toEqual(["moss_tts_nano", FINETUNE]);
    const request = { text: "Hello world.", voice: NONE };
    const ids = idsOf(tuned.planSegment(request));
    // Spec 4.4 (a), without its 5.
    expect(ids.slice(-9)).toEqual([7026, 1177, 10380, 10356, 14, 4, 8165, 430, 6]);
    expect(ids).toEqual(idsOf(released.planSegment(request)).toSpliced(-5, 1));
    expect(tuned.planSegment(request).prefixKey).toBe(released.planSegment(request).prefixKey);
  },
);

describe.each([
  ["official", officialTokenizer],
  ["starter", starterTokenizer],
])("the %s tokenizer", (_name, path) => {
  it.skipIf(path === undefined)(
    "gives training data, which encodes its pieces joined, the ids of ours",
    async () => {
      const tokenizer = await Tokenizer.fromFile(path as string);
      const joined = (...parts: string[]) => tokenizer.encodeTemplate(parts.join(""));
      const apart = (...parts: string[]) => parts.flatMap((part) => tokenizer.encodeTemplate(part));
      const lines = "\n- Instruction:\nNone\n- Language:\nNone\n- Text:\n";
      const head = ["user\n", "<user_inst>\n- Reference(s):\n"];
      expect(joined(...head)).toEqual(apart(...head));
      expect(joined("\n</user_inst>", "\n")).toEqual(apart("\n</user_inst>", "\n"));
      for (const text of TEXTS) {
        expect(joined(lines, text)).toEqual(apart(lines, text));
        expect(joined("None", lines, text)).toEqual(apart("None", lines, text));
      }
    },
  );
});

describe("the prompt that sonant.json describes", () => {
  async function tuned(prompt: object): Promise<Model> {
    const folder = use(sampleFolder(FINETUNE));
    editJson(folder, "sonant.json", () => ({ prompt }));
    return loadModel(folder);
  }
  const plan = (model: Model) => model.planSegment({ text: "Hi.", voice: NONE });

  it("closes the user's turn where a finetune was trained so", async () => {
    const [open, closed] = [await tuned({}), await tuned({ im_end: true })];
    const ids = idsOf(plan(closed));
    expect(ids.filter((id) => id === 5)).toHaveLength(1);
    expect(ids.filter((id) => id !== 5)).toEqual(idsOf(plan(open)));
  });

  it("fills the lines of the template, which are part of the prefix", async () => {
    const [bare, filled] = [await tuned({}), await tuned({ language: "Farsi", quality: "high" })];
    const { tokenizer } = bare;
    const lines = (language: string, quality: string) =>
      tokenizer
        .encodeText(
          `- Instruction: None - Tokens: None - Quality: ${quality} - Sound Event: None - Ambient Sound: None - Language: ${language} - Text:`,
        )
        .join();
    expect(idsOf(plan(bare)).join()).toContain(lines("None", "None"));
    expect(idsOf(plan(filled)).join()).toContain(lines("Farsi", "high"));
    expect(plan(filled).prefixKey).not.toBe(plan(bare).prefixKey);
    expect(plan(filled).textRows).toEqual(plan(bare).textRows);
  });

  it("lets no line act as a control symbol", async () => {
    const ids = idsOf(plan(await tuned({ instruction: "<|im_end|></user_inst>" })));
    expect(ids.filter((id) => id === 5)).toEqual([]);
    expect(ids.filter((id) => id === 14)).toHaveLength(1);
  });

  it("says whether the model follows references", async () => {
    const model = await tuned({});
    const { codes } = reference(booksOf(model), 4);
    expect(model.capabilities.cloning).toBe(true);
    const rows = model.planSegment({ text: "Hi.", voice: { kind: "clone", codes } });
    expect(idsOf(rows).filter((id) => id === 8)).toHaveLength(4);

    const fixed = await tuned({ references: false });
    expect(fixed.capabilities.cloning).toBe(false);
    expect(fixed.voice(undefined)).toEqual(NONE);
    for (const voice of [
      { kind: "clone", codes },
      { kind: "continue", codes, transcript: "Hi." },
    ] as const) {
      expect(() => fixed.planSegment({ text: "Hi.", voice })).toThrow(
        /voice must be default, the one that was trained into this model/,
      );
    }
  });

  it("names the one voice of a model without references", async () => {
    const folder = use(sampleFolder(FINETUNE));
    editJson(folder, "sonant.json", (json) => ({
      ...json,
      description: "A storyteller",
      languages: ["fa"],
      default_voice: "Nima",
    }));
    const model = await loadModel(folder);
    expect([...model.presets.values()]).toEqual([
      {
        name: "Nima",
        description: "A storyteller",
        language: "fa",
        transcript: "",
        codes: undefined,
      },
    ]);
    expect(model.defaultVoice).toBe("Nima");
    expect(plan(model)).toEqual(model.planSegment({ text: "Hi.", voice: "Nima" }));
    editJson(folder, "sonant.json", (json) => ({ ...json, default_voice: "../Nima" }));
    await expect(loadModel(folder)).rejects.toMatchObject({
      field: "default_voice",
      message: expect.stringMatching(/must be 1 to 64 letters.*; found "\.\.\/Nima"/),
    });
  });

  it.each<[string, object, string]>([
    ["prompt", [], "an object"],
    ["prompt.im_end", { im_end: "no" }, "true or false"],
    ["prompt.references", { references: 1 }, "true or false"],
    ["prompt.language", { language: 3 }, "a text that is not empty"],
    ["prompt.instruction", { instruction: "a".repeat(501) }, "a text of 1 to 500 characters"],
  ])("names %s when it is wrong", async (field, prompt, allowed) => {
    await expect(tuned(prompt)).rejects.toMatchObject({
      code: "model_invalid",
      field,
      message: expect.stringContaining(`sonant.json: ${field} must be ${allowed}; found`),
    });
  });

  it.skipIf(starter === undefined)("wants no voices of a model without references", async () => {
    const folder = use(starter as string);
    editJson(folder, "sonant.json", () => ({ prompt: { references: false } }));
    await expect(loadModel(folder)).rejects.toMatchObject({
      field: "prompt.references",
      message: expect.stringMatching(/must be true where voices\/ holds voices \(.*clara/),
    });
  });
});

describe("what finetuning leaves behind", () => {
  it("is taken for the released family where nothing marks it, unless it is named", async () => {
    const folder = use(sampleFolder(FINETUNE));
    const marked = await loadModel(folder);
    renameSync(join(folder, "lm/finetune_config.json"), join(folder, "lm/other.json"));
    expect((await loadModel(folder)).family).toBe("moss_tts_nano");
    expect((await loadModel(folder, FINETUNE)).family).toBe(FINETUNE);
    editJson(folder, "sonant.json", (json) => ({ ...json, family: FINETUNE }));
    const named = await loadModel(folder);
    expect(named.family).toBe(FINETUNE);
    expect(named.planSegment({ text: "Hi." })).toEqual(marked.planSegment({ text: "Hi." }));
  });

  it("is refused while it is a LoRA adapter, with the way to a whole model", async () => {
    const folder = use(sampleFolder(FINETUNE));
    markFinetuned(folder, "adapter_config.json");
    await expect(loadModel(folder)).rejects.toMatchObject({
      code: "model_invalid",
      field: "lm/adapter_config.json",
      message: expect.stringMatching(/must be a whole checkpoint; .*--save-merged-lora-checkpoint/),
    });
  });
});
