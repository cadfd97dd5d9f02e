/**
 * Text to token ids for SentencePiece BPE models (spec 4.1), written here because no npm library fits:
 * the WebAssembly wrappers give the right ids but install process-wide exception handlers, accept
 * truncated files in silence and cannot keep control symbols out of user text; the others do not read
 * `tokenizer.model`.
 *
 * Two doors, and the difference matters: `encodeTemplate` is for trusted prompt parts and knows the
 * control symbols; `encodeText` is for what people type and can never produce one.
 */
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type MergeTable, mergePairs, type StartSymbol } from "./bpe.ts";
import { Charsmap } from "./charsmap.ts";
import {
  PieceKind,
  parseSentencePieceModel,
  type SentencePieceModel,
  TokenizerError,
} from "./sentencepiece-model.ts";

export { TokenizerError } from "./sentencepiece-model.ts";

const SPACE = 0x20;
const SPACE_SYMBOL = "\u2581";
const SPACE_SYMBOL_BYTES = new TextEncoder().encode(SPACE_SYMBOL);
const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true });

/** A symbol that steers the model rather than being spoken: all of this family are in angle brackets. */
const isControlShaped = (piece: string): boolean => /^<.+>$/u.test(piece);

/** Symbols that are matched whole before any merging, by first byte, longest first. */
class SymbolMatcher {
  readonly #byFirstByte = new Map<number, Uint8Array[]>();

  constructor(symbols: readonly string[]) {
    for (const symbol of symbols) {
      const bytes = encoder.encode(symbol);
      const first = bytes[0] as number;
      const list = this.#byFirstByte.get(first) ?? [];
      list.push(bytes);
      list.sort((a, b) => b.length - a.length);
      this.#byFirstByte.set(first, list);
    }
  }

  /** Length in bytes of the symbol at `at`, 0 if there is none. */
  match(input: Uint8Array, at: number): number {
    const list = this.#byFirstByte.get(input[at] as number);
    if (list === undefined) return 0;
    for (const symbol of list) {
      if (at + symbol.length > input.length) continue;
      let i = 1;
      while (i < symbol.length && symbol[i] === input[at + i]) i++;
      if (i === symbol.length) return symbol.length;
    }
    return 0;
  }
}

/** Bytes of the UTF-8 character that starts with `lead`. The input comes from an encoder, so it is valid. */
const characterLength = (lead: number): number =>
  lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;

export class Tokenizer {
  /** Hash of the model file: two tokenizers with equal hashes give equal ids. */
  readonly sha256: string;
  readonly #model: SentencePieceModel;
  readonly #charsmap: Charsmap;
  readonly #idOfPiece = new Map<string, number>();
  readonly #byteIds: Int32Array;
  readonly #unknownId: number;
  readonly #templateSymbols: SymbolMatcher;
  readonly #textSymbols: SymbolMatcher;
  readonly #templateTable: MergeTable;
  readonly #textTable: MergeTable;

  private constructor(bytes: Uint8Array, name: string) {
    const model = parseSentencePieceModel(bytes, name);
    this.sha256 = createHash("sha256").update(bytes).digest("hex");
    this.#model = model;
    this.#charsmap = new Charsmap(model.charsmap, name);
    this.#byteIds = new Int32Array(256).fill(-1);

    const mergeable = new Map<string, { score: number; unused: boolean; control: boolean }>();
    const symbols: string[] = [];
    let unknownId = -1;
    let longest = 0;
    model.pieces.forEach((piece, id) => {
      if (piece.kind === PieceKind.unknown) unknownId = id;
      else if (piece.kind === PieceKind.byte) {
        const match = /^<0x([0-9A-F]{2})>$/.exec(piece.text);
        if (match === null) {
          throw new TokenizerError(`${name}: byte piece ${id} is called ${piece.text}`);
        }
        this.#byteIds[Number.parseInt(match[1] as string, 16)] = id;
      } else if (piece.kind !== PieceKind.control) {
        const userDefined = piece.kind === PieceKind.userDefined;
        if (userDefined) symbols.push(piece.text);
        longest = Math.max(longest, piece.text.length);
        mergeable.set(piece.text, {
          score: piece.score,
          unused: piece.kind === PieceKind.unused,
          control: userDefined && isControlShaped(piece.text),
        });
      }
      if (piece.kind !== PieceKind.byte && !this.#idOfPiece.has(piece.text)) {
        this.#idOfPiece.set(piece.text, id);
      }
    });
    if (unknownId < 0) throw new TokenizerError(`${name} has no unknown piece`);
    if (model.byteFallback && this.#byteIds.includes(-1)) {
      throw new TokenizerError(`${name} announces byte fallback but lacks some of the 256 bytes`);
    }
    this.#unknownId = unknownId;
    this.#templateSymbols = new SymbolMatcher(symbols);
    this.#textSymbols = new SymbolMatcher(symbols.filter((symbol) => !isControlShaped(symbol)));

    const isUnused = (piece: string): boolean => mergeable.get(piece)?.unused === true;
    this.#templateTable = { longest, isUnused, score: (piece) => mergeable.get(piece)?.score };
    this.#textTable = {
      longest,
      isUnused,
      score: (piece) => {
        const entry = mergeable.get(piece);
        return entry === undefined || entry.control ? undefined : entry.score;
      },
    };
  }

  /**
   * Loads `tokenizer.model`.
   * @throws TokenizerError if the file cannot be read or is not a usable BPE model
   */
  static async fromFile(path: string): Promise<Tokenizer> {
    let bytes: Uint8Array;
    try {
      bytes = await readFile(path);
    } catch (error) {
      throw new TokenizerError(`cannot read ${path}: ${(error as Error).message}`);
    }
    return new Tokenizer(bytes, path);
  }

  /** As `fromFile`, from bytes in memory; `name` is what messages call them. */
  static fromBytes(bytes: Uint8Array, name = "tokenizer.model"): Tokenizer {
    return new Tokenizer(bytes, name);
  }

  get vocabularySize(): number {
    return this.#model.pieces.length;
  }

  /** Id of a piece by its exact text, control pieces included; undefined if there is none. */
  idOf(piece: string): number | undefined {
    return this.#idOfPiece.get(piece);
  }

  /** Text of a piece by id; undefined outside the vocabulary. */
  pieceOf(id: number): string | undefined {
    return this.#model.pieces[id]?.text;
  }

  /** Ids of a trusted prompt part: a literal `<|im_start|>` becomes its control id. */
  encodeTemplate(text: string): number[] {
    return this.#encode(text, this.#templateSymbols, this.#templateTable);
  }

  /**
   * Ids of text from outside. A literal `<|im_start|>`, `</user_inst>` or `<s>` is read character by
   * character like any other text, so that no input can act as a control symbol (spec 4.1). Lone
   * surrogates become U+FFFD. Blank text gives no ids.
   */
  encodeText(text: string): number[] {
    return this.#encode(text, this.#textSymbols, this.#textTable);
  }

  /** How many ids `encodeText` gives. */
  countTokens(text: string): number {
    return this.encodeText(text).length;
  }

  #encode(text: string, symbols: SymbolMatcher, table: MergeTable): number[] {
    const normalised = this.#normalise(encoder.encode(text), symbols);
    const ids: number[] = [];
    let lastWasUnknown = false;
    for (const piece of mergePairs(this.#startSymbols(normalised, symbols), table)) {
      const id = table.score(piece) === undefined ? undefined : this.#idOfPiece.get(piece);
      if (id !== undefined) ids.push(id);
      else if (this.#model.byteFallback) {
        for (const byte of encoder.encode(piece)) ids.push(this.#byteIds[byte] as number);
      } else if (!lastWasUnknown) ids.push(this.#unknownId);
      lastWasUnknown = id === undefined;
    }
    return ids;
  }

  /** Applies the character map and the white-space rules; the result is UTF-8. */
  #normalise(input: Uint8Array, symbols: SymbolMatcher): Uint8Array {
    const { removeExtraWhitespaces, addDummyPrefix, escapeWhitespaces } = this.#model;
    const space = escapeWhitespaces ? SPACE_SYMBOL_BYTES : Uint8Array.of(SPACE);
    const out: number[] = [];
    let started = false;
    let previousIsSpace = removeExtraWhitespaces;

    for (let at = 0; at < input.length; ) {
      const symbolLength = symbols.match(input, at);
      const replacement = symbolLength > 0 ? undefined : this.#charsmap.longestMatch(input, at);
      const length = symbolLength || replacement?.length || characterLength(input[at] as number);
      const bytes = replacement?.bytes ?? input.subarray(at, at + length);
      at += length;

      let i = 0;
      while (previousIsSpace && bytes[i] === SPACE) i++;
      if (i === bytes.length) continue;
      if (!started) {
        started = true;
        if (addDummyPrefix) out.push(...space);
      }
      for (; i < bytes.length; i++) {
        const byte = bytes[i] as number;
        if (byte !== SPACE) out.push(byte);
        else for (const part of space) out.push(part);
      }
      previousIsSpace = removeExtraWhitespaces && bytes[bytes.length - 1] === SPACE;
    }

    let end = out.length;
    if (removeExtraWhitespaces) {
      while (end >= space.length && space.every((b, i) => out[end - space.length + i] === b)) {
        end -= space.length;
      }
    }
    return Uint8Array.from(end === out.length ? out : out.slice(0, end));
  }

  #startSymbols(input: Uint8Array, symbols: SymbolMatcher): StartSymbol[] {
    const out: StartSymbol[] = [];
    for (let at = 0; at < input.length; ) {
      const symbolLength = symbols.match(input, at);
      const length = symbolLength || characterLength(input[at] as number);
      const isAscii = length === 1 && (input[at] as number) < 0x80;
      const text = isAscii
        ? String.fromCharCode(input[at] as number)
        : decoder.decode(input.subarray(at, at + length));
      out.push({ text, frozen: symbolLength > 0 });
      at += length;
    }
    return out;
  }
}
