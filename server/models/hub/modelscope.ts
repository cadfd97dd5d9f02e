/** ModelScope: its API lists and delivers; each file has a SHA-256. */
import { z } from "zod";
import type { HubClient } from "./client.ts";
import { HubError } from "./errors.ts";
import { pathBelow } from "./paths.ts";
import { encodePath, type Snapshot, type Source } from "./source.ts";

export const MODEL_SCOPE = "https://www.modelscope.cn";

const about = z.object({ Data: z.object({ License: z.string().nullish() }) });

const listing = z.object({
  Data: z.object({
    Files: z.array(
      z.object({
        Type: z.string(),
        Path: z.string(),
        Size: z.number().int().nonnegative(),
        Sha256: z
          .string()
          .regex(/^([0-9a-f]{64})?$/)
          .nullish(),
      }),
    ),
    LatestCommitter: z
      .object({ Id: z.string().optional(), ShortId: z.string().optional() })
      .nullish(),
  }),
});

export class ModelScope implements Source {
  readonly name = "modelscope";
  readonly #client: HubClient;

  constructor(client: HubClient) {
    this.#client = client;
  }

  async snapshot(repository: string, revision = "master", signal?: AbortSignal): Promise<Snapshot> {
    const { base } = this.#client;
    const api = `${base}/api/v1/models/${encodePath(repository)}`;
    const query = `Revision=${encodeURIComponent(revision)}`;
    const card = this.#parse(about, (await this.#client.json(api, signal)).value, repository);
    const { value } = await this.#client.json(`${api}/repo/files?${query}&Recursive=true`, signal);
    const { Files, LatestCommitter } = this.#parse(listing, value, repository).Data;
    const where = `the listing of ${repository} at ${this.#client.endpoint.host}`;
    const files = Files.map(({ Type, Path, Size, Sha256 }) => ({
      isFile: Type === "blob",
      path: pathBelow("", Path, where),
      size: Size,
      url: `${api}/repo?${query}&FilePath=${encodeURIComponent(Path)}`,
      ...(Sha256 ? { sha256: Sha256 } : {}),
    }));
    return {
      repository,
      revision,
      // The long name is often left empty there.
      commit: LatestCommitter?.Id || LatestCommitter?.ShortId || revision,
      licence: card.Data.License?.toLowerCase() || undefined,
      files: files.filter(({ isFile }) => isFile).map(({ isFile: _, ...file }) => file),
    };
  }

  #parse<T>(schema: z.ZodType<T>, value: unknown, repository: string): T {
    const { success, data, error } = schema.safeParse(value);
    if (success) return data;
    const [issue] = error.issues;
    throw new HubError(
      "listing_invalid",
      `the listing of ${repository} at ${this.#client.endpoint.host} is not one of ModelScope (${issue?.path.join(".")}: ${issue?.message})`,
    );
  }
}
