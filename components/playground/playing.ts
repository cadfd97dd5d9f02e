/**
 * What the page plays: one take at a time, live or finished. The state that components show; position and level change many
 * times a second and are asked for instead (`playhead`, `currentLevel`).
 */
"use client";
import { create } from "zustand";
import type { Level, Playback, PlaybackState } from "../audio/playback.ts";
import { sharedPlayer } from "../audio/player.ts";
import type { TakeAudio } from "../audio/take-audio.ts";
import { loadSound } from "../store/history.ts";
import { useSettings } from "../store/settings.ts";
import { changeTake, isFinished, takeById } from "../store/takes.ts";
import { refreshOutput } from "./output.ts";
import { wasWritersPause } from "./pauses.ts";

interface PlayingState {
  /** Take that is played or was last. */
  readonly take: string | undefined;
  readonly state: PlaybackState | "idle";
  readonly loops: boolean;
}

export const usePlaying = create<PlayingState>()(() => ({
  take: undefined,
  state: "idle",
  loops: false,
}));

let playback: Playback | undefined;
let level: Level | undefined;

/** Whether sound comes out, or would if the browser let it. */
export function isSounding(state: PlayingState["state"]): boolean {
  return ["starting", "playing", "waiting", "blocked", "interrupted"].includes(state);
}

interface PlayWish {
  readonly fromMs?: number;
  /** Counts underruns as those of the take, since they are its delivery's. */
  readonly live?: boolean;
  /** Likely length of a take that is still being made. */
  readonly expectedSeconds?: number;
}

/**
 * Starts playing the sound of a take that is being made or is finished.
 */
export function playSound(
  id: string,
  sound: TakeAudio,
  { fromMs = 0, live = false, expectedSeconds }: PlayWish = {},
): Playback {
  const player = sharedPlayer();
  player.volume = useSettings.getState().volume;
  const started = player.play(sound, {
    from: (fromMs / 1000) * sound.sampleRate,
    ...(expectedSeconds === undefined ? {} : { expectedSeconds }),
  });
  playback = started;
  usePlaying.setState({ take: id, state: started.state });
  started.on("state", (state) => {
    if (playback !== started) return;
    usePlaying.setState({ state });
    refreshOutput();
    if (state === "ended" && usePlaying.getState().loops) started.resume();
  });
  started.on("level", (now) => {
    if (playback === started) level = now;
  });
  if (live) {
    started.on("underrun", ({ frame, seconds }) => {
      const underrun = { atMs: (1000 * frame) / sound.sampleRate, durationMs: 1000 * seconds };
      const sinceMs = performance.now() - underrun.durationMs;
      changeTake(id, ({ sentences, underruns }) =>
        wasWritersPause(sentences, underrun.atMs, sinceMs)
          ? {}
          : { underruns: [...underruns, underrun] },
      );
    });
  }
  return started;
}

/** Plays a take of the list, from its store if need be. Call it inside a gesture. */
export async function playTake(id: string, fromMs = 0): Promise<void> {
  sharedPlayer().unlock();
  const take = takeById(id);
  if (take === undefined) return;
  const sound = await loadSound(take);
  if (sound !== undefined) playSound(id, sound, { fromMs, live: !isFinished(take) });
}

/** Space: pauses what plays, goes on with what is paused, or plays the take from its start. */
export function togglePlay(id: string | undefined): void {
  const { take, state } = usePlaying.getState();
  sharedPlayer().unlock();
  const isHere = take === id && playback !== undefined;
  if (isHere && (state === "paused" || state === "ended")) playback?.resume();
  // Unlocking is all that these wait for.
  else if (isHere && (state === "blocked" || state === "interrupted")) return;
  else if (isHere && isSounding(state)) playback?.pause();
  else if (id !== undefined) void playTake(id);
}

/** Goes to a place of a take, and plays it if it does not play. */
export function seekTo(id: string, ms: number): void {
  const { take, state } = usePlaying.getState();
  const isHere = take === id && playback !== undefined && state !== "stopped" && state !== "failed";
  if (!isHere || playback === undefined) {
    void playTake(id, ms);
    return;
  }
  const wasEnded = state === "ended";
  playback.seek((ms / 1000) * playback.audio.sampleRate);
  if (wasEnded) playback.resume();
}

export function silence(): void {
  playback?.stop();
}

export function setVolume(volume: number): void {
  useSettings.setState({ volume });
  sharedPlayer().volume = volume;
}

/** What is heard of a take now, in milliseconds; undefined if another one is played. */
export function playhead(id: string | undefined): number | undefined {
  if (playback === undefined || usePlaying.getState().take !== id) return undefined;
  return (1000 * playback.audibleFrame) / playback.audio.sampleRate;
}

/** Sound that has arrived and not left, in milliseconds. */
export function leadMs(id: string): number {
  if (playback === undefined || usePlaying.getState().take !== id) return 0;
  return (1000 * (playback.audio.frames - playback.leftFrame)) / playback.audio.sampleRate;
}

/** Peak of what comes out, 0 to 1. */
export function currentLevel(): number {
  if (playback === undefined || usePlaying.getState().state !== "playing") return 0;
  return Math.max(...(level?.peak ?? [0]));
}
