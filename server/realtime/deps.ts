/** What the realtime doors are given by the composition root. Contracts only. */
import type { Cluster } from "../cluster/cluster.ts";
import type { HttpDeps } from "../http/deps.ts";
import type { RecentFigures } from "../metrics/metrics.ts";

/** The same as the HTTP door: voices, settings and access are one for all doors. */
export interface RealtimeDeps extends Omit<HttpDeps, "metrics"> {
  readonly metrics: HttpDeps["metrics"] & {
    sessionOpened(): void;
    sessionClosed(): void;
    sessionResumed(result: "resumed" | "unavailable" | "taken_over"): void;
    recent(): RecentFigures;
  };
  /** What joins this server with others; absent: it is alone. */
  readonly cluster?: Cluster | undefined;
}

/** Where the messages of a session go; a session outlives the connection if it may be resumed. */
export interface Sink {
  message(message: object): void;
  audio(bytes: Uint8Array): void;
  /** Resolves when the connection has room again, at once if it has. */
  room(): Promise<void>;
}
