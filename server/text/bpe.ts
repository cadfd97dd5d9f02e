/**
 * Byte-pair merging: turns normalised symbols into vocabulary pieces.
 *
 * The order of merges is the one of SentencePiece: the best score first, the leftmost of equals. A heap
 * over candidate pairs and a linked list over symbols keep it at O(n log n), so a line of many thousand
 * characters costs milliseconds.
 */

/** What merging needs to know of a vocabulary. */
export interface MergeTable {
  /** Score of a piece that may result from a merge; undefined if there is none. Higher merges first. */
  score(piece: string): number | undefined;
  /** True for pieces that merges pass through but that must not be produced. */
  isUnused(piece: string): boolean;
  /** Length in UTF-16 units of the longest piece. */
  readonly longest: number;
}

/** A symbol before merging. Frozen symbols (user-defined pieces) never merge with a neighbour. */
export interface StartSymbol {
  readonly text: string;
  readonly frozen: boolean;
}

interface Candidate {
  readonly score: number;
  readonly left: number;
  readonly right: number;
  readonly text: string;
}

const before = (a: Candidate, b: Candidate): boolean =>
  a.score > b.score || (a.score === b.score && a.left < b.left);

/** Binary heap; the candidate to merge next is at the root. */
class CandidateHeap {
  readonly #items: Candidate[] = [];

  push(item: Candidate): void {
    const items = this.#items;
    let at = items.push(item) - 1;
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!before(item, items[parent] as Candidate)) break;
      items[at] = items[parent] as Candidate;
      at = parent;
    }
    items[at] = item;
  }

  pop(): Candidate | undefined {
    const items = this.#items;
    const top = items[0];
    const last = items.pop();
    if (top === undefined || last === undefined || items.length === 0) return top;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (
        child + 1 < items.length &&
        before(items[child + 1] as Candidate, items[child] as Candidate)
      ) {
        child++;
      }
      if (!before(items[child] as Candidate, last)) break;
      items[at] = items[child] as Candidate;
      at = child;
    }
    items[at] = last;
    return top;
  }
}

/** Merges `symbols` as far as the table allows and returns the pieces in order. */
export function mergePairs(symbols: readonly StartSymbol[], table: MergeTable): string[] {
  const count = symbols.length;
  const text = symbols.map((symbol) => symbol.text);
  const previous = new Int32Array(count);
  const next = new Int32Array(count);
  const heap = new CandidateHeap();
  const splitOfUnused = new Map<string, readonly [string, string]>();

  const consider = (left: number, right: number): void => {
    if (left < 0 || right < 0) return;
    if (symbols[left]?.frozen || symbols[right]?.frozen) return;
    const a = text[left] as string;
    const b = text[right] as string;
    if (a.length + b.length > table.longest) return;
    const merged = a + b;
    const score = table.score(merged);
    if (score === undefined) return;
    heap.push({ score, left, right, text: merged });
    if (table.isUnused(merged)) splitOfUnused.set(merged, [a, b]);
  };

  for (let i = 0; i < count; i++) {
    previous[i] = i - 1;
    next[i] = i + 1 < count ? i + 1 : -1;
    if (i > 0) consider(i - 1, i);
  }

  for (let top = heap.pop(); top !== undefined; top = heap.pop()) {
    const { left, right } = top;
    const a = text[left] as string;
    const b = text[right] as string;
    // One of the two was merged elsewhere meanwhile: the candidate is stale.
    if (a === "" || b === "" || a.length + b.length !== top.text.length) continue;
    text[left] = top.text;
    text[right] = "";
    const after = next[right] as number;
    next[left] = after;
    if (after >= 0) previous[after] = left;
    consider(previous[left] as number, left);
    consider(left, after);
  }

  const pieces: string[] = [];
  const emit = (piece: string): void => {
    const halves = table.isUnused(piece) ? splitOfUnused.get(piece) : undefined;
    if (halves === undefined) pieces.push(piece);
    else for (const half of halves) emit(half);
  };
  for (let i = 0; i >= 0 && i < count; i = next[i] as number) emit(text[i] as string);
  return pieces;
}
