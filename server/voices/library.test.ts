import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { EngineError } from "../engine/errors.ts";
import type { Model } from "../models/types.ts";
import { LIMITS } from "../protocol/limits.ts";
import { ReferenceEncoder } from "./encode-reference.ts";
import { FileVoiceStore } from "./file-store.ts";
import { VoiceLibrary, type VoiceLibraryParts } from "./library.ts";
import { VoicePrompts } from "./prompts.ts";
import { ReferenceSource } from "./reference-source.ts";
import {
  codesOf,
  dataUrl,
  draft,
  FakeCodec,
  fakeModel,
  KEY,
  recording,
  type TemporaryFolder,
  temporaryFolder,
} from "./test-voices.ts";

// Each voice is forced to the disk, which takes its time where many others write.
vi.setConfig({ testTimeout: 60_000 });

let folder: TemporaryFolder;
let codec: FakeCodec;
let store: FileVoiceStore;
beforeEach(async () => {
  folder = await temporaryFolder();
  codec = new FakeCodec();
  store = await FileVoiceStore.open(folder.path, { freshMs: 0 });
});
afterEach(() => folder[Symbol.asyncDispose]());

function library(
  changes: Partial<VoiceLibraryParts> = {},
  model: Model = fakeModel(),
  fingerprint = "f",
): VoiceLibrary {
  return new VoiceLibrary({
    model,
    store,
    encoder: new ReferenceEncoder(codec, model, fingerprint),
    source: new ReferenceSource(),
    prompts: new VoicePrompts(),
    ...changes,
  });
}

const form = (name: string) => ({ name, consent: "c-1" });
const clip = (bytes: Uint8Array) => ({ bytes, mimeType: "audio/wav" });
const codesOfVoice = async (voices: VoiceLibrary, voice: string) => {
  const { prompt } = await voices.resolve({ voice });
  return prompt.kind === "clone" ? prompt.codes : expect.unreachable("no codes");
};

describe("names", () => {
  it.each([undefined, "default", "DEFAULT", "clara", "CLARA ", { id: "Clara" }])(
    "finds the preset for %j",
    async (voice) => {
      expect(await library().resolve({ voice })).toEqual({
        kind: "preset",
        name: "clara",
        prompt: { kind: "clone", codes: codesOf(3) },
      });
    },
  );

  it("lets a model without presets speak as it pleases, if no voice is named", async () => {
    const model = fakeModel({ presets: new Map(), defaultVoice: undefined });
    const resolved = await library({}, model).resolve({});
    expect(resolved).toEqual({ kind: "model", name: null, prompt: { kind: "none" } });
  });

  it.each(["nobody", "../../../../etc/hostname", "$(touch pwned)", "x".repeat(1000)])(
    "refuses the unknown voice %.40j and says what there is",
    async (voice) => {
      await expect(library().resolve({ voice })).rejects.toMatchObject({
        code: "invalid_voice",
        message: `Invalid voice: unknown voice '${voice.slice(0, 128)}' for moss-tts-nano. Available: clara, ørsted`,
        details: { param: "voice" },
      });
    },
  );

  it("refuses a blank voice, also beside a reference", async () => {
    for (const refAudio of [undefined, dataUrl(recording(2))]) {
      const resolving = library().resolve({ voice: "", refAudio });
      await expect(resolving).rejects.toThrow(/^Invalid voice ''$/);
    }
    await expect(library().resolve({ voice: "vp_unknown" })).rejects.toMatchObject({
      code: "invalid_reference",
      details: { param: "voice" },
    });
  });
});

describe("uploads", () => {
  it("can speak at once, are listed and described, and go when they are deleted", async () => {
    const voices = library();
    const uploaded = await voices.upload(
      { ...form(" Zoë "), ref_text: "Hello.", speaker_description: "calm" },
      clip(recording(3)),
    );
    expect(uploaded).toMatchObject({
      name: "Zoë",
      consent: "c-1",
      ref_text: "Hello.",
      speaker_description: "calm",
      mime_type: "audio/wav",
      file_size: recording(3).length,
      duration_s: 3,
      sample_rate: 16_000,
      embedding_source: "audio",
      embedding_dim: null,
    });
    for (const voice of ["ZOË", uploaded.id, { id: uploaded.id }]) {
      expect(await voices.resolve({ voice })).toMatchObject({ kind: "uploaded", name: "Zoë" });
    }
    const { presets, ...listed } = await voices.list();
    expect(listed).toEqual({ voices: ["clara", "zoë", "ørsted"], uploaded_voices: [uploaded] });
    expect(presets[0]).toMatchObject({ name: "clara", pitch_hz: 170.2 });
    expect(presets[1]).not.toHaveProperty("pitch_hz");
    expect(presets[1]).toMatchObject({ name: "Ørsted", display_name: "Ørsted", default: false });
    expect(await voices.get("zoë")).toEqual({ kind: "uploaded", ...uploaded });
    expect(await voices.get("CLARA")).toMatchObject({ kind: "preset", default: true });
    expect(await voices.sample("zoë")).toEqual(clip(Buffer.from(recording(3))));
    expect(await voices.update("zoë", { name: "Ada" })).toEqual({
      kind: "uploaded",
      ...uploaded,
      name: "Ada",
    });

    const speaking = await codesOfVoice(voices, "Ada");
    expect(await voices.delete("ada")).toBe(true);
    expect(await voices.delete("ada")).toBe(false);
    expect(await voices.delete("clara")).toBe(false);
    expect(speaking.frames).toBeGreaterThan(30);
    await expect(voices.get("ada")).rejects.toMatchObject({ code: "voice_not_found" });
    await expect(voices.resolve({ voice: "Ada" })).rejects.toMatchObject({ code: "invalid_voice" });
  });

  it("are described anew without being encoded anew", async () => {
    const voices = library();
    const { id } = await voices.upload({ ...form("v"), language: "en" }, clip(recording(2)));
    await voices.upload(form("w"), clip(recording(2, 2)));
    const edit = { speakerDescription: "calm", language: undefined };
    const changed = await voices.update("V", edit);
    expect(changed).toMatchObject({ kind: "uploaded", id, name: "v", speaker_description: "calm" });
    expect(changed).not.toHaveProperty("language");
    expect(await voices.get(id)).toEqual(changed);
    expect(await voices.update(id, { speakerDescription: undefined })).not.toHaveProperty(
      "speaker_description",
    );
    for (const name of ["W", " w "]) {
      await expect(voices.update("v", { name })).rejects.toMatchObject({
        code: "voice_name_taken",
        status: 409,
        details: { param: "name" },
      });
    }
    for (const name of ["clara", "default", "vp_1"]) {
      await expect(voices.update("v", { name })).rejects.toThrow(/^Invalid voice name/);
    }
    const notFound = { code: "voice_not_found" };
    await expect(voices.update("clara", { name: "x" })).rejects.toMatchObject(notFound);
    await expect(voices.update("nobody", edit)).rejects.toMatchObject(notFound);
    await voices.resolve({ voice: "v" });
    expect(codec.calls).toBe(2);
  });

  it("speak with the newest recording of their name", async () => {
    const voices = library();
    await voices.upload(form("v"), clip(recording(2, 1)));
    const first = await codesOfVoice(voices, "v");
    expect(await codesOfVoice(voices, "V")).toBe(first);
    await voices.delete("v");
    await voices.upload(form("v"), clip(recording(2, 2)));
    const second = await codesOfVoice(voices, "v");
    expect(second).not.toEqual(first);
    await voices.upload(form("V"), clip(recording(2, 3)));
    expect(await codesOfVoice(voices, "v")).not.toEqual(second);
  });

  it.each([
    ["silence", "invalid_reference", /silent/, recording(3).fill(0, 44)],
    ["0.3 s", "invalid_reference", /^Reference audio too short/, recording(0.3)],
    ["31 s", "invalid_reference", /^Reference audio too long/, recording(31)],
    ["text", "invalid_reference", /Could not decode.*Format not recognised/, Buffer.from("words")],
    ["11 MB", "upload_too_large", /exceeds maximum limit of 10MB/, new Uint8Array(11_534_336)],
  ])("of %s are refused and leave the old voice as it was", async (_, code, message, bytes) => {
    const voices = library();
    const uploaded = await voices.upload(form("v"), clip(recording(2)));
    const before = await codesOfVoice(voices, "v");
    const details = { param: "audio_sample" };
    await expect(voices.upload(form("V"), clip(bytes))).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
      details,
    });
    expect((await voices.list()).uploaded_voices).toEqual([uploaded]);
    expect(await codesOfVoice(library(), "v")).toEqual(before);
  });

  it("cannot take the name of a preset; one that already has it stays in its shadow", async () => {
    const voices = library();
    for (const name of ["clara", "CLARA", "clara ", "ØRSTED", "default"]) {
      const upload = voices.upload(form(name), clip(recording(2)));
      await expect(upload).rejects.toThrow(/^Invalid voice name/);
    }
    expect(codec.calls).toBe(0);
    const { id } = await store.put(draft("Clara"));
    expect(await voices.resolve({ voice: "clara" })).toMatchObject({ kind: "preset" });
    expect((await voices.list()).voices).toEqual(["clara", "ørsted"]);
    expect(await voices.delete("clara")).toBe(false);
    expect(await voices.sample(id)).toMatchObject({ mimeType: "audio/wav" });
    await expect(voices.sample("clara")).rejects.toThrow("Voice 'clara' not found");
    expect(await voices.delete(id)).toBe(true);
  });

  it("are encoded again for another model, once, and not for the old one", async () => {
    await library().upload(form("v"), clip(recording(2)));
    const other = library({}, fakeModel(), "another codec");
    expect(codec.calls).toBe(1);
    await Promise.all([codesOfVoice(other, "v"), codesOfVoice(other, "v")]);
    expect(codec.calls).toBe(2);
    await codesOfVoice(library({}, fakeModel(), "another codec"), "v");
    await codesOfVoice(library(), "v");
    expect(codec.calls).toBe(2);
  });

  it("are not stored when the uploader leaves, or when the engine cannot encode", async () => {
    const voices = library();
    codec.hold = new Promise(() => {});
    const controller = new AbortController();
    const upload = voices.upload(form("v"), clip(recording(2)), controller.signal);
    controller.abort(new Error("left"));
    await expect(upload).rejects.toThrow("left");
    codec.hold = Promise.reject(new EngineError("overloaded", "Too much."));
    const refused = voices.upload(form("v"), clip(recording(2)));
    await expect(refused).rejects.toMatchObject({ code: "overloaded" });
    expect((await voices.list()).uploaded_voices).toEqual([]);
  });

  it("need a recording, and a model that can clone", async () => {
    const embedding = { ...form("v"), embedding: [1, 2] };
    const upload = library().upload(embedding, undefined);
    await expect(upload).rejects.toMatchObject({ code: "not_implemented" });
    const capabilities = { ...fakeModel().capabilities, cloning: false };
    const fixed = library({}, fakeModel({ capabilities }));
    const refused = fixed.upload(form("v"), clip(recording(2)));
    await expect(refused).rejects.toThrow("Test model cannot speak like a recording");
  });
});

describe("voices that other servers change too", () => {
  it("speak as the upload that took the place of the one that was found", async () => {
    const slow = await FileVoiceStore.open(folder.path, { freshMs: 1e9 });
    const old = await store.put(draft("Ada"));
    await slow.list();
    await store.put(draft("Ada", 2));
    expect(await slow.find("Ada")).toEqual(old);
    const encoder = { key: KEY } as unknown as ReferenceEncoder;
    const { prompt } = await library({ store: slow, encoder }).resolve({ voice: "Ada" });
    expect(prompt).toEqual({ kind: "clone", codes: codesOf(2) });
    await store.delete("Ada");
    await expect(library({ store: slow, encoder }).resolve({ voice: "Ada" })).rejects.toMatchObject(
      {
        code: "invalid_voice",
      },
    );
  });

  it("are told of when they change here, and only then", async () => {
    const voices = library();
    const changes: string[] = [];
    const stop = voices.onChange(() => changes.push("changed"));
    await voices.upload(form("Ada"), clip(recording(2)));
    await voices.update("Ada", { language: "en" });
    await voices.resolve({ voice: "Ada" });
    expect(await voices.delete("nobody")).toBe(false);
    expect(changes).toHaveLength(2);
    await voices.delete("Ada");
    expect(changes).toHaveLength(3);
    stop();
    await voices.upload(form("Ada"), clip(recording(2)));
    expect(changes).toHaveLength(3);
  });
});

describe("references", () => {
  it("win over a name, which is then a label, and do not change any other voice", async () => {
    const voices = library();
    const before = await voices.resolve({});
    const refAudio = dataUrl(recording(3));
    for (const voice of ["label-a", "label-b", "clara", undefined]) {
      const resolved = await voices.resolve({ voice, refAudio });
      expect(resolved).toMatchObject({ kind: "reference", name: null });
      expect(resolved.prompt).not.toEqual(before.prompt);
    }
    expect(codec.calls).toBe(1);
    expect(await voices.resolve({})).toEqual(before);
  });

  it("are encoded once for two requests, of which one may leave", async () => {
    const voices = library();
    let release = () => {};
    codec.hold = new Promise((resolve) => {
      release = resolve;
    });
    const refAudio = dataUrl(recording(3));
    const controller = new AbortController();
    const leaving = voices.resolve({ refAudio }, controller.signal);
    const staying = voices.resolve({ refAudio });
    await expect.poll(() => codec.calls).toBe(1);
    controller.abort(new Error("left"));
    await expect(leaving).rejects.toThrow("left");
    release();
    expect(await staying).toMatchObject({ kind: "reference" });
    expect(codec).toMatchObject({ calls: 1, aborted: 0 });
    expect(voices.usage.references).toMatchObject({ entries: 1, making: 0 });
  });

  it("are forgotten when there are too many (case B161)", async () => {
    const voices = library({ cache: { entries: 8, bytes: 8000 } });
    for (let flavour = 0; flavour < 30; flavour++) {
      await voices.resolve({ refAudio: dataUrl(recording(1.5, flavour)) });
    }
    expect(voices.usage.references.entries).toBeLessThanOrEqual(8);
    expect(voices.usage.references.bytes).toBeLessThanOrEqual(8000);
  });

  it("report what is wrong with them", async () => {
    const resolving = library().resolve({ refAudio: dataUrl(recording(0.3)) });
    await expect(resolving).rejects.toMatchObject({
      code: "invalid_reference",
      message: expect.stringMatching(/^Reference audio too short \(0\.3s\)\. At least 1s/),
      details: { param: "ref_audio" },
    });
  });

  it("of uploads that were damaged on disk are refused", async () => {
    const { id } = await store.put({ ...draft("v"), sha256: "00" });
    await expect(library().resolve({ voice: id })).rejects.toMatchObject({
      code: "invalid_voice",
      message: "Invalid voice: the recording of 'v' is damaged",
    });
  });
});

describe("prompts", () => {
  it("are good wherever a voice or a reference is asked for", async () => {
    const voices = library();
    const created = await voices.createPrompt({ ref_audio: dataUrl(recording(3)), name: "Ada" });
    expect(created).toMatchObject({ object: "audio.voice_prompt", frames: 37, duration_s: 2.96 });
    expect(created.id).toMatch(/^vp_/);
    const resolved = await voices.resolve({ voice: created.id });
    expect(resolved).toMatchObject({ kind: "prompt", name: "Ada", prompt: { kind: "clone" } });
    expect(await voices.resolve({ refAudio: created.id, voice: "label" })).toEqual(resolved);
    const second = await voices.createPrompt({ ref_audio: created.id });
    expect(second).toMatchObject({ frames: 37, content_sha256: created.content_sha256 });
    expect(second.id).not.toBe(created.id);
    expect(codec.calls).toBe(1);
    expect(voices.usage.prompts).toBe(2);
  });
});

it("respects the limits of the server", async () => {
  const limits = { ...LIMITS, upload_bytes: 1024 * 1024, voice_name_chars: 4 };
  const voices = library({ limits });
  const large = voices.upload(form("v"), clip(new Uint8Array(1024 * 1024 + 1)));
  await expect(large).rejects.toThrow("File size exceeds maximum limit of 1MB");
  const long = voices.upload(form("Adele"), clip(recording(2)));
  await expect(long).rejects.toThrow("max 4 characters");
});
