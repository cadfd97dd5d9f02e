/** What a place that keeps models tells about a repository. Contracts only; each place has a file of its own. */
import type { ExpectedContent } from "./digest.ts";

export interface RemoteFile extends ExpectedContent {
  /** Relative to the repository; checked. */
  readonly path: string;
  readonly url: string;
}

/** A repository at one moment. */
export interface Snapshot {
  /** OWNER/NAME */
  readonly repository: string;
  /** As asked for: a branch, a tag or a commit. */
  readonly revision: string;
  /** What the revision stood for; the revision itself where the place does not say. */
  readonly commit: string;
  /** Identifier such as "apache-2.0"; undefined where none is stated. */
  readonly licence: string | undefined;
  readonly files: readonly RemoteFile[];
}

export const SOURCES = ["huggingface", "modelscope"] as const;
export type SourceName = (typeof SOURCES)[number];

export interface Source {
  readonly name: SourceName;
  /**
   * Lists a repository.
   * @param revision left out: the place's main branch
   * @throws PassingError, or HubError: also `listing_invalid` for names that leave the folder
   */
  snapshot(repository: string, revision?: string, signal?: AbortSignal): Promise<Snapshot>;
}

/** A path in an address: each part encoded, the slashes kept. */
export function encodePath(path: string): string {
  return path.split("/").map(encodeURIComponent).join("/");
}
