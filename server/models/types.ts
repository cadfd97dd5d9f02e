/** What the rest of the server knows of a model, whatever its family. Contracts only. */

import type { SegmentLimits } from "../text/segment.ts";
import type { Tokenizer } from "../text/tokenizer.ts";

/** Audio codes of a voice: `frames` rows of `books` codes, row by row. */
export interface VoiceCodes {
  readonly frames: number;
  readonly books: number;
  readonly data: Uint16Array;
}

/** How a segment is to sound: like a reference, as the continuation of one, or as the model pleases. */
export type VoicePrompt =
  | { readonly kind: "none" }
  | { readonly kind: "clone"; readonly codes: VoiceCodes }
  | { readonly kind: "continue"; readonly codes: VoiceCodes; readonly transcript: string };

/** A voice that comes with the model: one of `voices/*.json`, or the one that was trained into it. */
export interface Preset {
  readonly name: string;
  readonly description: string;
  /** Two-letter code of the language it was recorded in; empty if unknown. */
  readonly language: string;
  /** What the reference says; empty if unknown. */
  readonly transcript: string;
  /** Median pitch of the reference, in hertz, if it was measured. */
  readonly pitchHz?: number | undefined;
  /** Undefined: the model speaks with this voice by itself. */
  readonly codes: VoiceCodes | undefined;
}

/** Sampling of one generation (spec 5.1). A top-k of 0 and a top-p of 1 switch the filter off. */
export interface Sampling {
  readonly textTemperature: number;
  readonly textTopK: number;
  readonly textTopP: number;
  readonly audioTemperature: number;
  readonly audioTopK: number;
  readonly audioTopP: number;
  readonly audioRepetitionPenalty: number;
}

export interface ModelLimits extends SegmentLimits {
  /** Most frames of one generation. */
  readonly maxFrames: number;
  /** Longest reference of a cloned voice, in frames. */
  readonly maxReferenceFrames: number;
}

export interface ModelCapabilities {
  /** Two-letter codes the model was trained on. */
  readonly languages: readonly string[];
  readonly cloning: boolean;
  readonly instructions: boolean;
  readonly speed: boolean;
}

export interface AudioFormat {
  /** Samples per second and channel. */
  readonly sampleRate: number;
  readonly channels: number;
  /** Samples of one channel in a frame. */
  readonly samplesPerFrame: number;
  readonly framesPerSecond: number;
}

export interface SegmentRequest {
  /** Spoken text of one segment. */
  readonly text: string;
  /** Name of a preset, or a prompt. Left out: the model's default voice. */
  readonly voice?: string | VoicePrompt;
  /** A lower cap than the one that follows from the text, in frames. */
  readonly maxFrames?: number;
}

/** What the engine needs to generate one segment. Rows are `rowWidth` numbers each. */
export interface SegmentPlan {
  /** Names the prefix: equal keys, equal rows. The engine keeps the prefix's state under it. */
  readonly prefixKey: string;
  readonly prefixRows: Int32Array;
  readonly textRows: Int32Array;
  readonly rowWidth: number;
  /** Cap on generated frames. Reaching it means that the audio was cut and has to be reported. */
  readonly maxFrames: number;
}

/** A model folder, read and checked, without its weights. */
export interface Model {
  readonly family: string;
  readonly folder: string;
  readonly name: string;
  readonly description: string;
  readonly tokenizer: Tokenizer;
  readonly presets: ReadonlyMap<string, Preset>;
  /** Name of the preset that speaks when none is asked for; undefined if the model has no presets. */
  readonly defaultVoice: string | undefined;
  readonly sampling: Sampling;
  readonly limits: ModelLimits;
  readonly capabilities: ModelCapabilities;
  readonly audio: AudioFormat;
  /** Tokens of a spoken text, for the segmenter's budget. */
  countTokens(text: string): number;
  /** @throws ModelError `request_invalid` if there is no such voice */
  voice(name: string | undefined): VoicePrompt;
  /** @throws ModelError `request_invalid` if the text has no tokens or the voice does not fit */
  planSegment(request: SegmentRequest): SegmentPlan;
}

/** What is known of a model folder before its family is: parsed files, and the names of those in `lm/`. */
export interface FolderFacts {
  /** `lm/config.json` and `codec/config.json`. */
  readonly lm: unknown;
  readonly codec: unknown;
  /** Names of the files in `lm/`, since some trainers mark what they made by a file of their own. */
  readonly lmFiles: ReadonlySet<string>;
}

/** One model family. Adding one is a file with this shape and a line in the registry (docs/add-a-model-family.md). */
export interface ModelAdapter {
  /** Lower-case letters, digits and `_`: the word that `pipeline` of a deploy file and `family` of sonant.json take. */
  readonly family: string;
  /** True for folders of this family and for no others'; must not throw, whatever the files hold. */
  recognises(folder: FolderFacts): boolean;
  /** @throws ModelError naming the field that does not fit, TokenizerError for a broken tokenizer */
  load(folder: string): Promise<Model>;
}
