/** The shared conformance cases, with their placeholders filled in as far as the protocol alone can tell. For tests. */
import cases from "./fixtures/speech-api-cases.json" with { type: "json" };
import { wavHeader } from "./wav.ts";

export interface WireCase {
  readonly name: string;
  readonly profile: "both" | "strict" | "extended";
  readonly server: string | null;
  readonly method: string;
  readonly path: string;
  readonly headers?: Record<string, string>;
  readonly body?: unknown;
  readonly raw_body?: string;
  readonly multipart?: {
    readonly fields: Record<string, string>;
    readonly files?: Record<string, { fixture: string; filename: string; content_type: string }>;
  };
  readonly setup?: readonly Record<string, unknown>[];
  readonly options?: { readonly fault?: string; readonly limits?: Record<string, number> };
  readonly expect?: {
    readonly status?: number | readonly number[];
    readonly error?: {
      readonly contains?: readonly string[];
      readonly excludes?: readonly string[];
    };
    readonly json?: unknown;
  };
  readonly frames?: readonly Record<string, unknown>[];
  readonly vectors?: readonly unknown[];
  readonly defaults?: Record<string, number>;
}

interface Fixture {
  readonly kind: string;
  readonly as?: string;
  readonly repeat?: string;
  readonly times?: number;
  readonly chars?: number;
  readonly length?: number;
  readonly value?: number;
  readonly item?: unknown;
}

const PLACEHOLDER = /^\{\{fixture:(\w+)\}\}$/;
/** A name that the test server of the cases serves. */
export const SERVED_MODEL = "served-model";

/** All cases but those of the `strict` profile, which this server does not have. */
export const CASES: readonly WireCase[] = (cases.cases as unknown as WireCase[]).filter(
  ({ profile }) => profile !== "strict",
);

/** The unit case with that name. */
export function unitCase(name: string): WireCase {
  const found = CASES.find((wireCase) => wireCase.name === name);
  if (found === undefined) throw new Error(`no case ${name}`);
  return found;
}

function base64(bytes: Uint8Array): string {
  return btoa(String.fromCharCode(...bytes));
}

function special(name: string): unknown {
  if (name === "served_model") return SERVED_MODEL;
  if (name === "emb_1024_last_nan") return `[${"0.1,".repeat(1023)}NaN]`;
  if (name === "text_long_sentence") return "a sentence that goes on and on ".repeat(7).trim();
  if (name.startsWith("http_")) return `http://fixture.test/${name}`;
  return undefined;
}

/** The value behind a fixture's name. Audio is a header without samples: nobody decodes it here. */
export function fixture(name: string): unknown {
  const known = special(name);
  if (known !== undefined) return known;
  const rule = (cases.fixtures as Record<string, Fixture>)[name];
  if (rule === undefined) throw new Error(`no fixture ${name}`);
  const { kind, as, repeat = "", times = 0, chars = 0, length = 0 } = rule;
  if (kind === "json_list") return new Array(length).fill(rule.item ?? rule.value);
  if (kind === "text") {
    return times > 0 ? repeat.repeat(times) : repeat.repeat(Math.ceil(chars / repeat.length));
  }
  const audio = base64(wavHeader({ sampleRate: 24000, channels: 1 }, 0));
  return as === "base64" ? audio : `data:audio/wav;base64,${audio}`;
}

/** A copy of a value with every placeholder replaced. */
export function filled(value: unknown): unknown {
  if (typeof value === "string") {
    const name = PLACEHOLDER.exec(value)?.[1];
    return name === undefined ? value : fixture(name);
  }
  if (Array.isArray(value)) return value.map(filled);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, filled(member)]));
}
