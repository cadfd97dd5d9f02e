/**
 * The few things that voices need of an object service, over the service's own client: every request ends within a limit,
 * and whatever fails becomes one error for clients and, once for each time it goes away, one sentence for the log. Knows
 * nothing of voices.
 */
import { setTimeout as sleep } from "node:timers/promises";
import {
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  PutObjectCommand,
  paginateListObjectsV2,
  S3Client,
  S3ServiceException,
} from "@aws-sdk/client-s3";
import { ApiError } from "../protocol/envelope.ts";

/** Where objects lie. Credentials are looked for where the service's own tools look: environment, files, role. */
export interface BucketAddress {
  readonly bucket: string;
  /** Undefined: Amazon's own. */
  readonly endpoint: string | undefined;
  /** Undefined: as the environment says. */
  readonly region: string | undefined;
  readonly forcePathStyle: boolean;
}

export interface ListedObject {
  readonly key: string;
  /** Unix time in milliseconds. */
  readonly changedAtMs: number;
}

const CONNECT_MS = 1500;
/** Without a byte in either direction. */
const SILENCE_MS = 4000;
/** For a whole request: a recording of 10 MB over a slow line. */
const REQUEST_MS = 30_000;
const ATTEMPTS = 2;
/** How often a write is repeated that met another one at the same object, and after how many milliseconds. */
const CONFLICTS = 5;
const CONFLICT_MS = 50;
/** Seconds that a client is told to wait while the service is away. */
const RETRY_AFTER_S = 5;
/** Services that are not Amazon's do not mind which. */
const ANY_REGION = "us-east-1";

export class Bucket {
  readonly #client: S3Client;
  readonly #bucket: string;
  readonly #log: (sentence: string) => void;
  #isAway = false;
  /** Whether the service knows how to write only where nothing is. */
  #hasConditions = true;

  constructor(
    { bucket, endpoint, region, forcePathStyle }: BucketAddress,
    log: (sentence: string) => void,
  ) {
    const home = region ?? (endpoint === undefined ? undefined : ANY_REGION);
    this.#bucket = bucket;
    this.#log = log;
    this.#client = new S3Client({
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(home === undefined ? {} : { region: home }),
      forcePathStyle,
      maxAttempts: ATTEMPTS,
      // Not every service knows the newer checksums; voices carry their own.
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
      requestHandler: {
        connectionTimeout: CONNECT_MS,
        socketTimeout: SILENCE_MS,
        requestTimeout: REQUEST_MS,
        throwOnRequestTimeout: true,
      },
    });
  }

  /** All objects whose keys begin with a text. */
  list(prefix: string): Promise<ListedObject[]> {
    return this.#ask(async () => {
      const pages = paginateListObjectsV2(
        { client: this.#client },
        { Bucket: this.#bucket, Prefix: prefix },
      );
      const objects: ListedObject[] = [];
      for await (const { Contents = [] } of pages) {
        for (const { Key: key = "", LastModified: date } of Contents) {
          objects.push({ key, changedAtMs: date?.getTime() ?? Date.now() });
        }
      }
      return objects;
    });
  }

  /** The content of an object; undefined if there is none. */
  get(key: string): Promise<Buffer | undefined> {
    return this.#unlessMissing(async () => {
      const command = new GetObjectCommand({ Bucket: this.#bucket, Key: key });
      const { Body: body } = await this.#client.send(command);
      return Buffer.from((await body?.transformToByteArray()) ?? []);
    });
  }

  /** The size of an object in bytes; undefined if there is none. */
  size(key: string): Promise<number | undefined> {
    return this.#unlessMissing(async () => {
      const command = new HeadObjectCommand({ Bucket: this.#bucket, Key: key });
      return (await this.#client.send(command)).ContentLength ?? 0;
    });
  }

  /** Writes an object, or replaces it, in one instant. */
  async put(key: string, content: Uint8Array | string): Promise<void> {
    await this.#ask(() => this.#put(key, content, {}));
  }

  /** Writes an object where there is none; false if there is one. A service without such a condition replaces it. */
  create(key: string, content: Uint8Array | string): Promise<boolean> {
    return this.#ask(() => this.#create(key, content, CONFLICTS));
  }

  /** Removes an object; a missing one is fine. */
  async delete(key: string): Promise<void> {
    const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: key });
    await this.#unlessMissing(() => this.#client.send(command));
  }

  async #create(key: string, content: Uint8Array | string, conflicts: number): Promise<boolean> {
    const condition = this.#hasConditions ? { IfNoneMatch: "*" } : {};
    try {
      return await this.#put(key, content, condition);
    } catch (error) {
      const status = statusOf(error);
      if (status === 412) return false;
      if (status === 501 && this.#hasConditions) this.#hasConditions = false;
      // Others are at the same object, and it is open who was first.
      else if (status === 409 && conflicts > 0) await sleep(CONFLICT_MS);
      else throw error;
      return this.#create(key, content, conflicts - 1);
    }
  }

  async #put(key: string, content: Uint8Array | string, condition: { IfNoneMatch?: string }) {
    const Body = typeof content === "string" ? Buffer.from(content) : content;
    const target = { Bucket: this.#bucket, Key: key };
    await this.#client.send(new PutObjectCommand({ ...target, Body, ...condition }));
    return true;
  }

  #unlessMissing<T>(request: () => Promise<T>): Promise<T | undefined> {
    return this.#ask(async () => {
      try {
        return await request();
      } catch (error) {
        const { name } = error as Error;
        if (name === "NoSuchKey" || name === "NotFound") return undefined;
        throw error;
      }
    });
  }

  async #ask<T>(request: () => Promise<T>): Promise<T> {
    try {
      const answer = await request();
      if (this.#isAway) this.#log(`The bucket '${this.#bucket}' answers again.`);
      this.#isAway = false;
      return answer;
    } catch (error) {
      if (!this.#isAway) this.#log(`The bucket '${this.#bucket}' does not answer: ${told(error)}`);
      this.#isAway = true;
      throw new ApiError("voices_unavailable", undefined, {
        retryAfterSeconds: RETRY_AFTER_S,
        cause: error,
      });
    }
  }
}

function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined;
}

/** A sentence of the client about what went wrong; failures to connect have their reason in a code. */
function told(error: unknown): string {
  const { name, message, code } = error as NodeJS.ErrnoException;
  return [code ?? name, message].filter(Boolean).join(": ");
}
