/** What every model family has to keep when it lays out prompts: rows, keys, voices, tokens, caps. */
import { rmSync } from "node:fs";
import { afterAll, describe, expect, it } from "vitest";
import { loadModel } from "./registry.ts";
import { booksOf, FAMILIES, promptsOf, reference, sampleFolder, TEXTS } from "./test-families.ts";
import type { SegmentPlan, SegmentRequest } from "./types.ts";

const folders: string[] = [];
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const idsOf = (rows: Int32Array, width: number): number[] =>
  Array.from({ length: rows.length / width }, (_, t) => rows[t * width] ?? -1);

/** Pieces that steer a model rather than being spoken; bytes look alike and are not. */
const isControl = (piece: string | undefined): boolean =>
  piece !== undefined && /^<.+>$/u.test(piece) && !/^<0x[0-9A-F]{2}>$/.test(piece);

describe.each(FAMILIES)("%s: prompts", async (family) => {
  const folder = sampleFolder(family);
  folders.push(folder);
  const model = await loadModel(folder);
  const prompts = promptsOf(model);
  const every = <T>(make: (plan: SegmentPlan, text: string) => T): T[] =>
    prompts.flatMap((voice) => TEXTS.map((text) => make(model.planSegment({ text, voice }), text)));
  const refused = (request: SegmentRequest, field: string, message: RegExp) => {
    const plan = () => model.planSegment(request);
    expect(plan).toThrow(
      expect.objectContaining({ name: "ModelError", code: "request_invalid", field }),
    );
    expect(plan).toThrow(message);
  };

  it("have rows of one width, whole and not empty", () => {
    every(({ prefixRows, textRows, rowWidth }) => {
      expect(rowWidth).toBe(1 + booksOf(model));
      expect(prefixRows.length % rowWidth).toBe(0);
      expect(textRows.length % rowWidth).toBe(0);
      expect(textRows.length).toBeGreaterThan(0);
      expect(Math.min(...prefixRows, ...textRows)).toBeGreaterThanOrEqual(0);
    });
  });

  it("have equal keys exactly where their prefixes are equal", () => {
    const plans = every(({ prefixKey, prefixRows }) => ({ prefixKey, rows: prefixRows.join() }));
    for (const one of plans) {
      for (const other of plans) {
        expect(one.prefixKey === other.prefixKey).toBe(one.rows === other.rows);
      }
    }
  });

  it("have prefixes that do not depend on the text", () => {
    for (const voice of prompts) {
      const keys = TEXTS.map((text) => model.planSegment({ text, voice }).prefixKey);
      expect(new Set(keys).size).toBe(1);
    }
  });

  it("are the same each time", () => {
    expect(every((plan) => plan)).toEqual(every((plan) => plan));
  });

  it("count the tokens that they hold", () => {
    const rest = every(
      ({ textRows, rowWidth }, text) => textRows.length / rowWidth - model.countTokens(text),
    );
    expect(new Set(rest).size).toBe(1);
    expect(rest[0]).toBeGreaterThanOrEqual(0);
    expect(model.countTokens("")).toBe(0);
    expect(model.countTokens(" \n\t")).toBe(0);
  });

  it("keep control symbols out of what people write", () => {
    const controls = (text: string) => {
      const { textRows, rowWidth } = model.planSegment({ text });
      return idsOf(textRows, rowWidth).filter((id) => isControl(model.tokenizer.pieceOf(id)));
    };
    const all = Array.from({ length: model.tokenizer.vocabularySize }, (_, id) => id)
      .map((id) => model.tokenizer.pieceOf(id))
      .filter(isControl);
    expect(all.length).toBeGreaterThan(0);
    expect(controls(`Hello ${all.join(" ")} there ${all.join("")}`)).toEqual(controls("Hello."));
  });

  it("refuse a text without anything to say", () => {
    for (const text of ["", " ", "\n\t\n"]) refused({ text }, "text", /text must/);
  });

  it("use the voices of the model, the default one where none is named", () => {
    const { presets, defaultVoice } = model;
    const [first] = presets.keys();
    expect(defaultVoice === undefined).toBe(first === undefined);
    if (defaultVoice !== undefined) expect(presets.has(defaultVoice)).toBe(true);
    expect(model.voice(undefined)).toEqual(
      defaultVoice === undefined ? { kind: "none" } : model.voice(defaultVoice),
    );
    for (const [name, { codes }] of presets) {
      expect(codes?.frames ?? 0).toBeLessThanOrEqual(model.limits.maxReferenceFrames);
      expect(model.planSegment({ text: "Hi.", voice: name })).toEqual(
        model.planSegment({ text: "Hi.", voice: model.voice(name) }),
      );
    }
    expect(model.planSegment({ text: "Hi." })).toEqual(
      model.planSegment({ text: "Hi.", voice: model.voice(undefined) }),
    );
  });

  it("refuse a voice that there is not, naming those that there are", () => {
    const names = [...model.presets.keys()].join(", ") || "none";
    refused({ text: "Hi.", voice: "nobody" }, "voice", new RegExp(`must be .*${names}`));
    expect(() => model.voice("nobody")).toThrow(/nobody/);
  });

  it("follow references exactly where the model says that it clones", () => {
    const { capabilities, limits } = model;
    const books = booksOf(model);
    const clone = (frames: number, width = books): SegmentRequest => ({
      text: "Hi.",
      voice: reference(width, frames),
    });
    if (!capabilities.cloning) {
      // There has to be a voice to speak with, then.
      expect(model.presets.size).toBeGreaterThan(0);
      return refused(clone(2), "voice", /voice must be /);
    }
    expect(model.planSegment(clone(limits.maxReferenceFrames)).prefixRows.length).toBeGreaterThan(
      model.planSegment(clone(1)).prefixRows.length,
    );
    refused(clone(0), "voice", new RegExp(`1 to ${limits.maxReferenceFrames} frames; found 0`));
    refused(clone(limits.maxReferenceFrames + 1), "voice", /frames; found/);
    refused(clone(2, books + 1), "voice", new RegExp(`${books} to a frame; found ${books + 1}`));
    const { codes } = reference(books, 2);
    const short = { ...codes, data: codes.data.subarray(1) };
    refused({ text: "Hi.", voice: { kind: "clone", codes: short } }, "voice", /numbers; found/);
    const loud = { ...codes, data: codes.data.map(() => 65_535) };
    refused({ text: "Hi.", voice: { kind: "clone", codes: loud } }, "voice", /from 0 to \d+/);
  });

  it("cap the frames by the text, the model, and lower when asked", () => {
    const cap = (text: string, maxFrames?: number) =>
      model.planSegment({ text, ...(maxFrames === undefined ? {} : { maxFrames }) }).maxFrames;
    const { maxFrames } = model.limits;
    expect(cap("Hi.")).toBeGreaterThanOrEqual(1);
    expect(cap("Hi.")).toBeLessThanOrEqual(cap(TEXTS[1] as string));
    expect(cap("word ".repeat(4000))).toBe(maxFrames);
    expect(cap("Hi.", 1)).toBe(1);
    expect(cap("Hi.", 1_000_000)).toBe(cap("Hi."));
    for (const odd of [0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY]) {
      refused({ text: "Hi.", maxFrames: odd }, "max_frames", /max_frames must be .*; found/);
    }
  });

  it("come with limits, languages and a format that make sense", () => {
    const { limits, capabilities, audio, sampling } = model;
    for (const limit of Object.values(limits)) expect(limit).toBeGreaterThan(0);
    expect(limits.firstSegmentTokens).toBeLessThanOrEqual(limits.segmentTokens);
    expect(capabilities.languages.length).toBeGreaterThan(0);
    expect(new Set(capabilities.languages).size).toBe(capabilities.languages.length);
    for (const language of capabilities.languages) expect(language).toMatch(/^[a-z]{2,3}$/);
    expect([1, 2]).toContain(audio.channels);
    expect(audio.framesPerSecond).toBe(audio.sampleRate / audio.samplesPerFrame);
    for (const value of Object.values(sampling)) expect(value).toBeGreaterThanOrEqual(0);
  });
});
