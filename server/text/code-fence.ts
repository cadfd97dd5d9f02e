/**
 * Recognises fenced code blocks in text that arrives piece by piece. Code is not read aloud; nothing in
 * it may be taken for a sentence.
 */

/** Longest line that is looked at as a whole. Fence lines are shorter. */
const MAX_LINE = 200;
const LINE_BREAK = /\r\n|[\r\n]/;

/** Progress inside or in front of a block: how much text to swallow, and what is known after it. */
export interface FenceStep {
  readonly swallow: number;
  readonly state: "unknown" | "plain" | "inside" | "closed";
}

export class CodeFence {
  #marker: string | undefined;
  #midLine = false;

  get isOpen(): boolean {
    return this.#marker !== undefined;
  }

  /** Looks at the start of a line: does it open a block? "unknown" asks for more text. */
  open(text: string, final: boolean): FenceStep {
    const marker = /^(?:`+|~+)/.exec(text)?.[0] ?? "";
    if (marker.length === text.length && marker !== "" && !final) {
      return { swallow: 0, state: "unknown" };
    }
    if (marker.length < 3) return { swallow: 0, state: "plain" };
    const lineEnd = text.search(LINE_BREAK);
    if (lineEnd < 0 && !final && text.length < MAX_LINE) return { swallow: 0, state: "unknown" };
    const line = text.slice(0, lineEnd < 0 ? MAX_LINE : lineEnd);
    // ```like this``` on one line is a word in code type, not a block.
    if (line.slice(marker.length).includes(marker)) return { swallow: 0, state: "plain" };
    this.#marker = marker.slice(0, 3);
    this.#midLine = true;
    return { swallow: line.length, state: "inside" };
  }

  /** Swallows lines of the open block up to its end or the end of what has arrived. */
  advance(text: string, final: boolean): FenceStep {
    const marker = this.#marker as string;
    let at = 0;
    for (;;) {
      const rest = text.slice(at);
      const lineEnd = rest.search(LINE_BREAK);
      const line = lineEnd < 0 ? rest : rest.slice(0, lineEnd);
      const closes = line.trim().startsWith(marker) && /^([`~])\1*$/.test(line.trim());
      if (!this.#midLine && closes && (lineEnd >= 0 || final)) {
        this.#marker = undefined;
        return { swallow: at + line.length, state: "closed" };
      }
      if (lineEnd < 0) {
        const long = rest.length > MAX_LINE;
        if (final || long || this.#midLine) {
          this.#midLine = this.#midLine || rest !== "";
          at = text.length;
        }
        return { swallow: at, state: "inside" };
      }
      at += lineEnd + (LINE_BREAK.exec(rest)?.[0].length ?? 1);
      this.#midLine = false;
    }
  }
}
