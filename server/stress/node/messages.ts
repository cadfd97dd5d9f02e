/** What the coordinator of a load test and its worker processes say to each other. Types only. */
import type { WarmedUp } from "../source.ts";
import type { StressPlan, StressSoundInfo } from "../types.ts";
import type { PackedWindow } from "../window.ts";

/** What a worker is, told once. */
export interface Setup {
  readonly plan: StressPlan;
  readonly baseUrl: string;
  readonly apiKey: string | undefined;
  /** Sent with every request and handshake. */
  readonly headers: Readonly<Record<string, string>>;
  readonly index: number;
  readonly processes: number;
  readonly maxStreams: number | undefined;
}

/** What may be asked, with what is told along and what is answered. */
export interface Questions {
  readonly probeAlone: { readonly with: undefined; readonly answer: string | undefined };
  readonly warmUp: { readonly with: number; readonly answer: WarmedUp };
  readonly collect: { readonly with: undefined; readonly answer: PackedWindow };
  /** Answered when everything has ended, with what was measured last. */
  readonly close: { readonly with: undefined; readonly answer: PackedWindow };
}
export type Question = keyof Questions;

export type ToWorker =
  | { readonly kind: "setup"; readonly setup: Setup }
  | {
      readonly kind: "ask";
      readonly id: number;
      readonly question: Question;
      readonly value: unknown;
    }
  | { readonly kind: "step"; readonly index: number }
  | { readonly kind: "want"; readonly concurrency: number }
  | { readonly kind: "arrive"; readonly perSecond: number; readonly seconds: number }
  | { readonly kind: "rest" }
  | { readonly kind: "abort" }
  | { readonly kind: "listen"; readonly lane: number | null };

export type FromWorker =
  | { readonly kind: "ready" }
  | { readonly kind: "answer"; readonly id: number; readonly value: unknown }
  | { readonly kind: "sound"; readonly info: StressSoundInfo; readonly pcm: Uint8Array };
