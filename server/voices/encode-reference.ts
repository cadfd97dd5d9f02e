/**
 * From the bytes of a recording to the codes of a voice: decode, prepare, encode. Owns how references are prepared for
 * the model at hand, and the key that tells codes made in another way apart. Keeps nothing.
 */
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { decodeAudio } from "../audio/decode.ts";
import { integratedLoudness } from "../audio/loudness.ts";
import { prepareReference, RECOMMENDED_WINDOW, type ReferenceWarning } from "../audio/reference.ts";
import type { Model, VoiceCodes } from "../models/types.ts";
import { Gate } from "./concurrency.ts";

/** The part of the engine that is needed here. */
export interface ReferenceCodec {
  readonly info: {
    readonly lm: { readonly nVq: number } | null;
    readonly codec: { readonly nCodebooks: number } | null;
  };
  encode(
    pcm: Float32Array,
    channels: number,
    sampleRate: number,
    options: { readonly signal?: AbortSignal | undefined },
  ): Promise<Int32Array>;
}

/** What codes depend on beside the recording. Codes with another key have to be made again. */
export interface CodesKey {
  /** Model family. */
  readonly family: string;
  /** Fingerprint of the codec's files. */
  readonly codec: string;
  /** How the recording was prepared. */
  readonly recipe: string;
}

/** A recording that was accepted as the reference of a voice. */
export interface EncodedReference {
  readonly codes: VoiceCodes;
  /** SHA-256 of the recording's bytes, in hex. */
  readonly sha256: string;
  /** Length of the whole recording, before silence was cut off. */
  readonly durationSeconds: number;
  /** Hz, as stored in the file. */
  readonly sampleRate: number;
  /** Loudness of the stretch that was used; null if it is too short to be measured. */
  readonly loudnessLufs: number | null;
  readonly warnings: readonly ReferenceWarning[];
}

/** Longest recording that is accepted, in seconds. */
const MAX_SECONDS = 30;
/** Decoded recordings are large; more than these are not held at once. */
const AT_ONCE = 2;
/** Changes when references are prepared in another way. */
const RECIPE_VERSION = 1;

type Window = { readonly minSeconds: number; readonly maxSeconds: number } | undefined;

export class ReferenceEncoder {
  readonly key: CodesKey;
  readonly #codec: ReferenceCodec;
  readonly #maxFrames: number;
  readonly #window: Window;
  readonly #gate = new Gate(AT_ONCE);

  /** @param fingerprint of the codec's files, see `codecFingerprint` */
  constructor(
    codec: ReferenceCodec,
    model: Pick<Model, "family" | "limits" | "audio">,
    fingerprint: string,
  ) {
    this.#codec = codec;
    this.#maxFrames = model.limits.maxReferenceFrames;
    // A model that takes a reference of full length gets all of it; another one the stretch that suits it best.
    const modelSeconds = this.#maxFrames / model.audio.framesPerSecond;
    this.#window =
      modelSeconds >= MAX_SECONDS
        ? undefined
        : {
            minSeconds: Math.min(RECOMMENDED_WINDOW.minSeconds, modelSeconds),
            maxSeconds: Math.min(RECOMMENDED_WINDOW.maxSeconds, modelSeconds),
          };
    const { minSeconds, maxSeconds } = this.#window ?? { minSeconds: 0, maxSeconds: MAX_SECONDS };
    const recipe = `${RECIPE_VERSION}:${minSeconds}-${maxSeconds}:${this.#maxFrames}`;
    this.key = { family: model.family, codec: fingerprint, recipe };
  }

  /**
   * Decodes and encodes a recording.
   * @throws AudioError if it cannot be read or cannot carry a voice, EngineError if it cannot be encoded, or the
   * signal's reason
   */
  encode(bytes: Uint8Array, signal?: AbortSignal): Promise<EncodedReference> {
    return this.#gate.run(() => this.#encode(bytes, signal), signal);
  }

  async #encode(bytes: Uint8Array, signal?: AbortSignal): Promise<EncodedReference> {
    // A copy that is the decoder's to hand to its thread; `bytes` is stored later on.
    const decoded = await decodeAudio(new Uint8Array(bytes), { signal });
    const { pcm, channels, sampleRate, report } = prepareReference(decoded, {
      level: true,
      ...(this.#window === undefined ? {} : { window: this.#window }),
    });
    const loudness = integratedLoudness(pcm, channels, sampleRate) - report.gainDb;
    const codes = await this.#codec.encode(pcm, channels, sampleRate, { signal });
    return {
      codes: this.#pack(codes),
      sha256: sha256(bytes),
      durationSeconds: decoded.pcm.length / decoded.channels / sampleRate,
      sampleRate,
      loudnessLufs: Number.isFinite(loudness) ? loudness : null,
      warnings: report.warnings,
    };
  }

  /** Rows of the codec as rows of the model, which may use fewer codebooks. */
  #pack(codes: Int32Array): VoiceCodes {
    const { lm, codec } = this.#codec.info;
    const width = codec?.nCodebooks ?? 0;
    const books = Math.min(lm?.nVq ?? width, width);
    const frames = Math.min(Math.floor(codes.length / width), this.#maxFrames);
    const data = new Uint16Array(frames * books);
    for (let t = 0; t < frames; t++) {
      data.set(codes.subarray(t * width, t * width + books), t * books);
    }
    return { frames, books, data };
  }
}

/** SHA-256 in hex. */
export function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

/** SHA-256 over names and contents of all files in a codec's folder, in hex: equal ones give equal codes. */
export async function codecFingerprint(folder: string): Promise<string> {
  const hash = createHash("sha256");
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  for (const name of names.sort()) {
    hash.update(`${name}\0`);
    for await (const part of createReadStream(join(folder, name))) hash.update(part as Buffer);
  }
  return hash.digest("hex");
}
