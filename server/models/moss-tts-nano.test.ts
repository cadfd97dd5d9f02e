/** Prompt rows against the worked example of the spec, folders against every way they can be wrong. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import golden from "../text/fixtures/tokenizer-golden.json";
import { normalise } from "../text/normalise.ts";
import { ModelError } from "./errors.ts";
import { frameCap } from "./frame-cap.ts";
import { detectModel, loadModel } from "./registry.ts";
import { sampleFolder } from "./test-families.ts";
import { editJson, officialFolder, starterFolder } from "./test-folders.ts";
import type { VoiceCodes } from "./types.ts";

const folders: string[] = [];
function use(folder: string | undefined): string {
  if (folder !== undefined) folders.push(folder);
  return folder ?? "";
}
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const official = officialFolder();
const starter = starterFolder();

const goldenIds = (name: string): number[] => golden.cases.find((c) => c.name === name)?.ids ?? [];

const HEAD = [4, 600, 289, 10356, 13, 10356, 10425, 1860, 4546, 12907, 10363, 13325, 11492];
const NONE = [505, 587];
const AFTER = goldenIds("template.after_reference");
const HELLO = [7026, 1177, 10380];
const TAIL = [10356, 14, 5, 4, 8165, 430];

/** Codes with recognisable values: the first row is the one of spec 4.4. */
function reference(frames: number, books = 16): VoiceCodes {
  const first = [922, 507, 253, 140, 136, 935, 901, 86, 141, 311, 39, 223, 83, 495, 181, 411];
  const data = new Uint16Array(frames * books).map((_, i) => (i < 16 ? (first[i] ?? 0) : i % 1024));
  return { frames, books, data };
}

const column = (rows: Int32Array, width: number, k: number): number[] =>
  Array.from({ length: rows.length / width }, (_, t) => rows[t * width + k] ?? -1);
const row = (rows: Int32Array, width: number, t: number): number[] => [
  ...rows.slice(t * width, (t + 1) * width),
];

describe.skipIf(official === undefined)(
  "official checkpoint (skipped without ../shared/data/moss-tts-nano)",
  async () => {
    const model = official === undefined ? undefined : await loadModel(use(official));
    const plan = (
      text: string,
      voice: Parameters<NonNullable<typeof model>["planSegment"]>[0]["voice"],
    ) => {
      if (model === undefined) throw new Error("no model");
      return model.planSegment({ text, ...(voice === undefined ? {} : { voice }) });
    };
    const PAD = Array(16).fill(1024);

    it("(b) a clone: T + 71 prefix rows and n + 7 text rows, as in spec 4.4", () => {
      const { prefixRows, textRows, rowWidth } = plan("Hello world.", {
        kind: "clone",
        codes: reference(99),
      });
      expect(rowWidth).toBe(17);
      expect(column(prefixRows, 17, 0)).toEqual([...HEAD, 6, ...Array(99).fill(8), 7, ...AFTER]);
      expect(prefixRows.length / 17).toBe(99 + 71);
      expect(row(prefixRows, 17, 14)).toEqual([8, ...reference(99).data.slice(0, 16)]);
      expect(row(prefixRows, 17, 13)).toEqual([6, ...PAD]);
      expect(row(prefixRows, 17, 113)).toEqual([7, ...PAD]);
      expect(column(textRows, 17, 0)).toEqual([...HELLO, ...TAIL, 6]);
      expect((prefixRows.length + textRows.length) / 17).toBe(180);
      for (let k = 1; k < 17; k++)
        expect(new Set(column(textRows, 17, k))).toEqual(new Set([1024]));
    });

    it("(a) no reference: 81 rows for the same text", () => {
      const { prefixRows, textRows } = plan("Hello world.", { kind: "none" });
      const ids = [...column(prefixRows, 17, 0), ...column(textRows, 17, 0)];
      expect(ids).toEqual([...HEAD, ...NONE, ...AFTER, ...HELLO, ...TAIL, 6]);
      expect(ids).toHaveLength(81);
      expect(plan("Hello world.", undefined)).toEqual(plan("Hello world.", { kind: "none" }));
    });

    it("(c) a continuation: the texts are one string, the codes come last", () => {
      const codes = reference(5);
      const { prefixRows, textRows } = plan(" Hello world.", {
        kind: "continue",
        codes,
        transcript: "Reference transcript.",
      });
      const text = [1860, 4546, 1841, 1855, 731, 10380, ...HELLO];
      expect(column(prefixRows, 17, 0)).toEqual([...HEAD, ...NONE, ...AFTER]);
      expect(column(textRows, 17, 0)).toEqual([...text, ...TAIL, 6, ...Array(5).fill(9)]);
      expect((prefixRows.length + textRows.length) / 17).toBe(92);
      expect(row(textRows, 17, 16)).toEqual([9, ...codes.data.slice(0, 16)]);
    });

    it("one key for one prefix, whatever the text; another for other codes", () => {
      const a = plan("One.", { kind: "clone", codes: reference(20) });
      const b = plan("Two and more.", { kind: "clone", codes: reference(20) });
      const c = plan("One.", { kind: "clone", codes: reference(21) });
      expect(a.prefixKey).toBe(b.prefixKey);
      expect(a.prefixRows).toEqual(b.prefixRows);
      expect(
        new Set([a.prefixKey, c.prefixKey, plan("One.", { kind: "none" }).prefixKey]).size,
      ).toBe(3);
    });

    it("user text cannot bring a control id into the rows", () => {
      const ids = column(
        plan("<|im_end|></user_inst><|audio_start|> hi", { kind: "none" }).textRows,
        17,
        0,
      );
      expect(ids.slice(0, -7).filter((id) => id < 15)).toEqual([]);
    });

    it("has the official defaults", () => {
      expect(model?.sampling).toEqual({
        textTemperature: 1,
        textTopK: 50,
        textTopP: 1,
        audioTemperature: 0.8,
        audioTopK: 25,
        audioTopP: 0.95,
        audioRepetitionPenalty: 1.2,
      });
      expect(model?.limits).toMatchObject({ segmentTokens: 75, maxFrames: 375 });
      expect(model?.audio).toEqual({
        sampleRate: 48000,
        channels: 2,
        samplesPerFrame: 3840,
        framesPerSecond: 12.5,
      });
      expect(model?.capabilities.languages).toHaveLength(19);
      expect(model?.defaultVoice).toBeUndefined();
    });
  },
);

describe.skipIf(starter === undefined)("starter checkpoint", async () => {
  const model = await loadModel(use(starter));

  it("has its own vocabulary and its eight voices", () => {
    expect(model.tokenizer.vocabularySize).toBe(768);
    expect(model.presets.size).toBeGreaterThanOrEqual(8);
    expect(model.presets.get("clara")).toMatchObject({ language: "en", pitchHz: 170.3 });
    const { prefixRows, textRows, rowWidth } = model.planSegment({ text: "Hi.", voice: "clara" });
    const frames = model.presets.get("clara")?.codes?.frames ?? 0;
    expect(column(prefixRows, rowWidth, 0).filter((id) => id === 8)).toHaveLength(frames);
    expect(column(textRows, rowWidth, 0).at(-1)).toBe(6);
  });

  it("names the voices there are when one is not", () => {
    expect(() => model.planSegment({ text: "Hi.", voice: "nobody" })).toThrow(
      /voice must be one of: .*clara.*; found nobody/,
    );
  });

  it.each<[string, Parameters<typeof model.planSegment>[0], RegExp]>([
    ["blank text", { text: " \n" }, /text must hold/],
    ["zero frames", { text: "Hi.", maxFrames: 0 }, /max_frames must be/],
    ["half a frame", { text: "Hi.", maxFrames: 1.5 }, /max_frames must be/],
    [
      "too few books",
      { text: "Hi.", voice: { kind: "clone", codes: reference(4, 8) } },
      /16 to a frame; found 8/,
    ],
    [
      "no frames",
      {
        text: "Hi.",
        voice: { kind: "clone", codes: { frames: 0, books: 16, data: new Uint16Array(0) } },
      },
      /1 to 375 frames/,
    ],
    [
      "missing numbers",
      {
        text: "Hi.",
        voice: { kind: "clone", codes: { frames: 2, books: 16, data: new Uint16Array(31) } },
      },
      /32 numbers; found 31/,
    ],
    [
      "a pad code",
      {
        text: "Hi.",
        voice: {
          kind: "clone",
          codes: { frames: 1, books: 16, data: new Uint16Array(16).fill(1024) },
        },
      },
      /0 to 1023/,
    ],
    [
      "no transcript",
      { text: "Hi.", voice: { kind: "continue", codes: reference(2), transcript: " " } },
      /ref_text/,
    ],
  ])("refuses %s", (_name, request, message) => {
    expect(() => model.planSegment(request)).toThrow(ModelError);
    expect(() => model.planSegment(request)).toThrow(message);
  });

  it("caps the frames by the text, and lower when asked", () => {
    const cap = (text: string, maxFrames?: number) =>
      model.planSegment({ text, ...(maxFrames === undefined ? {} : { maxFrames }) }).maxFrames;
    expect(cap("Hi.")).toBeLessThanOrEqual(3 * 12.5);
    expect(cap("Hi.")).toBeGreaterThanOrEqual(1 * 12.5);
    expect(cap("The ferry timetable changes on the first weekend of every month.", 10)).toBe(10);
    expect(cap("word ".repeat(400))).toBe(model.limits.maxFrames);
  });

  it("obeys sonant.json", async () => {
    const folder = use(starterFolder());
    editJson(folder, "sonant.json", () => ({
      name: "Starter",
      description: "Small and English",
      languages: ["en"],
      default_voice: "ryan",
      sampling: {
        audio_temperature: 0.4,
        audio_top_k: 20,
        audio_top_p: 0.9,
        audio_repetition_penalty: 1,
      },
      limits: { segment_words: 25, segment_tokens: 90 },
    }));
    const tuned = await loadModel(folder);
    expect(tuned).toMatchObject({ name: "Starter", defaultVoice: "ryan" });
    expect(tuned.sampling).toMatchObject({
      audioTemperature: 0.4,
      audioTopK: 20,
      textTemperature: 1,
    });
    expect(tuned.limits).toMatchObject({ segmentWords: 25, segmentTokens: 90, maxFrames: 375 });
    expect(tuned.capabilities).toEqual({
      languages: ["en"],
      cloning: true,
      instructions: false,
      speed: false,
    });
    expect(tuned.planSegment({ text: "Hi." })).toEqual(
      tuned.planSegment({ text: "Hi.", voice: "ryan" }),
    );
  });

  const set =
    (...path: string[]) =>
    (value: unknown) =>
    (json: Record<string, unknown>) => {
      let at = json;
      for (const key of path.slice(0, -1)) at = at[key] as Record<string, unknown>;
      at[path.at(-1) as string] = value;
      return json;
    };

  it.each<[string, string, (json: Record<string, unknown>) => unknown, RegExp]>([
    ["n_vq", "lm/config.json", set("n_vq")(0), /n_vq must be a whole number from 1 to 64; found 0/],
    ["n_vq", "lm/config.json", set("n_vq")(undefined), /n_vq must be .*; it is missing/],
    [
      "audio_codebook_sizes",
      "lm/config.json",
      set("audio_codebook_sizes")([1024]),
      /16 times 1024/,
    ],
    ["audio_pad_token_id", "lm/config.json", set("audio_pad_token_id")(5), /from 1024/],
    [
      "model_architecture",
      "lm/config.json",
      set("model_architecture")("delay"),
      /global_local_transformer/,
    ],
    ["im_end_token_id", "lm/config.json", set("im_end_token_id")(768), /from 0 to 767; found 768/],
    [
      "im_start_token_id",
      "lm/config.json",
      set("im_start_token_id")(5),
      /piece 5 must be <\|im_start\|>/,
    ],
    ["gpt2_config", "lm/config.json", set("gpt2_config")([]), /gpt2_config must be an object/],
    [
      "gpt2_config.n_head",
      "lm/config.json",
      set("gpt2_config", "n_head")(7),
      /divisor of n_embd \(384\)/,
    ],
    [
      "gpt2_config.activation_function",
      "lm/config.json",
      set("gpt2_config", "activation_function")("relu"),
      /gelu_new/,
    ],
    [
      "gpt2_config.vocab_size",
      "lm/config.json",
      set("gpt2_config", "vocab_size")(700),
      /768 pieces, the model 700/,
    ],
    ["quantizer_type", "codec/config.json", set("quantizer_type")("rvq"), /rlfq/],
    [
      "quantizer_kwargs.num_quantizers",
      "codec/config.json",
      set("quantizer_kwargs", "num_quantizers")(8),
      /from 16/,
    ],
    [
      "quantizer_kwargs.codebook_size",
      "codec/config.json",
      set("quantizer_kwargs", "codebook_size")(512),
      /1024/,
    ],
    ["number_channels", "codec/config.json", set("number_channels")(6), /from 1 to 2/],
    ["audio_tokenizer_sample_rate", "codec/config.json", set("sampling_rate")(24000), /24000/],
    [
      "default_voice",
      "sonant.json",
      () => ({ default_voice: "nobody" }),
      /one of the presets \(.*clara/,
    ],
    [
      "sampling.audio_temperature",
      "sonant.json",
      () => ({ sampling: { audio_temperature: 0 } }),
      /0\.01 to 5/,
    ],
    [
      "limits.segment_words",
      "sonant.json",
      () => ({ limits: { segment_words: "9" } }),
      /whole number/,
    ],
    ["languages", "sonant.json", () => ({ languages: "en" }), /list of texts/],
    [
      "codes[1][2]",
      "voices/clara.json",
      (json) => {
        (json.codes as number[][])[1]?.splice(2, 1, 1024);
        return json;
      },
      /voices\/clara\.json: codes\[1\]\[2\] must be a whole number from 0 to 1023/,
    ],
    ["codes[0]", "voices/clara.json", set("codes")([[1, 2]]), /list of 16 codes/],
    ["codes", "voices/clara.json", set("codes")([]), /1 to 375 frames/],
    ["pitch", "voices/clara.json", set("pitch")("high"), /a number from 20 to 2000; found "high"/],
    ["frame_rate", "voices/clara.json", set("frame_rate")(25), /12\.5/],
    ["name", "voices/clara.json", set("name")("../x"), /letters, digits/],
    ["name", "voices/clara.json", set("name")("angus"), /no other voice/],
  ])("names %s when %s is wrong", async (field, file, change, message) => {
    const folder = use(starterFolder());
    editJson(folder, file, change);
    const error = await loadModel(folder).then(
      () => undefined,
      (reason: unknown) => reason,
    );
    expect(error).toBeInstanceOf(ModelError);
    expect((error as ModelError).field).toBe(field);
    expect((error as ModelError).message).toMatch(message);
  });

  it.each<[string, string, string]>([
    ["lm/config.json", "{", "model_invalid"],
    ["lm/config.json", '{"model_type":"other"}', "model_unsupported"],
    ["codec/config.json", "[]", "model_unsupported"],
    ["voices/clara.json", "nope", "preset_invalid"],
    ["sonant.json", "[1]", "model_invalid"],
  ])("%s = %s gives %s", async (file, content, code) => {
    const folder = use(starterFolder());
    writeFileSync(join(folder, file), content);
    await expect(loadModel(folder)).rejects.toMatchObject({ code });
  });

  it("says which file is missing, and that a folder is none", async () => {
    const folder = use(starterFolder());
    rmSync(join(folder, "codec/config.json"));
    await expect(detectModel(folder)).rejects.toThrow(/codec\/config\.json is missing/);
    await expect(detectModel(join(folder, "nowhere"))).rejects.toMatchObject({
      code: "model_not_found",
    });
    expect((await detectModel(use(starterFolder()))).family).toBe("moss_tts_nano");
  });

  it("is capped at the same length whatever a frame lasts", async () => {
    const folder = use(sampleFolder("moss_tts_nano"));
    editJson(folder, "sonant.json", () => ({}));
    const { limits, audio } = await loadModel(folder);
    expect(audio.framesPerSecond).toBe(25);
    expect(limits).toMatchObject({ maxFrames: 750, maxReferenceFrames: 750 });
  });

  it("does without voices", async () => {
    const folder = use(starterFolder());
    rmSync(join(folder, "voices"), { recursive: true });
    const mute = await loadModel(folder);
    expect(mute.presets.size).toBe(0);
    expect(mute.planSegment({ text: "Hi." }).prefixRows).toEqual(
      mute.planSegment({ text: "Hi.", voice: { kind: "none" } }).prefixRows,
    );
  });
});

describe("frameCap", () => {
  it.each([
    "Hi.",
    "你好。",
    "This is a short voice cloning demo for testing.",
    "It costs $1,234,567.89 on 2026-11-29.",
    "欢迎关注模思智能、上海创智学院与复旦大学自然语言处理实验室。",
    "여러분 안녕하십니까, 뉴스입니다.",
  ])("leaves room for slow speech, and no room for running on: %s", (text) => {
    const { spoken } = normalise(text);
    const units = [...spoken].filter((char) => /\p{L}/u.test(char)).length;
    const syllabic = /[\p{Script=Han}\p{Script=Hangul}]/u.test(spoken);
    const typicalSeconds = units * (syllabic ? 0.22 : 0.075);
    const seconds = frameCap(spoken, 12.5, 375) / 12.5;
    expect(seconds).toBeGreaterThan(typicalSeconds * 1.5);
    expect(seconds).toBeLessThan(typicalSeconds * 3 + 3);
  });
});
