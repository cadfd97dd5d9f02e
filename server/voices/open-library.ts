/** Builds the library of voices for a model and its engine: what the composition root calls. */
import { join } from "node:path";
import type { Model } from "../models/types.ts";
import { LIMITS, type Limits } from "../protocol/limits.ts";
import { codecFingerprint, type ReferenceCodec, ReferenceEncoder } from "./encode-reference.ts";
import type { FetchPolicy } from "./fetch-guard.ts";
import { FileVoiceStore } from "./file-store.ts";
import { VoiceLibrary, type VoiceLibraryParts } from "./library.ts";
import { type PromptOptions, VoicePrompts } from "./prompts.ts";
import type { CacheLimits } from "./reference-cache.ts";
import { ReferenceSource } from "./reference-source.ts";
import type { VoiceStore } from "./store.ts";

export interface VoiceLibraryOptions {
  readonly model: Model;
  readonly engine: ReferenceCodec;
  /** Where uploaded voices are kept: a folder, which is created if need be, or another kind of store. */
  readonly store: string | VoiceStore;
  readonly limits?: Limits;
  readonly reserved?: VoiceLibraryParts["reserved"];
  /** How http(s) references are fetched, where it is to differ from the standard policy. */
  readonly fetch?: Partial<FetchPolicy>;
  /** Folder for file:// references; absent: they are refused. */
  readonly localFolder?: string | undefined;
  readonly prompts?: PromptOptions;
  readonly cache?: CacheLimits;
  /** Takes sentences about stored voices that cannot be read. */
  readonly log?: (sentence: string) => void;
}

/** Opens the store, clears away what a crash left there, and puts the parts together. */
export async function openVoiceLibrary(options: VoiceLibraryOptions): Promise<VoiceLibrary> {
  const { model, engine, limits = LIMITS, log = () => {}, cache } = options;
  const store =
    typeof options.store === "string"
      ? await FileVoiceStore.open(options.store, { maxVoices: limits.max_uploaded_voices, log })
      : options.store;
  const fingerprint = await codecFingerprint(join(model.folder, "codec"));
  const encoder = new ReferenceEncoder(engine, model, fingerprint);
  return new VoiceLibrary({
    model,
    store,
    encoder,
    source: new ReferenceSource({
      fetch: options.fetch ?? {},
      localFolder: options.localFolder,
      inlineBytes: limits.inline_reference_bytes,
    }),
    prompts: new VoicePrompts({ ...options.prompts, codesKey: encoder.key }),
    limits,
    reserved: options.reserved,
    ...(cache === undefined ? {} : { cache }),
  });
}
