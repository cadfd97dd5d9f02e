/** Hashes of files: SHA-256 as large files and manifests have it, and Git's own of small files. */
import { createHash, type Hash } from "node:crypto";
import { createReadStream } from "node:fs";

/** What a source says about the content of a file. */
export interface ExpectedContent {
  readonly size: number;
  /** In hex, if the source says. */
  readonly sha256?: string | undefined;
  /** Git's name of the content (SHA-1 over a header and the bytes), in hex, if the source says. */
  readonly gitSha1?: string | undefined;
}

/** Takes a file piece by piece. */
export class FileDigest {
  readonly #sha256 = createHash("sha256");
  readonly #git: Hash;
  #bytes = 0;

  /** @param size of the whole file in bytes; it is part of Git's hash */
  constructor(size: number) {
    this.#git = createHash("sha1").update(`blob ${size}\0`);
  }

  get bytes(): number {
    return this.#bytes;
  }

  update(piece: Uint8Array): void {
    this.#sha256.update(piece);
    this.#git.update(piece);
    this.#bytes += piece.length;
  }

  /** Takes in what is there of a file, at most `limit` bytes. */
  async updateFromFile(path: string, limit: number): Promise<void> {
    if (limit <= 0) return;
    for await (const piece of createReadStream(path, { end: limit - 1 })) this.update(piece);
  }

  finish(): { readonly size: number; readonly sha256: string; readonly gitSha1: string } {
    return {
      size: this.#bytes,
      sha256: this.#sha256.digest("hex"),
      gitSha1: this.#git.digest("hex"),
    };
  }
}

/** Whether the content is the expected one; a hash that the source does not say is not asked for. */
export function matches(
  found: { readonly size: number; readonly sha256: string; readonly gitSha1: string },
  expected: ExpectedContent,
): boolean {
  if (found.size !== expected.size) return false;
  if (expected.sha256 !== undefined) return found.sha256 === expected.sha256;
  return expected.gitSha1 === undefined || found.gitSha1 === expected.gitSha1;
}

/** SHA-256 of a whole file, in hex. */
export async function fileSha256(path: string): Promise<string> {
  const hash = createHash("sha256");
  for await (const piece of createReadStream(path)) hash.update(piece as Buffer);
  return hash.digest("hex");
}
