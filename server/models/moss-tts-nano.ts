/**
 * The MOSS-TTS-Nano family: the official checkpoint, our starter, and whatever else has this
 * architecture. Reads the folder, checks it, and turns segments into prompt rows.
 */
import { basename, join } from "node:path";
import { Tokenizer } from "../text/tokenizer.ts";
import { ModelError } from "./errors.ts";
import { frameCap } from "./frame-cap.ts";
import {
  CODEC_MODEL_TYPE,
  LM_MODEL_TYPE,
  type NanoConfig,
  readNanoConfig,
} from "./moss-tts-nano-config.ts";
import { PromptBuilder } from "./moss-tts-nano-prompt.ts";
import { loadPresets } from "./presets.ts";
import { type ModelSettings, readSettings } from "./settings.ts";
import type {
  Model,
  ModelAdapter,
  Preset,
  SegmentPlan,
  SegmentRequest,
  VoicePrompt,
} from "./types.ts";

/** What the official runtimes use (spec 5.2); their 19 languages (spec 4.1). */
const DEFAULTS: Omit<ModelSettings, "name"> = {
  description: "MOSS-TTS-Nano",
  languages: "zh en de es fr ja it hu ko ru fa ar pl pt cs da sv el tr".split(" "),
  defaultVoice: undefined,
  sampling: {
    textTemperature: 1,
    textTopK: 50,
    textTopP: 1,
    audioTemperature: 0.8,
    audioTopK: 25,
    audioTopP: 0.95,
    audioRepetitionPenalty: 1.2,
  },
  limits: {
    segmentTokens: 75,
    segmentWords: 60,
    firstSegmentTokens: 24,
    maxFrames: 375,
    maxReferenceFrames: 375,
  },
};

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
  readonly family = LM_MODEL_TYPE;
  readonly name: string;
  readonly description: string;
  readonly defaultVoice: string | undefined;
  readonly sampling: Model["sampling"];
  readonly limits: Model["limits"];
  readonly capabilities: Model["capabilities"];
  readonly audio: Model["audio"];
  readonly #config: NanoConfig;
  readonly #prompt: PromptBuilder;
  readonly #voices = new Map<string, VoicePrompt>();

  constructor(
    readonly folder: string,
    readonly tokenizer: Tokenizer,
    readonly presets: ReadonlyMap<string, Preset>,
    config: NanoConfig,
    settings: ModelSettings,
  ) {
    this.#config = config;
    this.#prompt = new PromptBuilder(tokenizer, config.ids, config.books);
    for (const { name, codes } of presets.values())
      this.#voices.set(name, { kind: "clone", codes });
    this.name = settings.name;
    this.description = settings.description;
    this.sampling = settings.sampling;
    this.limits = settings.limits;
    this.audio = config.audio;
    this.capabilities = {
      languages: settings.languages,
      cloning: true,
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

/** The `model_type` of a parsed config, whatever it is. */
const modelType = (config: unknown): unknown =>
  typeof config === "object" && config !== null
    ? (config as { model_type?: unknown }).model_type
    : undefined;

export const mossTtsNano: ModelAdapter = {
  family: LM_MODEL_TYPE,

  recognises: (lmConfig, codecConfig) =>
    modelType(lmConfig) === LM_MODEL_TYPE && modelType(codecConfig) === CODEC_MODEL_TYPE,

  async load(folder) {
    const config = await readNanoConfig(folder);
    const settings = await readSettings(folder, { ...DEFAULTS, name: basename(folder) });
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
    return new NanoModel(folder, tokenizer, presets, config, settings);
  },
};
