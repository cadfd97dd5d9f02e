/**
 * Listening to recordings on this page: the draft as it came and as it will be, and what stored voices were made from. One
 * at a time, through the page's player, which also ends a sample that is being listened to.
 */
"use client";
import { create } from "zustand";
import { client } from "../api/client.ts";
import { decodeFile } from "../audio/decode-file.ts";
import { interleave } from "../audio/pcm.ts";
import type { Playback } from "../audio/playback.ts";
import { sharedPlayer } from "../audio/player.ts";
import { TakeAudio } from "../audio/take-audio.ts";
import { stopAudition } from "../playground/audition.ts";
import { fewChannels } from "./treatment.ts";

interface ListeningState {
  /** What is heard: `original`, `trimmed`, or the id of a voice; undefined for nothing. */
  readonly what: string | undefined;
}

export const useListening = create<ListeningState>()(() => ({ what: undefined }));

let playback: Playback | undefined;
let wish = 0;

/** Plays a sound. Call it inside a gesture. */
export function listen(what: string, sound: TakeAudio): void {
  stopAudition();
  wish++;
  const player = sharedPlayer();
  player.unlock();
  const started = player.play(sound);
  playback = started;
  useListening.setState({ what });
  started.on("state", (state) => {
    if (playback !== started || !["ended", "stopped", "failed"].includes(state)) return;
    playback = undefined;
    useListening.setState({ what: undefined });
  });
}

/**
 * Fetches and plays the recording that a voice was made from. Call it inside a gesture.
 * @throws SonantError, DecodeError
 */
export async function listenToRecording(voice: string): Promise<void> {
  stopListening();
  sharedPlayer().unlock();
  const own = ++wish;
  const { bytes } = await client().voiceAudio(voice);
  const decoded = await decodeFile(new Blob([bytes as Uint8Array<ArrayBuffer>]));
  if (own !== wish) return;
  const planes = fewChannels(decoded.planes);
  listen(voice, TakeAudio.of(interleave(planes), decoded.sampleRate, planes.length === 1 ? 1 : 2));
}

export function stopListening(): void {
  wish++;
  playback?.stop();
}

/** Where the sound is that is heard, in seconds; undefined if it is another one or none. */
export function heardSeconds(what: string): number | undefined {
  if (playback === undefined || useListening.getState().what !== what) return undefined;
  return playback.audibleFrame / playback.audio.sampleRate;
}
