/**
 * What a client has said and the server may not have heard yet: after a lost connection it is said again, and numbers keep
 * the server from heeding anything twice. A ping marks how far the server has come, since it answers in order.
 */
import type { Outgoing } from "./socket-link.ts";

/** A message that is counted, without its number. */
export type Countable =
  | { readonly type: "input.text"; readonly text: string }
  | { readonly type: "input.flush" }
  | { readonly type: "input.done" }
  | {
      readonly type: "input.cancel";
      readonly scope: "current" | "utterance" | "all";
      readonly played_ms?: number;
    }
  | { readonly type: "session.update"; readonly [option: string]: unknown };

interface Said {
  readonly seq: number;
  readonly message: Outgoing;
  readonly chars: number;
}

/** The mark in a ping that asks how far the server has come. */
const MARK = "heard:";

export class SocketInput {
  #said: Said[] = [];
  #next = 0;
  #chars = 0;
  #isAsked = false;

  /** Characters of text that the server may not have heard. */
  get chars(): number {
    return this.#chars;
  }

  /** Counts a message and keeps it. */
  add(message: Countable): Outgoing & { readonly seq: number } {
    const seq = this.#next++;
    const counted = { ...message, seq } as Outgoing & { readonly seq: number };
    const chars = message.type === "input.text" ? message.text.length : 0;
    this.#said.push({ seq, message: counted, chars });
    this.#chars += chars;
    return counted;
  }

  /** The ping that asks how far the server has come; undefined while one is on its way or nothing is open. */
  question(): Outgoing | undefined {
    const last = this.#said.at(-1);
    if (last === undefined || this.#isAsked) return undefined;
    this.#isAsked = true;
    return { type: "ping", t: `${MARK}${last.seq}` };
  }

  /** Takes a pong. True if it was the answer to a question. */
  answered(t: unknown): boolean {
    if (typeof t !== "string" || !t.startsWith(MARK)) return false;
    const heard = Number(t.slice(MARK.length));
    this.#isAsked = false;
    this.#said = this.#said.filter(({ seq }) => seq > heard);
    this.#chars = this.#said.reduce((sum, { chars }) => sum + chars, 0);
    return true;
  }

  /** Everything that has to be said again on a new connection, in order. */
  again(): Outgoing[] {
    this.#isAsked = false;
    return this.#said.map(({ message }) => message);
  }
}
