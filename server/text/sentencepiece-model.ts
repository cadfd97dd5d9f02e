/**
 * Reads a SentencePiece `tokenizer.model` file (a protocol-buffer message) into plain data.
 *
 * Owns the wire format alone: no tokenising happens here. Every length in the file is checked against
 * the bytes that are really there, so a truncated or lying file ends in a `TokenizerError`, never in a
 * half-read vocabulary.
 */

/** A tokenizer file that cannot be used. `code` is stable, `message` says what is wrong with which file. */
export class TokenizerError extends Error {
  readonly code = "tokenizer_invalid";

  constructor(message: string) {
    super(message);
    this.name = "TokenizerError";
  }
}

/** Piece kinds, numbered as in the file. */
export const PieceKind = {
  normal: 1,
  unknown: 2,
  control: 3,
  userDefined: 4,
  unused: 5,
  byte: 6,
} as const;

export interface Piece {
  readonly text: string;
  readonly score: number;
  readonly kind: number;
}

/** The parts of the file that decide how text becomes ids. */
export interface SentencePieceModel {
  readonly pieces: readonly Piece[];
  readonly byteFallback: boolean;
  readonly addDummyPrefix: boolean;
  readonly removeExtraWhitespaces: boolean;
  readonly escapeWhitespaces: boolean;
  /** Compiled character map of the normaliser; empty when the model normalises nothing. */
  readonly charsmap: Uint8Array;
}

const MODEL_TYPE_BPE = 2;
const MODEL_TYPE_UNIGRAM = 1;
const modelTypeNames = ["", "unigram", "BPE", "word", "char"];

const WIRE_VARINT = 0;
const WIRE_FIXED64 = 1;
const WIRE_BYTES = 2;
const WIRE_FIXED32 = 5;

interface Field {
  readonly number: number;
  readonly wire: number;
  /** Value of a varint field; 0 for the other wire types. */
  readonly varint: number;
  /** Payload of a length-delimited or fixed-size field; empty for a varint. */
  readonly bytes: Uint8Array;
}

const NO_BYTES = new Uint8Array(0);

/** Walks the fields of one message. Throws `TokenizerError` where the bytes are not a message. */
function* fields(bytes: Uint8Array, what: string): Generator<Field> {
  let at = 0;

  const varint = (): number => {
    let value = 0;
    for (let shift = 0; shift < 70; shift += 7) {
      const byte = bytes[at++];
      if (byte === undefined) throw new TokenizerError(`${what} ends in the middle of a number`);
      // Negative enums take ten bytes; nothing read here needs more than 53 bits.
      if (shift < 49) value += (byte & 0x7f) * 2 ** shift;
      if (byte < 0x80) return value;
    }
    throw new TokenizerError(`${what} holds a number longer than ten bytes`);
  };

  const take = (length: number): Uint8Array => {
    if (length > bytes.length - at) {
      throw new TokenizerError(
        `${what} is truncated: ${length} bytes announced, ${bytes.length - at} left`,
      );
    }
    at += length;
    return bytes.subarray(at - length, at);
  };

  while (at < bytes.length) {
    const tag = varint();
    const number = Math.floor(tag / 8);
    const wire = tag % 8;
    if (number === 0) throw new TokenizerError(`${what} is not a SentencePiece model: field 0`);
    if (wire === WIRE_VARINT) yield { number, wire, varint: varint(), bytes: NO_BYTES };
    else if (wire === WIRE_BYTES) yield { number, wire, varint: 0, bytes: take(varint()) };
    else if (wire === WIRE_FIXED32) yield { number, wire, varint: 0, bytes: take(4) };
    else if (wire === WIRE_FIXED64) yield { number, wire, varint: 0, bytes: take(8) };
    else throw new TokenizerError(`${what} is not a SentencePiece model: wire type ${wire}`);
  }
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function readPiece(bytes: Uint8Array, id: number, what: string): Piece {
  let text: string | undefined;
  let score = 0;
  let kind: number = PieceKind.normal;
  for (const field of fields(bytes, `${what}, piece ${id},`)) {
    if (field.number === 1 && field.wire === WIRE_BYTES) {
      try {
        text = utf8.decode(field.bytes);
      } catch {
        throw new TokenizerError(`${what}: piece ${id} is not valid UTF-8`);
      }
    } else if (field.number === 2 && field.wire === WIRE_FIXED32) {
      const b = field.bytes;
      score = new DataView(b.buffer, b.byteOffset, 4).getFloat32(0, true);
    } else if (field.number === 3 && field.wire === WIRE_VARINT) {
      kind = field.varint;
    }
  }
  if (text === undefined || text === "") throw new TokenizerError(`${what}: piece ${id} is empty`);
  return { text, score, kind };
}

/**
 * Parses the bytes of a `tokenizer.model`.
 *
 * @param bytes the whole file
 * @param name what to call the file in messages
 * @throws TokenizerError if the file is truncated, not SentencePiece, or not a BPE model (spec 4.1)
 */
export function parseSentencePieceModel(bytes: Uint8Array, name: string): SentencePieceModel {
  const pieces: Piece[] = [];
  let modelType = MODEL_TYPE_UNIGRAM;
  let byteFallback = false;
  let addDummyPrefix = true;
  let removeExtraWhitespaces = true;
  let escapeWhitespaces = true;
  let charsmap: Uint8Array = NO_BYTES;
  let suffixWhitespace = false;

  for (const field of fields(bytes, name)) {
    if (field.wire !== WIRE_BYTES) continue;
    if (field.number === 1) {
      pieces.push(readPiece(field.bytes, pieces.length, name));
    } else if (field.number === 2) {
      for (const f of fields(field.bytes, `${name}, trainer settings,`)) {
        if (f.number === 3) modelType = f.varint;
        else if (f.number === 24) suffixWhitespace = f.varint !== 0;
        else if (f.number === 35) byteFallback = f.varint !== 0;
      }
    } else if (field.number === 3) {
      for (const f of fields(field.bytes, `${name}, normaliser settings,`)) {
        if (f.number === 2) charsmap = f.bytes;
        else if (f.number === 3) addDummyPrefix = f.varint !== 0;
        else if (f.number === 4) removeExtraWhitespaces = f.varint !== 0;
        else if (f.number === 5) escapeWhitespaces = f.varint !== 0;
      }
    }
  }

  if (pieces.length === 0) {
    throw new TokenizerError(`${name} is not a SentencePiece model: it holds no pieces`);
  }
  if (modelType !== MODEL_TYPE_BPE) {
    const found = modelTypeNames[modelType] ?? `type ${modelType}`;
    throw new TokenizerError(`${name} is a ${found} model; only BPE models are supported`);
  }
  if (suffixWhitespace) {
    throw new TokenizerError(`${name} marks spaces at the end of words, which is not supported`);
  }
  return {
    pieces,
    byteFallback,
    addDummyPrefix,
    removeExtraWhitespaces,
    escapeWhitespaces,
    charsmap,
  };
}
