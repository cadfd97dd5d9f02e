/**
 * What clients give as reference audio, turned into bytes: http(s) addresses, data URLs, raw base64, and files below a
 * folder that the operator named. Ids of voice prompts are recognised and handed on. Does not decode.
 */
import { open, realpath } from "node:fs/promises";
import { sep } from "node:path";
import { fileURLToPath } from "node:url";
import { ApiError } from "../protocol/envelope.ts";
import { LIMITS } from "../protocol/limits.ts";
import { referenceForm } from "../protocol/reference-form.ts";
import { FETCH_POLICY, type FetchPolicy, fetchGuarded } from "./fetch-guard.ts";

export interface ReferenceSourceOptions {
  /** Deviations from the standard policy for http(s) addresses. */
  readonly fetch?: Partial<FetchPolicy>;
  /** Folder below which file:// addresses may lie. Absent: they are refused. */
  readonly localFolder?: string | undefined;
  /** Largest recording inside a request, in bytes. */
  readonly inlineBytes?: number;
}

export type ReferenceContent =
  | { readonly kind: "audio"; readonly bytes: Uint8Array }
  | { readonly kind: "prompt"; readonly id: string };

export class ReferenceSource {
  readonly #policy: FetchPolicy;
  readonly #localFolder: string | undefined;
  readonly #limits: { readonly inline_reference_bytes: number };

  constructor(options: ReferenceSourceOptions = {}) {
    this.#policy = { ...FETCH_POLICY, ...options.fetch };
    this.#localFolder = options.localFolder;
    this.#limits = { inline_reference_bytes: options.inlineBytes ?? LIMITS.inline_reference_bytes };
  }

  /**
   * Reads a reference, whatever its form.
   * @throws ApiError `invalid_reference`, `reference_unreachable` or `not_implemented`, or the signal's reason
   */
  async read(reference: string, signal?: AbortSignal): Promise<ReferenceContent> {
    signal?.throwIfAborted();
    const fileReferences = this.#localFolder !== undefined;
    const form = referenceForm(reference, { fileReferences }, this.#limits);
    switch (form.kind) {
      case "prompt":
        return form;
      case "base64":
        return { kind: "audio", bytes: Buffer.from(form.base64, "base64") };
      case "url":
        return { kind: "audio", bytes: await fetchGuarded(form.url, this.#policy, signal) };
      case "file":
        return { kind: "audio", bytes: await this.#readLocal(form.url) };
    }
  }

  /** One message whether the file is missing, elsewhere or too large, so that nobody can probe the disk. */
  async #readLocal(url: string): Promise<Uint8Array> {
    try {
      const root = await realpath(this.#localFolder ?? "");
      const path = await realpath(fileURLToPath(url));
      if (!path.startsWith(root + sep)) throw new Error(`${path} lies outside ${root}`);
      return await readRegularFile(path, this.#policy.maxBytes);
    } catch (cause) {
      const message = "ref_audio could not be read: it must be an audio file in the allowed folder";
      throw new ApiError("reference_unreachable", message, { param: "ref_audio", cause });
    }
  }
}

async function readRegularFile(path: string, maxBytes: number): Promise<Uint8Array> {
  const file = await open(path, "r");
  try {
    const status = await file.stat();
    if (!status.isFile()) throw new Error(`${path} is not a file`);
    if (status.size > maxBytes) throw new Error(`${path} has more than ${maxBytes} bytes`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}
