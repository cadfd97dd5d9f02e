/** How the events of a session are made from a unit and what has been sent of it. Pure. */
import type { Samples } from "../audio/pcm.ts";
import type { AudioReady, Cancelled, SpeechEvent, UnitEnded, UnitStarted } from "./types.ts";
import type { Unit } from "./unit.ts";
import type { Utterance } from "./utterance.ts";

/** A unit with the utterance it belongs to and the audio of it that was queued for the listener. */
export interface Part {
  readonly utterance: Utterance;
  readonly unit: Unit;
  audioMs: number;
}

/** Recognises what was told of a unit, and not the cancels that name it. */
export function isOf({ utterance, unit }: Part): (event: SpeechEvent) => boolean {
  return (event) =>
    (event.kind === "unit" || event.kind === "audio" || event.kind === "unit-end") &&
    event.utterance === utterance.index &&
    event.unit === unit.request.index;
}

export function unitStarted({ utterance, unit }: Part, generation: number): UnitStarted {
  const { segment, index, settings } = unit.request;
  return {
    kind: "unit",
    utterance: utterance.index,
    unit: index,
    generation,
    settings,
    text: segment.text,
    textStart: segment.start,
    textEnd: segment.end,
  };
}

export function audioReady(
  { utterance, unit }: Part,
  pcm: Samples,
  generation: number,
): AudioReady {
  const { sampleRate, channels } = unit.request.settings;
  return {
    kind: "audio",
    utterance: utterance.index,
    unit: unit.request.index,
    generation,
    pcm,
    sampleRate,
    channels,
    startMs: utterance.audioMs,
  };
}

export function unitEnded(
  { utterance, unit, audioMs: durationMs }: Part,
  generation: number,
  end: { readonly cancelled: boolean; readonly error?: Error | undefined },
): UnitEnded {
  return {
    kind: "unit-end",
    utterance: utterance.index,
    unit: unit.request.index,
    generation,
    durationMs,
    frames: unit.frames,
    ttfaMs: unit.ttfaMs,
    timing: unit.timing,
    rtf: durationMs > 0 ? unit.computeMs / durationMs : 0,
    seed: unit.request.seed,
    truncated: unit.isTruncated,
    ...end,
  };
}

export function cancelledEvent(
  place: {
    readonly utterance: number;
    readonly unit: number | undefined;
    readonly generation: number;
  },
  sentMs: number,
  droppedChars: number,
): Cancelled {
  return { kind: "cancelled", ...place, reason: "client_cancel", sentMs, droppedChars };
}
