/** Hugging Face, and mirrors that answer as it does: listings through its API, files at plain addresses. */
import { z } from "zod";
import type { HubClient } from "./client.ts";
import { HubError } from "./errors.ts";
import { isSafePath, pathBelow } from "./paths.ts";
import { encodePath, type RemoteFile, type Snapshot, type Source } from "./source.ts";

export const HUGGING_FACE = "https://huggingface.co";
const MOST_PAGES = 20;

const about = z.object({
  sha: z.string().regex(/^[0-9a-f]{40}$/),
  cardData: z.object({ license: z.string().optional() }).nullish(),
  tags: z.array(z.string()).optional(),
});

const entries = z.array(
  z.object({
    type: z.string(),
    path: z.string(),
    oid: z.string().optional(),
    size: z.number().int().nonnegative().optional(),
    lfs: z
      .object({
        oid: z.string().regex(/^(sha256:)?[0-9a-f]{64}$/),
        size: z.number().int().nonnegative(),
      })
      .nullish(),
  }),
);

export class HuggingFace implements Source {
  readonly name = "huggingface";
  readonly #client: HubClient;

  constructor(client: HubClient) {
    this.#client = client;
  }

  async snapshot(repository: string, revision = "main", signal?: AbortSignal): Promise<Snapshot> {
    const api = `${this.#client.base}/api/models/${encodePath(repository)}`;
    const wanted = encodeURIComponent(revision);
    const card = await this.#client.json(`${api}/revision/${wanted}`, signal);
    const { sha, cardData, tags } = this.#parse(about, card.value, repository);
    const licence =
      cardData?.license ??
      tags?.find((tag) => tag.startsWith("license:"))?.slice("license:".length);
    // All files are those of one commit, whatever happens to the branch in the meantime.
    const files = await this.#list(`${api}/tree/${sha}?recursive=true`, repository, sha, signal);
    return { repository, revision, commit: sha, licence, files };
  }

  async #list(
    first: string,
    repository: string,
    commit: string,
    signal?: AbortSignal,
  ): Promise<RemoteFile[]> {
    const files: RemoteFile[] = [];
    let address: string | undefined = first;
    for (let page = 0; address !== undefined; page++) {
      if (page >= MOST_PAGES) this.#fail(repository, `has more than ${MOST_PAGES} pages of files`);
      const { value, headers } = await this.#client.json(address, signal);
      for (const entry of this.#parse(entries, value, repository)) {
        if (entry.type === "file") files.push(this.#file(entry, repository, commit));
        else if (!isSafePath(entry.path)) pathBelow("", entry.path, this.#where(repository));
      }
      address = this.#nextPage(headers.link, repository);
    }
    return files;
  }

  #file(entry: z.infer<typeof entries>[number], repository: string, commit: string): RemoteFile {
    const path = pathBelow("", entry.path, this.#where(repository));
    const size = entry.lfs?.size ?? entry.size;
    if (size === undefined) this.#fail(repository, `does not say how large ${path} is`);
    const isGitName = entry.oid !== undefined && /^[0-9a-f]{40}$/.test(entry.oid);
    return {
      path,
      size,
      url: `${this.#client.base}/${encodePath(repository)}/resolve/${commit}/${encodePath(path)}`,
      ...(entry.lfs ? { sha256: entry.lfs.oid.replace("sha256:", "") } : {}),
      // Of a large file this would be the hash of the pointer that stands for it.
      ...(!entry.lfs && isGitName ? { gitSha1: entry.oid } : {}),
    };
  }

  /** The token goes along, so only the endpoint's own pages are followed. */
  #nextPage(link: string | undefined, repository: string): string | undefined {
    const next = /<([^>]+)>\s*;\s*rel="?next"?/.exec(link ?? "")?.[1];
    if (next === undefined) return undefined;
    const url = new URL(next, this.#client.endpoint);
    if (url.origin !== this.#client.endpoint.origin) {
      this.#fail(repository, `continues at another host (${url.host})`);
    }
    return url.href;
  }

  #where(repository: string): string {
    return `the listing of ${repository} at ${this.#client.endpoint.host}`;
  }

  #parse<T>(schema: z.ZodType<T>, value: unknown, repository: string): T {
    const { success, data, error } = schema.safeParse(value);
    if (success) return data;
    const [issue] = error.issues;
    return this.#fail(
      repository,
      `is not one of Hugging Face (${issue?.path.join(".")}: ${issue?.message})`,
    );
  }

  #fail(repository: string, what: string): never {
    throw new HubError("listing_invalid", `${this.#where(repository)} ${what}`);
  }
}
