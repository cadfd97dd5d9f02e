/** What the HTTP door is given by the composition root. Contracts only. */
import type { FastifyBaseLogger } from "fastify";
import type { BuildInfo } from "../config/build-info.ts";
import type { Config } from "../config/config.ts";
import type { Models } from "../house/types.ts";
import type { Metrics } from "../metrics/metrics.ts";
import type { Access } from "./access.ts";
import type { PageHandler } from "./pages.ts";

export interface HttpDeps {
  /** Of the server; what belongs to a model is read off the model. */
  readonly config: Config;
  readonly models: Models;
  readonly metrics: Pick<Metrics, "text" | "contentType" | "rejected" | "encoded">;
  /** Who may call, and how often. */
  readonly access: Access;
  readonly build: BuildInfo;
  /** Absent: nothing is logged. */
  readonly logger?: FastifyBaseLogger;
  /** Answers requests for pages; absent: the API alone. */
  readonly pages?: PageHandler | undefined;
}
