/**
 * The compiled character map of a SentencePiece normaliser (`nmt_nfkc` and its kin, spec 4.1).
 *
 * The map is a double-array trie over UTF-8 bytes followed by its NUL-terminated replacement strings.
 * Looking up never allocates; a damaged trie ends a look-up early instead of reading outside it.
 */
import { TokenizerError } from "./sentencepiece-model.ts";

/** A replacement found at some position: how many input bytes it takes and what stands there instead. */
export interface Replacement {
  readonly length: number;
  readonly bytes: Uint8Array;
}

const LEAF_BIT = 0x100;
const LABEL_MASK = 0x800000ff;
const VALUE_MASK = 0x7fffffff;

/** Distance to a node's children, packed in bits 10 and up; bit 9 says that it counts in 256s. */
const childOffset = (unit: number): number => (unit >>> 10) << ((unit & 0x200) >>> 6);

export class Charsmap {
  readonly #units: Uint32Array;
  readonly #replacements: Uint8Array;

  /**
   * @param blob the `precompiled_charsmap` of the model file; empty means "replace nothing"
   * @throws TokenizerError if the sizes inside the blob do not fit the blob
   */
  constructor(blob: Uint8Array, name: string) {
    if (blob.length === 0) {
      this.#units = new Uint32Array(0);
      this.#replacements = blob;
      return;
    }
    const view = new DataView(blob.buffer, blob.byteOffset, blob.byteLength);
    const trieBytes = blob.length < 4 ? 0 : view.getUint32(0, true);
    if (trieBytes === 0 || trieBytes % 4 !== 0 || trieBytes > blob.length - 4) {
      throw new TokenizerError(
        `${name}: the character map is damaged (${trieBytes} bytes of trie in a blob of ${blob.length})`,
      );
    }
    this.#units = new Uint32Array(trieBytes / 4);
    for (let i = 0; i < this.#units.length; i++) this.#units[i] = view.getUint32(4 + i * 4, true);
    this.#replacements = blob.subarray(4 + trieBytes);
  }

  /** The longest entry that starts at `input[start]`, or undefined where the map has none. */
  longestMatch(input: Uint8Array, start: number): Replacement | undefined {
    const units = this.#units;
    if (units.length === 0) return undefined;
    let node = childOffset(units[0] as number);
    let value = -1;
    let length = 0;
    for (let i = start; i < input.length; i++) {
      const byte = input[i] as number;
      node ^= byte;
      const unit = units[node];
      if (unit === undefined || (unit & LABEL_MASK) >>> 0 !== byte) break;
      node ^= childOffset(unit);
      if ((unit & LEAF_BIT) !== 0) {
        const leaf = units[node];
        if (leaf === undefined) break;
        value = leaf & VALUE_MASK;
        length = i - start + 1;
      }
    }
    if (value < 0 || value > this.#replacements.length) return undefined;
    const end = this.#replacements.indexOf(0, value);
    return {
      length,
      bytes: this.#replacements.subarray(value, end < 0 ? this.#replacements.length : end),
    };
  }
}
