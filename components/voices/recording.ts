/**
 * Recording a voice: the microphone opens at once, so that the meter moves while the countdown runs, and what it brings
 * during the countdown is thrown away. Holds the device for the page; what was recorded becomes the draft.
 */
"use client";
import { create } from "zustand";
import { Recorder, type Recording } from "../audio/recorder.ts";
import { RecorderError, type RecorderErrorCode, toRecorderError } from "../audio/recorder-error.ts";
import type { Beginnings } from "./beginnings.ts";
import { startOver, takeRecording } from "./draft.ts";
import { stopListening } from "./listening.ts";

interface RecordingState {
  /** `asking` for permission, `countdown`, `recording`. */
  readonly phase: "idle" | "asking" | "countdown" | "recording";
  /** Whole seconds until it begins. */
  readonly secondsToGo: number;
  /** Seconds recorded so far. */
  readonly seconds: number;
  /** From 0 to 1. */
  readonly peak: number;
  readonly isClipped: boolean;
  readonly trouble: { readonly code: RecorderErrorCode; readonly message: string } | undefined;
}

const IDLE: RecordingState = {
  phase: "idle",
  secondsToGo: 0,
  seconds: 0,
  peak: 0,
  isClipped: false,
  trouble: undefined,
};
const COUNTDOWN_SECONDS = 3;
/** What was broken off sooner than this is no recording. */
const SHORTEST_SECONDS = 0.3;

export const useRecording = create<RecordingState>()(() => IDLE);

let recorder: Recorder | undefined;

/**
 * Asks for the microphone, counts down and records. Call it inside a gesture.
 * @param maxSeconds the recording ends by itself after that
 */
export async function startRecording(maxSeconds: number, beginnings: Beginnings): Promise<void> {
  cancelRecording();
  stopListening();
  startOver();
  const own = new Recorder({ channels: 1, maxSeconds: COUNTDOWN_SECONDS + maxSeconds });
  recorder = own;
  useRecording.setState({ ...IDLE, phase: "asking" });
  own.on("level", ({ peak, seconds, isClipped }) => {
    if (recorder !== own) return;
    const recorded = seconds - COUNTDOWN_SECONDS;
    const isRecording = recorded >= 0;
    useRecording.setState({
      phase: isRecording ? "recording" : "countdown",
      secondsToGo: isRecording ? 0 : Math.ceil(-recorded),
      seconds: Math.max(0, recorded),
      peak,
      isClipped,
    });
  });
  own.on("ended", (recording) => {
    if (recorder !== own) return;
    recorder = undefined;
    const clip = withoutCountdown(recording);
    const isLost = clip === undefined && recording.endedBy === "device_lost";
    const { code, message } = new RecorderError("no_device");
    useRecording.setState(isLost ? { ...IDLE, trouble: { code, message } } : IDLE);
    if (clip !== undefined) void takeRecording(clip, beginnings);
  });
  try {
    await own.start();
  } catch (error) {
    if (recorder !== own) return;
    recorder = undefined;
    const { code, message } = toRecorderError(error);
    useRecording.setState({ ...IDLE, trouble: { code, message } });
  }
}

/** Ends the recording; during the countdown there is none. */
export function stopRecording(): void {
  if (useRecording.getState().phase === "recording") {
    recorder?.stop().catch(() => cancelRecording());
  } else cancelRecording();
}

/** Gives the microphone back and keeps nothing. */
export function cancelRecording(): void {
  const own = recorder;
  recorder = undefined;
  own?.cancel();
  useRecording.setState(IDLE);
}

function withoutCountdown({ planes, sampleRate, seconds }: Recording) {
  if (seconds - COUNTDOWN_SECONDS < SHORTEST_SECONDS) return undefined;
  const from = Math.round(COUNTDOWN_SECONDS * sampleRate);
  return { planes: planes.map((plane) => plane.slice(from)), sampleRate };
}
