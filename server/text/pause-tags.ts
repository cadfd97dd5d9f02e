/**
 * Finds `[pause 0.5s]` in text that arrives in pieces of any size: what is text and what is silence never depends on how
 * the text was cut. Everything else in brackets is text.
 */

/** Longest silence of one tag, and of all tags of one text, in milliseconds. What goes beyond is left out. */
export const MAX_PAUSE_MS = 10_000;
export const MAX_PAUSES_MS = 60_000;

export type TaggedPart =
  | { readonly kind: "text"; readonly text: string }
  /** `length` is that of the tag, in UTF-16 units. */
  | { readonly kind: "pause"; readonly ms: number; readonly length: number };

/** `[pause 2s]`, `[pause:0.5s]`, `[pause 300ms]`, in any case. */
const TAG = /^\[pause(?: ?: ?| )(\d{1,6}(?:\.\d{1,6})?) ?(ms|s)\]/i;
/** What may still become a tag when more text comes. */
const BEGINNING =
  /^\[(?:p(?:a(?:u(?:s(?:e(?:(?: ?: ?| )(?:\d{1,6}(?:\.\d{0,6})? ?m?s?)?| ?:?)?)?)?)?)?)?$/i;

export class PauseTags {
  /** The beginning of what may be a tag. */
  #held = "";
  #leftMs = MAX_PAUSES_MS;

  /** UTF-16 units that wait for more text. */
  get waiting(): number {
    return this.#held.length;
  }

  /** Takes the next piece of text and gives what is certain. */
  push(piece: string): TaggedPart[] {
    const text = this.#held + piece;
    this.#held = "";
    const parts: TaggedPart[] = [];
    let from = 0;
    for (let at = text.indexOf("["); at >= 0; ) {
      const rest = text.slice(at);
      const tag = TAG.exec(rest);
      if (tag !== null) {
        addText(parts, text.slice(from, at));
        parts.push({ kind: "pause", ms: this.#granted(tag), length: tag[0].length });
        from = at + tag[0].length;
      } else if (BEGINNING.test(rest)) {
        addText(parts, text.slice(from, at));
        this.#held = rest;
        return parts;
      }
      at = text.indexOf("[", tag === null ? at + 1 : from);
    }
    addText(parts, text.slice(from));
    return parts;
  }

  /** No more text comes for now: what was held back is text. */
  flush(): TaggedPart[] {
    const parts: TaggedPart[] = [];
    addText(parts, this.#held);
    this.#held = "";
    return parts;
  }

  #granted([, amount, unit]: RegExpExecArray): number {
    const wished = Number(amount) * (unit?.toLowerCase() === "ms" ? 1 : 1000);
    const ms = Math.min(wished, MAX_PAUSE_MS, this.#leftMs);
    this.#leftMs -= ms;
    return ms;
  }
}

function addText(parts: TaggedPart[], text: string): void {
  if (text !== "") parts.push({ kind: "text", text });
}
