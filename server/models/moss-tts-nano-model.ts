/**
 * A model of the MOSS-TTS-Nano architecture: what the released checkpoint, our starter and finetunes share. Reads the
 * folder, checks it, and turns segments into prompt rows. Families differ in what they hand to `loadNanoModel`.
 */
import { basename, join } from "node:path";
import { Tokenizer } from "../text/tokenizer.ts";
import { ModelError } from "./errors.ts";
import { frameCap } from "./frame-cap.ts";
import { type NanoConfig, readNanoConfig } from "./moss-tts-nano-config.ts";
import { PromptBuilder } from "./moss-tts-nano-prompt.ts";
import { type PromptStyle, readPromptStyle } from "./moss-tts-nano-style.ts";
import { loadPresets, trainedVoice } from "./presets.ts";
import { type ModelSettings, readSettings, settingsFields } from "./settings.ts";
import type {
  Model,
  ModelLimits,
  Preset,
  SegmentPlan,
  SegmentRequest,
  VoicePrompt,
} from "./types.ts";

/** What a family gives its models where sonant.json says nothing. */
export interface NanoFamily {
  readonly family: string;
  readonly settings: Omit<ModelSettings, "name" | "limits">;
  readonly limits: Omit<ModelLimits, "maxFrames" | "maxReferenceFrames">;
  /** Longest generation and longest reference, in seconds: frames may be of any length. */
  readonly maxSeconds: number;
  readonly style: PromptStyle;
}

/** Template symbols that the vocabulary must hold under the ids of the config (spec 1). */
function checkTokenizer(tokenizer: Tokenizer, config: NanoConfig): void {
  const wrong = (field: string, message: string): never => {
    throw new ModelError("model_invalid", field, `lm/tokenizer.model: ${message}`);
  };
  if (tokenizer.vocabularySize > config.vocabularySize) {
    wrong(
      "gpt2_config.vocab_size",
      `has ${tokenizer.vocabularySize} pieces, the model ${config.vocabularySize}`,
    );
  }
  const pieces: readonly (readonly [string, string, number])[] = [
    ["im_start_token_id", "<|im_start|>", config.ids.imStart],
    ["im_end_token_id", "<|im_end|>", config.ids.imEnd],
    ["audio_start_token_id", "<|audio_start|>", config.ids.audioStart],
    ["audio_end_token_id", "<|audio_end|>", config.ids.audioEnd],
  ];
  for (const [field, piece, id] of pieces) {
    const found = tokenizer.pieceOf(id);
    if (found !== piece) wrong(field, `piece ${id} must be ${piece}; found ${found ?? "none"}`);
  }
}

class NanoModel implements Model {
  readonly name: string;
  readonly description: string;
  readonly defaultVoice: string | undefined;
  readonly sampling: Model["sampling"];
  readonly limits: Model["limits"];
  readonly capabilities: Model["capabilities"];
  readonly audio: Model["audio"];
  readonly #config: NanoConfig;
  readonly #style: PromptStyle;
  readonly #prompt: PromptBuilder;
  readonly #voices = new Map<string, VoicePrompt>();

  constructor(
    readonly family: string,
    readonly folder: string,
    readonly tokenizer: Tokenizer,
    readonly presets: ReadonlyMap<string, Preset>,
    config: NanoConfig,
    settings: ModelSettings,
    style: PromptStyle,
  ) {
    this.#config = config;
    this.#style = style;
    this.#prompt = new PromptBuilder(tokenizer, config.ids, config.books, style);
    for (const { name, codes } of presets.values()) {
      this.#voices.set(name, codes === undefined ? { kind: "none" } : { kind: "clone", codes });
    }
    this.name = settings.name;
    this.description = settings.description;
    this.sampling = settings.sampling;
    this.limits = settings.limits;
    this.audio = config.audio;
    this.capabilities = {
      languages: settings.languages,
      cloning: style.references,
      instructions: false,
      speed: false,
    };
    if (settings.defaultVoice !== undefined && !presets.has(settings.defaultVoice)) {
      const names = [...presets.keys()].join(", ") || "none";
      throw new ModelError(
        "model_invalid",
        "default_voice",
        `sonant.json: default_voice must be one of the presets (${names}); found ${settings.defaultVoice}`,
      );
    }
    this.defaultVoice = settings.defaultVoice ?? presets.keys().next().value;
  }

  countTokens(text: string): number {
    return this.tokenizer.countTokens(text);
  }

  voice(name: string | undefined): VoicePrompt {
    const wanted = name ?? this.defaultVoice;
    if (wanted === undefined) return { kind: "none" };
    const voice = this.#voices.get(wanted);
    if (voice === undefined) {
      const names = [...this.#voices.keys()].join(", ") || "none";
      throw new ModelError(
        "request_invalid",
        "voice",
        `voice must be one of: ${names}; found ${wanted}`,
      );
    }
    return voice;
  }

  planSegment(request: SegmentRequest): SegmentPlan {
    const { text, maxFrames } = request;
    const voice =
      typeof request.voice === "object" ? this.#checked(request.voice) : this.voice(request.voice);
    if (this.countTokens(text) === 0) {
      throw new ModelError("request_invalid", "text", "text must hold something to speak");
    }
    if (maxFrames !== undefined && !(Number.isInteger(maxFrames) && maxFrames >= 1)) {
      throw new ModelError(
        "request_invalid",
        "max_frames",
        `max_frames must be a whole number from 1 to ${this.limits.maxFrames}; found ${maxFrames}`,
      );
    }
    const cap = frameCap(text, this.audio.framesPerSecond, this.limits.maxFrames);
    return {
      ...this.#prompt.build(text, voice),
      rowWidth: this.#prompt.rowWidth,
      maxFrames: Math.min(cap, maxFrames ?? cap),
    };
  }

  /** A prompt from outside: its codes go straight into the embedding tables, so each is checked. */
  #checked(voice: VoicePrompt): VoicePrompt {
    if (voice.kind === "none") return voice;
    if (!this.#style.references) {
      throw new ModelError(
        "request_invalid",
        "voice",
        `voice must be ${this.defaultVoice}, the one that was trained into this model; it follows no reference`,
      );
    }
    const { frames, books, data } = voice.codes;
    const { books: wanted, codebookSize } = this.#config;
    const fail = (allowed: string): never => {
      throw new ModelError("request_invalid", "voice", `voice codes must be ${allowed}`);
    };
    if (books !== wanted) fail(`${wanted} to a frame; found ${books}`);
    const most = this.limits.maxReferenceFrames;
    if (!(Number.isInteger(frames) && frames >= 1 && frames <= most)) {
      fail(`1 to ${most} frames; found ${frames}`);
    }
    if (data.length !== frames * books) fail(`${frames * books} numbers; found ${data.length}`);
    if (data.some((code) => code >= codebookSize)) fail(`from 0 to ${codebookSize - 1}`);
    if (voice.kind === "continue" && voice.transcript.trim() === "") {
      throw new ModelError(
        "request_invalid",
        "ref_text",
        "ref_text must say what the reference says",
      );
    }
    return voice;
  }
}

/**
 * Reads and checks a folder, its weights excepted: those are the engine's.
 * @throws ModelError naming the field that does not fit, TokenizerError for a broken tokenizer
 */
export async function loadNanoModel(folder: string, defaults: NanoFamily): Promise<Model> {
  const config = await readNanoConfig(folder);
  const fields = await settingsFields(folder);
  const maxFrames = Math.round(defaults.maxSeconds * config.audio.framesPerSecond);
  const settings = readSettings(fields, {
    ...defaults.settings,
    name: basename(folder),
    limits: { ...defaults.limits, maxFrames, maxReferenceFrames: maxFrames },
  });
  const style = readPromptStyle(fields, defaults.style);
  const tokenizer = await Tokenizer.fromFile(join(folder, "lm", "tokenizer.model"));
  checkTokenizer(tokenizer, config);
  const presets = await loadPresets(
    folder,
    {
      books: config.books,
      codebookSize: config.codebookSize,
      maxFrames: settings.limits.maxReferenceFrames,
    },
    config.audio.framesPerSecond,
  );
  const voices = style.references ? presets : onlyTrained(presets, settings);
  return new NanoModel(defaults.family, folder, tokenizer, voices, config, settings, style);
}

/** @param presets of the folder, where there may be none */
function onlyTrained(
  presets: ReadonlyMap<string, Preset>,
  settings: ModelSettings,
): ReadonlyMap<string, Preset> {
  if (presets.size > 0) {
    throw new ModelError(
      "model_invalid",
      "prompt.references",
      `sonant.json: prompt.references must be true where voices/ holds voices (${[...presets.keys()].join(", ")}); found false`,
    );
  }
  const voice = trainedVoice(settings);
  return new Map([[voice.name, voice]]);
}
