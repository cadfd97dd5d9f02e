/**
 * The takes: one rendering of a text each, with all that was measured of it. The list is state; the sound itself lies
 * beside it in `sounds`, since it is large and changes twelve times a second while it is made.
 */
import { create } from "zustand";
import type { Trouble } from "../api/trouble.ts";
import type { TakeAudio } from "../audio/take-audio.ts";

/** A sentence (or other unit) of a take, in time and in the text. */
export interface TakeSentence {
  readonly text: string;
  readonly textStart: number;
  readonly textEnd: number;
  /** When all was there that it waited for, on the clock of `performance.now()` in the visit that made it. */
  readonly givenAt: number;
  readonly startMs: number;
  /** Undefined while it is being spoken. */
  readonly endMs: number | undefined;
}

/** Parts of the time to the first sample, in milliseconds; they add up to the whole. */
export interface TtfpSplit {
  readonly network: number;
  readonly queue: number;
  readonly prefill: number;
  readonly firstFrame: number;
  readonly codec: number;
  readonly client: number;
}

/** A chunk as it came. */
export interface Arrival {
  /** Milliseconds after the take was asked for. */
  readonly atMs: number;
  readonly durationMs: number;
  /** Audio that was received and not yet played when it came, in milliseconds. */
  readonly leadMs: number;
}

export interface Underrun {
  /** Position in the take, in milliseconds. */
  readonly atMs: number;
  readonly durationMs: number;
}

export interface TakeNote {
  readonly atMs: number;
  readonly text: string;
}

export interface TakeRequest {
  readonly text: string;
  /** Model that speaks, and what people call it; absent where the server had only one. */
  readonly model?: string | undefined;
  readonly modelName?: string | undefined;
  readonly voice: string;
  readonly voiceName: string;
  readonly seed: number;
  readonly speed: number;
  readonly temperature: number | undefined;
  readonly audioTemperature: number | undefined;
  readonly normalise: boolean;
}

export type TakeState = "connecting" | "queued" | "generating" | "done" | "stopped" | "failed";

export interface Take {
  readonly id: string;
  /** Unix time in milliseconds. */
  readonly createdAt: number;
  readonly request: TakeRequest;
  readonly state: TakeState;
  /** Place in the server's line and expected wait, while queued. */
  readonly queue: { readonly place: number; readonly waitMs: number } | undefined;
  /** The connection was lost and is being taken up again. */
  readonly isReconnecting: boolean;
  readonly trouble: Trouble | undefined;
  readonly sampleRate: number;
  readonly channels: 1 | 2;
  /** Length of the sound so far. */
  readonly durationMs: number;
  readonly sentences: readonly TakeSentence[];
  readonly arrivals: readonly Arrival[];
  readonly underruns: readonly Underrun[];
  /**
   * Time from the click, or live from the text that the first sentence waited for, to the first sample out of the worklet;
   * undefined before it, and for takes that were not played.
   */
  readonly ttfpMs: number | undefined;
  readonly split: TtfpSplit | undefined;
  /** Silence before the first audible sample, in milliseconds. */
  readonly headSilenceMs: number | undefined;
  /** Generation time over audio time, as the server measured it. */
  readonly rtf: number | undefined;
  /** Milliseconds until the server confirmed a stop. */
  readonly stopMs: number | undefined;
  /** SHA-256 of the PCM in hexadecimal; undefined until done, or where the browser cannot compute it. */
  readonly hash: string | undefined;
  readonly isStarred: boolean;
  readonly note: string;
  readonly marks: readonly TakeNote[];
}

interface TakesState {
  readonly takes: readonly Take[];
  /** The take that the waveform, the gauges and the keys are about. */
  readonly selected: string | undefined;
}

export const useTakes = create<TakesState>()(() => ({ takes: [], selected: undefined }));

/** Sound of takes that are in memory, by id. */
const sounds = new Map<string, TakeAudio>();

export function soundOf(id: string): TakeAudio | undefined {
  return sounds.get(id);
}

export function keepSound(id: string, sound: TakeAudio): void {
  sounds.set(id, sound);
}

export function dropSound(id: string): void {
  sounds.delete(id);
}

/** A new take on top of the list, selected. */
export function addTake(id: string, request: TakeRequest): void {
  const take: Take = {
    id,
    createdAt: Date.now(),
    request,
    state: "connecting",
    queue: undefined,
    isReconnecting: false,
    trouble: undefined,
    sampleRate: 48_000,
    channels: 2,
    durationMs: 0,
    sentences: [],
    arrivals: [],
    underruns: [],
    ttfpMs: undefined,
    split: undefined,
    headSilenceMs: undefined,
    rtf: undefined,
    stopMs: undefined,
    hash: undefined,
    isStarred: false,
    note: "",
    marks: [],
  };
  useTakes.setState(({ takes }) => ({ takes: [take, ...takes], selected: id }));
}

export function changeTake(
  id: string,
  change: Partial<Take> | ((take: Take) => Partial<Take>),
): void {
  useTakes.setState(({ takes }) => ({
    takes: takes.map((take) =>
      take.id === id
        ? { ...take, ...(typeof change === "function" ? change(take) : change) }
        : take,
    ),
  }));
}

export function takeById(id: string | undefined): Take | undefined {
  return useTakes.getState().takes.find((take) => take.id === id);
}

export function selectTake(id: string | undefined): void {
  useTakes.setState({ selected: id });
}

/** Whether nothing more will come of a take. */
export function isFinished({ state }: Pick<Take, "state">): boolean {
  return state === "done" || state === "stopped" || state === "failed";
}
