/** What the tests of this folder share: recordings, a codec that invents codes from sound, a model without weights. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Model, Preset, VoiceCodes } from "../models/types.ts";
import { type CodesKey, type ReferenceCodec, sha256 } from "./encode-reference.ts";
import type { VoiceDraft } from "./store.ts";

const FRAMES_PER_SECOND = 12.5;
export const BOOKS = 4;

/** A 16-bit mono WAV file: a tone of 220 Hz with a little noise that depends on `flavour`. */
export function recording(seconds: number, flavour = 1, sampleRate = 16_000): Uint8Array {
  const frames = Math.round(seconds * sampleRate);
  const bytes = Buffer.alloc(44 + frames * 2);
  bytes.write("RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", 0, "latin1");
  bytes.writeUInt32LE(36 + frames * 2, 4);
  bytes.writeUInt32LE(sampleRate, 24);
  bytes.writeUInt32LE(sampleRate * 2, 28);
  bytes.write("\x02\0\x10\0data", 32, "latin1");
  bytes.writeUInt32LE(frames * 2, 40);
  let noise = flavour;
  for (let i = 0; i < frames; i++) {
    noise = (noise * 1_103_515_245 + 12_345) % 2 ** 31;
    const tone = Math.sin((2 * Math.PI * 220 * i) / sampleRate);
    bytes.writeInt16LE(Math.round(9000 * tone + 200 * (noise / 2 ** 30 - 1)), 44 + i * 2);
  }
  return bytes;
}

export function dataUrl(bytes: Uint8Array): string {
  return `data:audio/wav;base64,${Buffer.from(bytes).toString("base64")}`;
}

/** Encodes sound to codes that depend on every sample. `hold` keeps it waiting; `calls` counts. */
export class FakeCodec implements ReferenceCodec {
  readonly info = { lm: { nVq: BOOKS }, codec: { nCodebooks: BOOKS + 1 } };
  calls = 0;
  aborted = 0;
  hold: Promise<void> | undefined;
  lastCodes: Int32Array = new Int32Array(0);

  async encode(
    pcm: Float32Array,
    channels: number,
    sampleRate: number,
    { signal }: { readonly signal?: AbortSignal | undefined },
  ): Promise<Int32Array> {
    this.calls++;
    const gone = new Promise<never>((_, reject) => {
      signal?.addEventListener("abort", () => {
        this.aborted++;
        reject(signal.reason);
      });
    });
    if (this.hold !== undefined) await Promise.race([this.hold, gone]);
    const frames = Math.floor((pcm.length / channels / sampleRate) * FRAMES_PER_SECOND);
    const hash = Buffer.from(sha256(Buffer.from(pcm.buffer, pcm.byteOffset, pcm.byteLength)));
    const code = (_: unknown, i: number) => (hash[i % hash.length] ?? 0) + (i % 7);
    this.lastCodes = Int32Array.from({ length: frames * (BOOKS + 1) }, code);
    return this.lastCodes;
  }
}

export function codesOf(flavour: number): VoiceCodes {
  const data = Uint16Array.from({ length: 20 * BOOKS }, (_, i) => (i * flavour) % 1024);
  return { frames: 20, books: BOOKS, data };
}

function preset(name: string, flavour: number, pitchHz?: number): Preset {
  const codes = codesOf(flavour);
  const description = `Voice of ${name}`;
  return { name, description, language: "en", transcript: "", pitchHz, codes };
}

/** A model of which only the parts that concern voices work. */
export function fakeModel(overrides: Partial<Model> = {}): Model {
  const presets = new Map(
    [preset("clara", 3, 170.2), preset("Ørsted", 5)].map((it) => [it.name, it]),
  );
  const model = {
    family: "moss_tts_nano",
    name: "Test model",
    presets,
    defaultVoice: "clara",
    limits: { maxReferenceFrames: 125 },
    capabilities: { languages: ["en"], cloning: true, instructions: false, speed: false },
    audio: { framesPerSecond: FRAMES_PER_SECOND },
    voice: (name: string | undefined) => {
      const codes = presets.get(name ?? "")?.codes;
      return codes === undefined ? { kind: "none" } : { kind: "clone", codes };
    },
    ...overrides,
  };
  return model as Model;
}

export const KEY: CodesKey = { family: "moss_tts_nano", codec: "abc", recipe: "1" };

/** A voice to store; the sample is `size` bytes that depend on `flavour`. */
export function draft(name: string, flavour = 1, size = 3000): VoiceDraft {
  const sample = Buffer.alloc(size, `${flavour}-`);
  return {
    name,
    consent: "yes",
    origin: "upload",
    durationSeconds: 2,
    sampleRate: 16_000,
    loudnessLufs: -20,
    mimeType: "audio/wav",
    sha256: sha256(sample),
    sample,
    codes: codesOf(flavour),
    codesKey: KEY,
  };
}

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
}

/** An empty folder that is deleted when its owner is disposed of. */
export async function temporaryFolder(): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), "sonant-voices-"));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
