/**
 * Prompt rows of MOSS-TTS-Nano (spec 4.2 to 4.5). A row is one text id and `books` audio codes; text rows
 * carry the pad code in every book.
 *
 * The template's parts are encoded one by one with the tokenizer of the model at hand, so the prefix
 * (everything before the text) is the same for every text and its state can be kept.
 */
import { createHash } from "node:crypto";
import type { Tokenizer } from "../text/tokenizer.ts";
import { PROMPT_LINES, type PromptStyle } from "./moss-tts-nano-style.ts";
import type { VoiceCodes, VoicePrompt } from "./types.ts";

/** Ids that steer the model, from `lm/config.json`. */
export interface SpecialIds {
  readonly imStart: number;
  readonly imEnd: number;
  readonly audioStart: number;
  readonly audioEnd: number;
  readonly userSlot: number;
  readonly assistantSlot: number;
  /** The code that means "no audio" and adds nothing. */
  readonly padCode: number;
}

const ROLE_USER = "user\n";
const REFERENCE = "<user_inst>\n- Reference(s):\n";
const NONE = "None";
const TEXT = "\n- Text:\n";
const USER_SUFFIX = "\n</user_inst>";
const TURN_SEPARATOR = "\n";
const ROLE_ASSISTANT = "assistant\n";

const afterReference = ({ lines }: PromptStyle): string =>
  PROMPT_LINES.map(([key, name]) => `\n- ${name}:\n${lines[key] ?? NONE}`)
    .join("")
    .concat(TEXT);

export interface PromptRows {
  readonly prefixKey: string;
  readonly prefixRows: Int32Array;
  readonly textRows: Int32Array;
}

export class PromptBuilder {
  readonly rowWidth: number;
  readonly #tokenizer: Tokenizer;
  readonly #ids: SpecialIds;
  readonly #head: readonly number[];
  readonly #none: readonly number[];
  readonly #after: readonly number[];
  readonly #tail: readonly number[];
  readonly #prefixes = new WeakMap<VoiceCodes, { key: string; rows: Int32Array }>();
  readonly #nonePrefix: { key: string; rows: Int32Array };

  constructor(tokenizer: Tokenizer, ids: SpecialIds, books: number, style: PromptStyle) {
    const encode = (part: string) => tokenizer.encodeTemplate(part);
    this.rowWidth = 1 + books;
    this.#tokenizer = tokenizer;
    this.#ids = ids;
    this.#head = [ids.imStart, ...encode(ROLE_USER), ...encode(REFERENCE)];
    this.#none = encode(NONE);
    // The lines come from sonant.json; words of theirs may not act as control symbols.
    this.#after = tokenizer.encodeText(afterReference(style));
    this.#tail = [
      ...encode(USER_SUFFIX),
      ...(style.imEnd ? [ids.imEnd] : []),
      ...encode(TURN_SEPARATOR),
      ids.imStart,
      ...encode(ROLE_ASSISTANT),
      ids.audioStart,
    ];
    this.#nonePrefix = this.#seal(this.#textRows([...this.#head, ...this.#none, ...this.#after]));
  }

  /** Rows for one segment: modes (b), (c) and (a) of spec 4.3 for "clone", "continue" and "none". */
  build(text: string, voice: VoicePrompt): PromptRows {
    if (voice.kind === "clone") {
      const prefix = this.#clonePrefix(voice.codes);
      return { prefixKey: prefix.key, prefixRows: prefix.rows, textRows: this.#spoken(text) };
    }
    const { key, rows } = this.#nonePrefix;
    if (voice.kind === "none") {
      return { prefixKey: key, prefixRows: rows, textRows: this.#spoken(text) };
    }
    // The two texts are one string to the tokenizer, with nothing between them (spec 4.3 c).
    const textRows = this.#concat(
      this.#spoken(voice.transcript + text),
      this.#codeRows(voice.codes, this.#ids.assistantSlot),
    );
    return { prefixKey: key, prefixRows: rows, textRows };
  }

  #spoken(text: string): Int32Array {
    return this.#textRows([...this.#tokenizer.encodeText(text), ...this.#tail]);
  }

  #clonePrefix(codes: VoiceCodes): { key: string; rows: Int32Array } {
    let prefix = this.#prefixes.get(codes);
    if (prefix === undefined) {
      prefix = this.#seal(
        this.#concat(
          this.#textRows([...this.#head, this.#ids.audioStart]),
          this.#codeRows(codes, this.#ids.userSlot),
          this.#textRows([this.#ids.audioEnd, ...this.#after]),
        ),
      );
      this.#prefixes.set(codes, prefix);
    }
    return prefix;
  }

  #seal(rows: Int32Array): { key: string; rows: Int32Array } {
    const bytes = new Uint8Array(rows.buffer, rows.byteOffset, rows.byteLength);
    const key = createHash("sha256").update(bytes).digest("hex").slice(0, 32);
    return { key, rows };
  }

  #textRows(ids: readonly number[]): Int32Array {
    const rows = new Int32Array(ids.length * this.rowWidth).fill(this.#ids.padCode);
    ids.forEach((id, i) => {
      rows[i * this.rowWidth] = id;
    });
    return rows;
  }

  #codeRows(codes: VoiceCodes, slot: number): Int32Array {
    const rows = new Int32Array(codes.frames * this.rowWidth);
    for (let t = 0; t < codes.frames; t++) {
      rows[t * this.rowWidth] = slot;
      rows.set(codes.data.subarray(t * codes.books, (t + 1) * codes.books), t * this.rowWidth + 1);
    }
    return rows;
  }

  #concat(...parts: readonly Int32Array[]): Int32Array {
    const rows = new Int32Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) {
      rows.set(part, at);
      at += part.length;
    }
    return rows;
  }
}
