/**
 * Voice prompts: references that were encoded once and are then named by an id until they expire. They live in memory
 * only; a client that meets an unknown id creates the prompt again.
 */
import { randomUUID } from "node:crypto";
import { ApiError } from "../protocol/envelope.ts";
import type { EncodedReference } from "./encode-reference.ts";

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

export interface PromptOptions {
  /** How long an id is good for, in seconds. */
  readonly lifetimeSeconds?: number;
  /** Most prompts at once; above it the one that expires first makes room. */
  readonly maxPrompts?: number;
  /** The time in milliseconds since 1970; for tests. */
  readonly now?: () => number;
}

const DEFAULT_LIFETIME_SECONDS = 24 * 3600;
const DEFAULT_MAX_PROMPTS = 2000;

export class VoicePrompts {
  /** In order of creation, which is the order of expiry. */
  readonly #prompts = new Map<string, StoredPrompt>();
  readonly #lifetimeSeconds: number;
  readonly #maxPrompts: number;
  readonly #now: () => number;

  constructor(options: PromptOptions = {}) {
    this.#lifetimeSeconds = options.lifetimeSeconds ?? DEFAULT_LIFETIME_SECONDS;
    this.#maxPrompts = options.maxPrompts ?? DEFAULT_MAX_PROMPTS;
    this.#now = options.now ?? Date.now;
  }

  get size(): number {
    this.#expire();
    return this.#prompts.size;
  }

  /** Keeps an encoded reference and gives it an id. */
  create(reference: EncodedReference, details: { name?: string; refText?: string }): StoredPrompt {
    this.#expire();
    const prompt: StoredPrompt = {
      id: `vp_${randomUUID().replaceAll("-", "")}`,
      name: details.name,
      refText: details.refText,
      reference,
      expiresAt: Math.floor(this.#now() / 1000) + this.#lifetimeSeconds,
    };
    this.#prompts.set(prompt.id, prompt);
    for (const id of this.#prompts.keys()) {
      if (this.#prompts.size <= this.#maxPrompts) break;
      this.#prompts.delete(id);
    }
    return prompt;
  }

  /**
   * The prompt of an id.
   * @param field the request's field that held the id
   * @throws ApiError `invalid_reference` if it never was, has expired or had to make room
   */
  get(id: string, field: string): StoredPrompt {
    this.#expire();
    const prompt = this.#prompts.get(id);
    if (prompt !== undefined) return prompt;
    const message = `${field} names the voice prompt '${id}', which does not exist or has expired`;
    throw new ApiError("invalid_reference", message, { param: field });
  }

  #expire(): void {
    const now = this.#now() / 1000;
    for (const { id, expiresAt } of this.#prompts.values()) {
      if (expiresAt > now) return;
      this.#prompts.delete(id);
    }
  }
}

/** Whether a voice is named by the id of a prompt. */
export function isPromptId(voice: string): boolean {
  return voice.startsWith("vp_");
}
