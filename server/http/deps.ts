/** What the HTTP door is given by the composition root. Contracts only. */
import type { FastifyBaseLogger } from "fastify";
import type { BuildInfo } from "../config/build-info.ts";
import type { Config } from "../config/config.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { EngineFacts } from "../protocol/documents.ts";
import type { TaskType } from "../protocol/speech-fields.ts";
import type { SpeechService } from "../speech/types.ts";
import type { VoiceLibrary } from "../voices/library.ts";
import type { Access } from "./access.ts";
import type { PageHandler } from "./pages.ts";

/** What a model family knows of a request beyond text and voice. Left out: nothing of it. */
export interface FamilyAbilities {
  /** Name of the family in messages. */
  readonly label?: string;
  /** Names of languages that the model has to be told. */
  readonly languages?: readonly string[];
  readonly tasks?: readonly TaskType[];
  readonly embeddingDim?: number;
}

export interface HttpDeps {
  readonly config: Config;
  readonly service: SpeechService;
  readonly voices: VoiceLibrary;
  readonly metrics: Pick<Metrics, "text" | "contentType" | "rejected" | "encoded">;
  /** Who may call, and how often. */
  readonly access: Access;
  readonly build: BuildInfo;
  /** Where the engine runs: cpu or cuda:0; what was configured while none is loaded and warm. */
  readonly device: () => string;
  /** What was loaded; undefined while no engine is loaded and warm. */
  readonly engine?: (() => EngineFacts | undefined) | undefined;
  readonly abilities?: FamilyAbilities;
  /** Absent: nothing is logged. */
  readonly logger?: FastifyBaseLogger;
  /** Answers requests for pages; absent: the API alone. */
  readonly pages?: PageHandler | undefined;
}
