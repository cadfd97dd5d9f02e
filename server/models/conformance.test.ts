/** What every model family has to keep, whatever it is; a new adapter in the registry is tested without a line here. */
import { rmSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { TokenizerError } from "../text/tokenizer.ts";
import { ModelError } from "./errors.ts";
import { ADAPTERS, detectModel, folderFacts, loadModel } from "./registry.ts";
import { FAMILIES, sampleFolder } from "./test-families.ts";
import { editJson } from "./test-folders.ts";

const folders: string[] = [];
function use(family: string): string {
  const folder = sampleFolder(family);
  folders.push(folder);
  return folder;
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

type Json = Record<string, unknown>;
const isObject = (value: unknown): value is Json =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Dotted names of all fields of an object, lists taken as one value. */
const fieldsOf = (json: Json, path = ""): string[] =>
  Object.entries(json).flatMap(([key, value]) =>
    isObject(value) ? [path + key, ...fieldsOf(value, `${path + key}.`)] : [path + key],
  );

function setField(json: Json, field: string, value: unknown): Json {
  const keys = field.split(".");
  const last = keys.pop() as string;
  let at = json;
  for (const key of keys) at = at[key] as Json;
  at[last] = value;
  return json;
}

const failure = (folder: string): Promise<unknown> =>
  loadModel(folder).then(
    () => undefined,
    (reason: unknown) => reason,
  );

const ODD: readonly unknown[] = [
  undefined,
  null,
  true,
  16,
  "moss_tts_nano",
  [],
  ["model_type"],
  {},
  { model_type: null },
  { model_type: {} },
  { model_type: ["moss_tts_nano"] },
  { model_type: "MOSS_TTS_NANO" },
  Object.create(null),
];

describe("the registry", () => {
  it("has families with names of their own, in words that a deploy file takes", () => {
    expect(new Set(FAMILIES).size).toBe(FAMILIES.length);
    for (const family of FAMILIES) expect(family).toMatch(/^[a-z][a-z0-9_]*$/);
    expect(FAMILIES).not.toContain("auto");
  });

  it("names the families there are when another is asked for", async () => {
    const [family = ""] = FAMILIES;
    await expect(loadModel(use(family), "parrot")).rejects.toMatchObject({
      code: "model_unsupported",
      field: "pipeline",
      message: `pipeline must be one of: auto, ${FAMILIES.join(", ")}; found parrot`,
    });
    const folder = use(family);
    editJson(folder, "sonant.json", () => ({ family: "parrot" }));
    await expect(loadModel(folder)).rejects.toMatchObject({
      code: "model_invalid",
      field: "family",
      message: `sonant.json: family must be one of: ${FAMILIES.join(", ")}; found "parrot"`,
    });
  });
});

describe.each(ADAPTERS.map((adapter) => [adapter.family, adapter] as const))(
  "%s: folders",
  (family, adapter) => {
    it("recognises its own and nothing else, whatever the files hold", async () => {
      for (const other of FAMILIES) {
        expect(adapter.recognises(await folderFacts(use(other)))).toBe(other === family);
      }
      const { lm, codec, lmFiles } = await folderFacts(use(family));
      const odd = ODD.flatMap((value) => [
        ...ODD.map((second) => [value, second]),
        [lm, value],
        [value, codec],
      ]);
      for (const [first, second] of odd) {
        for (const files of [lmFiles, new Set<string>()]) {
          expect(adapter.recognises({ lm: first, codec: second, lmFiles: files })).toBe(false);
        }
      }
    });

    it("is found by itself, by the deploy file's word and by that of sonant.json", async () => {
      const folder = use(family);
      expect(await detectModel(folder)).toBe(adapter);
      expect(await detectModel(folder, "auto")).toBe(adapter);
      expect((await loadModel(folder, family)).family).toBe(family);
      for (const other of FAMILIES) {
        editJson(folder, "sonant.json", () => ({ family: other }));
        expect((await detectModel(folder)).family).toBe(other);
        expect(await detectModel(folder, family)).toBe(adapter);
      }
    });

    it.each(["lm/config.json", "codec/config.json"])(
      "names the field of %s that is wrong, and what it has to be",
      async (file) => {
        const facts = await folderFacts(use(family));
        const json = (file.startsWith("lm") ? facts.lm : facts.codec) as Json;
        const refused: string[] = [];
        for (const field of fieldsOf(json)) {
          const folder = use(family);
          editJson(folder, file, () => setField(structuredClone(json), field, [{}]));
          const error = await failure(folder);
          // The field may be of no use here, or be what tells the family.
          if (error === undefined || (error as ModelError).code === "model_unsupported") continue;
          expect(error, field).toBeInstanceOf(ModelError);
          expect(error).toMatchObject({ code: "model_invalid", field });
          expect((error as ModelError).message).toMatch(/must be .+; found \[\{\}\]/);
          expect((error as ModelError).message).toContain(`${file}: ${field} `);
          refused.push(field);
        }
        expect(refused.length).toBeGreaterThanOrEqual(5);
      },
    );

    it("says which file is missing or broken", async () => {
      for (const file of ["lm/config.json", "codec/config.json"]) {
        const folder = use(family);
        rmSync(join(folder, file));
        await expect(loadModel(folder)).rejects.toMatchObject({ code: "model_not_found" });
        await expect(loadModel(folder, family)).rejects.toMatchObject({
          code: "model_invalid",
          message: `${file} is missing`,
        });
      }
      const folder = use(family);
      truncateSync(join(folder, "lm/tokenizer.model"), 500);
      expect(await failure(folder)).toBeInstanceOf(TokenizerError);
    });

    it("obeys sonant.json, zeros included, and says what it refuses", async () => {
      const folder = use(family);
      editJson(folder, "sonant.json", (json) => ({
        ...json,
        name: "Ada",
        description: "A test",
        languages: ["fr"],
        sampling: { text_top_k: 0, audio_top_k: 0, audio_temperature: 0.01, audio_top_p: 1 },
        limits: { segment_words: 9 },
      }));
      const { sampling, limits, capabilities, ...model } = await loadModel(folder);
      expect(model).toMatchObject({ name: "Ada", description: "A test" });
      expect(capabilities.languages).toEqual(["fr"]);
      expect(limits.segmentWords).toBe(9);
      expect(sampling).toMatchObject({
        textTopK: 0,
        audioTopK: 0,
        audioTemperature: 0.01,
        audioTopP: 1,
      });
      for (const [field, value, allowed] of [
        ["sampling.audio_top_k", -1, "a whole number from 0 to 16384"],
        ["sampling.text_temperature", 0, "a number from 0.01 to 5"],
        ["limits.max_frames", 1.5, "a whole number from 8 to 10000"],
        ["name", " ", "a text that is not empty"],
      ] as const) {
        const broken = use(family);
        editJson(broken, "sonant.json", (json) =>
          setField({ sampling: {}, limits: {}, ...json }, field, value),
        );
        expect(await failure(broken)).toMatchObject({
          code: "model_invalid",
          field,
          message: expect.stringContaining(`${field} must be ${allowed}; found`),
        });
      }
    });
  },
);
