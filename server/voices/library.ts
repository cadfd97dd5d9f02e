/**
 * The voices of a server, behind one door: those that come with the model, those that were uploaded, prompts, and
 * references that come with a request. Owns the caches of codes; knows nothing of HTTP, sockets or text.
 */
import type { Model, VoiceCodes, VoicePrompt } from "../models/types.ts";
import { ApiError } from "../protocol/envelope.ts";
import { LIMITS, type Limits } from "../protocol/limits.ts";
import type { VoicePromptCreated } from "../protocol/voice-prompts.ts";
import type { VoiceEdit, VoiceUpload } from "../protocol/voice-upload.ts";
import type { UploadedVoice, VoiceCatalogue, VoiceDetail } from "../protocol/voices.ts";
import { voiceCatalogue } from "../protocol/voices.ts";
import { uploadedVoice } from "./describe.ts";
import { type EncodedReference, type ReferenceEncoder, sha256 } from "./encode-reference.ts";
import { referenceError } from "./errors.ts";
import { checkNewName, voiceKey } from "./names.ts";
import { PresetVoices } from "./preset-voices.ts";
import { isPromptId, type StoredPrompt, type VoicePrompts } from "./prompts.ts";
import { type CacheLimits, SharedCache } from "./reference-cache.ts";
import type { ReferenceSource } from "./reference-source.ts";
import type { StoredVoice, VoiceOrigin, VoiceStore } from "./store.ts";

export interface VoiceLibraryParts {
  readonly model: Model;
  readonly store: VoiceStore;
  readonly encoder: ReferenceEncoder;
  readonly source: ReferenceSource;
  readonly prompts: VoicePrompts;
  readonly limits?: Limits;
  /** Names that no upload may take beside those of the model's own voices: of the voices of other models. */
  readonly reserved?: (() => readonly string[]) | undefined;
  /** For each of two caches: codes of references, and codes of uploaded voices. */
  readonly cache?: CacheLimits;
}

/** What a request says about its voice. A reference wins over a name, which is then a mere label. */
export interface VoiceChoice {
  readonly voice?: string | { readonly id: string } | undefined;
  /** URL, data URL, base64, or the id of a prompt. */
  readonly refAudio?: string | undefined;
}

/** A voice that is ready to speak. Stays good when the voice is deleted or replaced. */
export interface ResolvedVoice {
  /** `model`: the model has no voices and none was named, so it speaks as it pleases. */
  readonly kind: "preset" | "uploaded" | "reference" | "prompt" | "model";
  readonly prompt: VoicePrompt;
  /** For people and logs; null for references and prompts without a name. */
  readonly name: string | null;
}

/** A recording as it was uploaded; its content decides what it is, the type is only remembered. */
export interface Clip {
  readonly bytes: Uint8Array;
  readonly mimeType: string;
  readonly origin?: VoiceOrigin;
}

/** Codes of a 30 s reference take 12 kB. */
const DEFAULT_CACHE: CacheLimits = { entries: 512, bytes: 8 * 1024 * 1024 };
const NAMES_IN_MESSAGES = 20;

export class VoiceLibrary {
  readonly #model: Model;
  readonly #store: VoiceStore;
  readonly #encoder: ReferenceEncoder;
  readonly #source: ReferenceSource;
  readonly #prompts: VoicePrompts;
  readonly #limits: Limits;
  readonly #reserved: () => readonly string[];
  readonly #presets: PresetVoices;
  /** By hash of the recording. */
  readonly #references: SharedCache<EncodedReference>;
  /** By id of the uploaded voice. */
  readonly #uploaded: SharedCache<VoiceCodes>;
  readonly #watchers = new Set<() => void>();

  constructor(parts: VoiceLibraryParts) {
    const { model, store, encoder, source, prompts } = parts;
    this.#model = model;
    this.#store = store;
    this.#encoder = encoder;
    this.#source = source;
    this.#prompts = prompts;
    this.#limits = parts.limits ?? LIMITS;
    this.#reserved = parts.reserved ?? (() => []);
    this.#presets = new PresetVoices(model);
    const cache = parts.cache ?? DEFAULT_CACHE;
    this.#references = new SharedCache(cache, ({ codes }) => codes.data.byteLength);
    this.#uploaded = new SharedCache(cache, ({ data }) => data.byteLength);
  }

  /** Keys of names that belong to voices of models. */
  get #taken(): ReadonlySet<string> {
    return new Set([...this.#presets.keys, ...this.#reserved().map(voiceKey)]);
  }

  /** Entries and bytes of the caches, for metrics. */
  get usage() {
    return {
      references: this.#references.usage,
      uploaded: this.#uploaded.usage,
      prompts: this.#prompts.size,
    };
  }

  /** Calls back after each change of the uploaded voices that came through here; returns what ends that. */
  onChange(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  async list(): Promise<VoiceCatalogue> {
    const voices = await this.#store.list();
    return voiceCatalogue(this.#presets.list(), voices.map(uploadedVoice));
  }

  /**
   * One voice by name or id.
   * @throws ApiError `voice_not_found`
   */
  async get(nameOrId: string): Promise<VoiceDetail> {
    const preset = this.#presets.describe(nameOrId);
    if (preset !== undefined) return { kind: "preset", ...preset };
    return { kind: "uploaded", ...uploadedVoice(await this.#stored(nameOrId)) };
  }

  /**
   * Finds or makes the voice that a request asks for.
   * @throws ApiError `invalid_voice`, `invalid_reference`, `reference_unreachable`, `not_implemented`, `overloaded`,
   * `voices_unavailable` or `engine_dead`; the signal's reason
   */
  async resolve(choice: VoiceChoice, signal?: AbortSignal): Promise<ResolvedVoice> {
    signal?.throwIfAborted();
    const voice = typeof choice.voice === "object" ? choice.voice.id : choice.voice;
    if (voice?.trim() === "") {
      throw new ApiError("invalid_voice", `Invalid voice '${voice}'`, { param: "voice" });
    }
    if (choice.refAudio !== undefined) return this.#fromReference(choice.refAudio, signal);
    if (voice !== undefined && isPromptId(voice)) {
      return fromPrompt(await this.#prompts.get(voice, "voice"));
    }
    return this.#presets.resolve(voice) ?? this.#fromStore(voice ?? "", signal);
  }

  /**
   * Stores a voice under a name; an uploaded voice of that name is replaced, and keeps speaking if anything is wrong
   * with the new one.
   * @param form checked by `checkUpload`
   * @throws ApiError `invalid_value`, `invalid_reference`, `upload_too_large`, `voice_limit_reached`, `not_implemented`,
   * `overloaded` or `engine_dead`; the signal's reason
   */
  async upload(
    form: VoiceUpload,
    clip: Clip | undefined,
    signal?: AbortSignal,
  ): Promise<UploadedVoice> {
    const name = checkNewName(form.name, this.#taken, this.#limits);
    if (clip === undefined) {
      const message = "'speaker_embedding' needs an embedding-based model; send 'audio_sample'";
      throw new ApiError("not_implemented", message, { param: "speaker_embedding" });
    }
    const { bytes, mimeType, origin = "upload" } = clip;
    if (bytes.length > this.#limits.upload_bytes) {
      const megabytes = Math.floor(this.#limits.upload_bytes / 2 ** 20);
      const message = `File size exceeds maximum limit of ${megabytes}MB`;
      throw new ApiError("upload_too_large", message, { param: "audio_sample" });
    }
    const { codes, warnings: _, ...measured } = await this.#encode(bytes, "audio_sample", signal);
    signal?.throwIfAborted();
    const stored = await this.#store.put({
      ...measured,
      name,
      consent: form.consent,
      refText: form.ref_text,
      speakerDescription: form.speaker_description,
      language: form.language,
      origin,
      mimeType,
      sample: bytes,
      codes,
      codesKey: this.#encoder.key,
    });
    this.#changed();
    return uploadedVoice(stored);
  }

  /**
   * Changes the name, description or language of an uploaded voice.
   * @param edit checked by `checkChange`
   * @throws ApiError `voice_not_found`, `invalid_value` if it cannot have that name, or `voice_name_taken`
   */
  async update(nameOrId: string, edit: VoiceEdit): Promise<VoiceDetail> {
    const { id } = await this.#stored(nameOrId);
    const name = edit.name && checkNewName(edit.name, this.#taken, this.#limits);
    const stored = await this.#store.update(id, name === undefined ? edit : { ...edit, name });
    this.#changed();
    return { kind: "uploaded", ...uploadedVoice(stored) };
  }

  /** Deletes an uploaded voice; false if there is none. Presets cannot be deleted. */
  async delete(nameOrId: string): Promise<boolean> {
    if (this.#presets.keys.has(voiceKey(nameOrId))) return false;
    const isDeleted = (await this.#store.delete(nameOrId)) !== undefined;
    if (isDeleted) this.#changed();
    return isDeleted;
  }

  /**
   * The recording of an uploaded voice, for listening.
   * @throws ApiError `voice_not_found`, or `invalid_voice` if it was damaged
   */
  async sample(nameOrId: string): Promise<Clip> {
    const voice = await this.#stored(nameOrId);
    return { bytes: await this.#store.sample(voice.id), mimeType: voice.mimeType };
  }

  /**
   * Encodes a reference once and gives it an id that is good wherever a voice or a reference is asked for.
   * @throws ApiError as `resolve` does for references; the signal's reason
   */
  async createPrompt(
    request: { readonly ref_audio: string; readonly ref_text?: string; readonly name?: string },
    signal?: AbortSignal,
  ): Promise<VoicePromptCreated> {
    const content = await this.#source.read(request.ref_audio, signal);
    const reference =
      content.kind === "prompt"
        ? (await this.#prompts.get(content.id, "ref_audio")).reference
        : await this.#encode(content.bytes, "ref_audio", signal);
    const { id, expiresAt } = await this.#prompts.create(reference, {
      ...(request.name === undefined ? {} : { name: request.name }),
      ...(request.ref_text === undefined ? {} : { refText: request.ref_text }),
    });
    const { frames } = reference.codes;
    return {
      id,
      object: "audio.voice_prompt",
      frames,
      duration_s: frames / this.#model.audio.framesPerSecond,
      content_sha256: reference.sha256,
      expires_at: expiresAt,
    };
  }

  /**
   * An uploaded voice. One that has the name of a preset, from before the model had it, is found by its id alone.
   * @throws ApiError `voice_not_found`
   */
  async #stored(nameOrId: string): Promise<StoredVoice> {
    const isPreset = this.#presets.keys.has(voiceKey(nameOrId));
    const voice = isPreset ? undefined : await this.#store.find(nameOrId);
    if (voice !== undefined) return voice;
    const message = `Voice '${nameOrId}' not found`;
    throw new ApiError("voice_not_found", message, { param: "voice" });
  }

  async #fromReference(reference: string, signal?: AbortSignal): Promise<ResolvedVoice> {
    const content = await this.#source.read(reference, signal);
    if (content.kind === "prompt") {
      return fromPrompt(await this.#prompts.get(content.id, "ref_audio"));
    }
    const { codes } = await this.#encode(content.bytes, "ref_audio", signal);
    return { kind: "reference", prompt: { kind: "clone", codes }, name: null };
  }

  async #fromStore(nameOrId: string, signal?: AbortSignal): Promise<ResolvedVoice> {
    try {
      const voice = await this.#stored(nameOrId);
      try {
        return await this.#ready(voice, signal);
      } catch (error) {
        // Replaced between the two looks at the store: then the one that took its place.
        const newer = isGone(error) ? await this.#stored(nameOrId) : voice;
        if (newer.id === voice.id) throw error;
        return await this.#ready(newer, signal);
      }
    } catch (error) {
      // Never there, or deleted between the two looks.
      throw isGone(error) ? await this.#unknown(nameOrId) : error;
    }
  }

  async #ready(voice: StoredVoice, signal?: AbortSignal): Promise<ResolvedVoice> {
    const load = (shared: AbortSignal) => this.#codesOf(voice, shared);
    const codes = await this.#uploaded.get(voice.id, load, signal);
    return { kind: "uploaded", prompt: { kind: "clone", codes }, name: voice.name };
  }

  /** Codes of an uploaded voice; made again if the model is another one than at the time of the upload. */
  async #codesOf(voice: StoredVoice, signal: AbortSignal): Promise<VoiceCodes> {
    const stored = await this.#store.codes(voice.id, this.#encoder.key);
    if (stored !== undefined) return stored;
    const { codes } = await this.#encode(await this.#store.sample(voice.id), "voice", signal);
    await this.#store.putCodes(voice.id, this.#encoder.key, codes);
    return codes;
  }

  async #encode(bytes: Uint8Array, field: string, signal?: AbortSignal): Promise<EncodedReference> {
    if (!this.#model.capabilities.cloning) {
      const message = `${this.#model.name} cannot speak like a recording; choose one of its voices`;
      throw new ApiError("not_implemented", message, { param: field });
    }
    try {
      const make = (shared: AbortSignal) => this.#encoder.encode(bytes, shared);
      return await this.#references.get(sha256(bytes), make, signal);
    } catch (error) {
      throw referenceError(error, field, signal);
    }
  }

  #changed(): void {
    for (const watcher of this.#watchers) watcher();
  }

  async #unknown(voice: string): Promise<ApiError> {
    const { voices } = await this.list();
    const names = voices.slice(0, NAMES_IN_MESSAGES).join(", ") || "none";
    const rest = voices.length > NAMES_IN_MESSAGES ? ", …" : "";
    const family = this.#model.family.replaceAll("_", "-");
    const shown = Array.from(voice).slice(0, this.#limits.voice_name_chars).join("");
    const message = `Invalid voice: unknown voice '${shown}' for ${family}. Available: ${names}${rest}`;
    return new ApiError("invalid_voice", message, { param: "voice" });
  }
}

function isGone(error: unknown): boolean {
  return error instanceof ApiError && error.code === "voice_not_found";
}

function fromPrompt({ reference, name }: StoredPrompt): ResolvedVoice {
  const prompt = { kind: "clone", codes: reference.codes } as const;
  return { kind: "prompt", prompt, name: name ?? null };
}
