/** Case files as they are read: which of the two formats a file has, and the shape of a robustness case. */
import { readFile } from "node:fs/promises";
import type { WireCase } from "../protocol/test-cases.ts";

/** One step of a robustness case; which members it has says what kind of step it is. */
export interface Step {
  readonly http?: HttpStep;
  /** Name of a connection; `op` says what is done with it. */
  readonly ws?: string;
  readonly op?: string;
  readonly file?: { readonly name: string; readonly recipe: string };
  readonly repeat?: number | string;
  readonly parallel?: readonly Step[];
  readonly steps?: readonly Step[];
  readonly measure?: string;
  readonly observe?: string;
  readonly process?: string;
  readonly network?: string;
  readonly fault?: string;
  readonly wait_ms?: number | string;
  readonly delay_ms?: unknown;
  readonly save?: string;
  /** Of socket steps. */
  readonly id?: string;
  readonly text?: unknown;
  readonly data?: unknown;
  readonly hex?: unknown;
  readonly code?: number;
  readonly via?: string;
  readonly extensions?: string;
  readonly compress?: boolean;
  readonly split?: string;
  readonly path?: string;
  readonly until?: string | { readonly sentence: number; readonly event: string };
  readonly timeout_ms?: number;
}

/** A request of a robustness case. */
export interface HttpStep {
  readonly method: string;
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: unknown;
  readonly raw_body?: string;
  readonly raw_body_hex?: string;
  readonly multipart?: Readonly<Record<string, unknown>>;
  readonly multipart_generated?: {
    readonly parts: number;
    readonly bytes_each: number;
    readonly filename: string;
  };
  readonly read?: {
    readonly bytes?: number;
    readonly chunks?: number;
    readonly after_ms?: unknown;
    readonly then: "destroy";
  };
  readonly send?: { readonly fraction: number; readonly then: "destroy" };
  readonly client_timeout_ms?: number;
}

export type Wanted = Readonly<Record<string, unknown>>;

export interface RobustnessCase {
  readonly id: string;
  readonly name: string;
  readonly area: string;
  readonly kind: string;
  readonly severity: string;
  readonly given: { readonly steps: readonly Step[] };
  readonly expect: { readonly say: string } & Wanted;
}

export interface RobustnessFile {
  readonly format: "robustness";
  readonly cases: readonly RobustnessCase[];
  /** How base.wav is made. */
  readonly baseRecipe: string;
}

/** The conformance cases of the speech API, all profiles. */
export interface SpeechApiFile {
  readonly format: "speech-api";
  readonly cases: readonly WireCase[];
}

interface Document {
  readonly cases?: unknown;
  readonly meta?: unknown;
  readonly about?: { readonly base_clip?: { readonly recipe: string } };
}

/**
 * Reads a case file of either format.
 * @throws Error in one sentence when it cannot be read or is neither
 */
export async function readCaseFile(path: string): Promise<RobustnessFile | SpeechApiFile> {
  const document = JSON.parse(await readFile(path, "utf8")) as Document;
  if (!Array.isArray(document.cases)) throw new Error(`${path} has no list of cases.`);
  const recipe = document.about?.base_clip?.recipe;
  if (recipe !== undefined) {
    return { format: "robustness", cases: document.cases as RobustnessCase[], baseRecipe: recipe };
  }
  if (document.meta !== undefined) {
    return { format: "speech-api", cases: document.cases as WireCase[] };
  }
  throw new Error(
    `${path} has neither the format of robustness.json nor of speech-api-cases.json.`,
  );
}
