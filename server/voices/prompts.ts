/**
 * Voice prompts: references that were encoded once and are then named by an id until they expire. They live in memory,
 * and where several servers answer for each other, also in a place that these share; never on a disk. A client that meets
 * an unknown id creates the prompt again.
 */
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { ApiError } from "../protocol/envelope.ts";
import type { CodesKey, EncodedReference } from "./encode-reference.ts";
import { formatCodes, parseCodes } from "./voice-files.ts";

export interface StoredPrompt {
  /** `vp_` and a random part. */
  readonly id: string;
  /** Name to show, as the client gave it. */
  readonly name: string | undefined;
  /** What the recording says, as the client gave it. */
  readonly refText: string | undefined;
  readonly reference: EncodedReference;
  /** Unix time in seconds from which on the id is unknown. */
  readonly expiresAt: number;
}

/** Where servers leave prompts for each other. Both questions fail while it is away. */
export interface PromptPlace {
  put(id: string, text: string, lifetimeSeconds: number): Promise<void>;
  get(id: string): Promise<string | undefined>;
}

export interface PromptOptions {
  /** How long an id is good for, in seconds. */
  readonly lifetimeSeconds?: number;
  /** Most prompts at once; above it the one that came first makes room. */
  readonly maxPrompts?: number;
  /** The time in milliseconds since 1970; for tests. */
  readonly now?: () => number;
  /** Absent: prompts are this server's own. */
  readonly shared?: PromptPlace | undefined;
  /** How the codes of this server's prompts are made; those of a server that makes them in another way are unknown here. */
  readonly codesKey?: CodesKey;
}

/** The form in which servers share a prompt. */
const Shared = z.object({
  name: z.string().optional(),
  refText: z.string().optional(),
  expiresAt: z.int(),
  reference: z.object({
    sha256: z.string(),
    durationSeconds: z.number(),
    sampleRate: z.number(),
    loudnessLufs: z.number().nullable(),
  }),
  /** As in a file of codes. */
  codes: z.string(),
});

const DEFAULT_LIFETIME_SECONDS = 24 * 3600;
const DEFAULT_MAX_PROMPTS = 2000;
const NO_KEY: CodesKey = { family: "", codec: "", recipe: "" };

export class VoicePrompts {
  /** In order of arrival. */
  readonly #prompts = new Map<string, StoredPrompt>();
  readonly #lifetimeSeconds: number;
  readonly #maxPrompts: number;
  readonly #now: () => number;
  readonly #shared: PromptPlace | undefined;
  readonly #codesKey: CodesKey;

  constructor(options: PromptOptions = {}) {
    this.#lifetimeSeconds = options.lifetimeSeconds ?? DEFAULT_LIFETIME_SECONDS;
    this.#maxPrompts = options.maxPrompts ?? DEFAULT_MAX_PROMPTS;
    this.#now = options.now ?? Date.now;
    this.#shared = options.shared;
    this.#codesKey = options.codesKey ?? NO_KEY;
  }

  get size(): number {
    this.#expire();
    return this.#prompts.size;
  }

  /** Keeps an encoded reference and gives it an id. While the shared place is away, this server alone knows it. */
  async create(
    reference: EncodedReference,
    details: { name?: string; refText?: string },
  ): Promise<StoredPrompt> {
    const prompt: StoredPrompt = {
      id: `vp_${randomUUID().replaceAll("-", "")}`,
      name: details.name,
      refText: details.refText,
      reference,
      expiresAt: Math.floor(this.#now() / 1000) + this.#lifetimeSeconds,
    };
    this.#keep(prompt);
    await this.#shared?.put(prompt.id, this.#format(prompt), this.#lifetimeSeconds).catch(() => {});
    return prompt;
  }

  /**
   * The prompt of an id.
   * @param field the request's field that held the id
   * @throws ApiError `invalid_reference` if it never was here, has expired or had to make room
   */
  async get(id: string, field: string): Promise<StoredPrompt> {
    this.#expire();
    const prompt = this.#prompts.get(id) ?? (await this.#fetch(id));
    if (prompt !== undefined) return prompt;
    const message = `${field} names the voice prompt '${id}', which does not exist, has expired or was made for another model`;
    throw new ApiError("invalid_reference", message, { param: field });
  }

  #keep(prompt: StoredPrompt): void {
    this.#expire();
    this.#prompts.set(prompt.id, prompt);
    for (const id of this.#prompts.keys()) {
      if (this.#prompts.size <= this.#maxPrompts) break;
      this.#prompts.delete(id);
    }
  }

  /** A prompt of another server; undefined as well if nobody can be asked, or if its codes are of another kind. */
  async #fetch(id: string): Promise<StoredPrompt | undefined> {
    const text = await this.#shared?.get(id).catch(() => undefined);
    if (text === undefined) return undefined;
    const prompt = this.#parse(id, text);
    if (prompt === undefined || prompt.expiresAt <= this.#now() / 1000) return undefined;
    this.#keep(prompt);
    return prompt;
  }

  #format({ name, refText, expiresAt, reference }: StoredPrompt): string {
    const { codes, warnings: _, ...measured } = reference;
    const shared = { name, refText, expiresAt, reference: measured };
    return JSON.stringify({ ...shared, codes: formatCodes(this.#codesKey, codes) });
  }

  #parse(id: string, text: string): StoredPrompt | undefined {
    try {
      const { name, refText, expiresAt, reference, codes } = Shared.parse(JSON.parse(text));
      const encoded = { ...reference, codes: parseCodes(codes, this.#codesKey), warnings: [] };
      return { id, name, refText, expiresAt, reference: encoded };
    } catch {
      return undefined;
    }
  }

  #expire(): void {
    const now = this.#now() / 1000;
    for (const { id, expiresAt } of this.#prompts.values()) {
      // What came from another server may have ended before what was made here before it came.
      if (expiresAt <= now) this.#prompts.delete(id);
      else if (this.#shared === undefined) return;
    }
  }
}

/** Whether a voice is named by the id of a prompt. */
export function isPromptId(voice: string): boolean {
  return voice.startsWith("vp_");
}
