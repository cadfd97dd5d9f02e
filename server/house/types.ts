/** The models of a server as its doors see them: by name, with their states, and held while they are used. Contracts only. */
import type { Config } from "../config/config.ts";
import type { EngineReading } from "../metrics/engine-reading.ts";
import type { Model } from "../models/types.ts";
import type { EngineFacts, ModelStage } from "../protocol/documents.ts";
import type { ApiError } from "../protocol/envelope.ts";
import type { TaskType } from "../protocol/speech-fields.ts";
import type { SpeechService } from "../speech/types.ts";
import type { VoiceLibrary } from "../voices/library.ts";

/** What a model family knows of a request beyond text and voice. Left out: nothing of it. */
export interface FamilyAbilities {
  /** Name of the family in messages. */
  readonly label?: string;
  /** Names of languages that the model has to be told. */
  readonly languages?: readonly string[];
  readonly tasks?: readonly TaskType[];
  readonly embeddingDim?: number;
}

/** A model that can be spoken with: all that a request needs of it. */
export interface Speaker {
  /** Its main name. */
  readonly id: string;
  /** The server's configuration with this model's own part in place. */
  readonly config: Config;
  readonly service: SpeechService;
  readonly voices: VoiceLibrary;
  readonly abilities?: FamilyAbilities | undefined;
}

/** A speaker that stays loaded until it is let go. */
export interface Hold extends Speaker {
  /** Safe to call twice. */
  release(): void;
}

export interface ModelState {
  readonly stage: ModelStage;
  /** Why it failed or is being restarted, in a sentence. */
  readonly reason?: string | undefined;
}

/** A model that the server knows, loaded or not. */
export interface ServedModel {
  readonly id: string;
  /** Whether it speaks for requests that name no model. */
  readonly isDefault: boolean;
  readonly config: Config;
  readonly state: ModelState;
  /** Of its engine; nothing but zeros while it is not loaded. */
  readonly load: SpeechService["load"];
  /** What its folder says; undefined while that cannot be read. */
  readonly model: Model | undefined;
  /** What to throw where it would be needed and is not there. */
  readonly failure: ApiError;
  /** @throws ApiError `model_failed` while its folder cannot be read */
  readonly voices: VoiceLibrary;
  readonly abilities?: FamilyAbilities | undefined;
  /** Where its engine runs: cpu or cuda:0; what was configured while none is loaded. */
  readonly device: string;
  /** What was loaded; undefined while no engine is loaded and warm. */
  readonly engine: EngineFacts | undefined;
  /** Figures of its engine; undefined while none is loaded. */
  readonly reading: EngineReading | undefined;
}

export interface Models {
  /** Never empty; the first one speaks for requests that name no model. */
  readonly all: readonly ServedModel[];
  readonly first: ServedModel;
  /** Of the server as a whole: ready while a request to some model can be served. */
  readonly state: SpeechService["state"];
  /** Sums over the loaded models, and the longest of their waits. */
  readonly load: SpeechService["load"];
  /**
   * The model with a name or alias; the first for none.
   * @throws ApiError `model_not_found`
   */
  named(name: string | undefined): ServedModel;
  /**
   * The model ready to speak, loaded for that if need be; it is not unloaded before it is let go.
   * @throws ApiError `model_not_found`, `model_failed`, `overloaded` or `warming_up` where too many wait or the wait is too
   * long, `shutting_down`; the signal's reason
   */
  hold(name: string | undefined, signal: AbortSignal): Promise<Hold>;
  /**
   * Loads a model, which may mean to unload another.
   * @throws ApiError as `hold` does
   */
  loadNow(name: string, signal: AbortSignal): Promise<ServedModel>;
  /** Lets what the model speaks come to its end, takes nothing new for it, and frees its memory. */
  unload(name: string, signal: AbortSignal): Promise<ServedModel>;
  /** Calls back after each change of the uploaded voices, which all models share; returns what ends that. */
  onVoices(watcher: () => void): () => void;
}
