/**
 * Listening to one stream of the load. What arrives faster than it is heard would run away from the ear, so a request that
 * is heard plays to its end, and the next that begins afterwards follows.
 */
import type { StressSoundInfo } from "../../server/stress/types.ts";
import type { Playback } from "../audio/playback.ts";
import { sharedPlayer } from "../audio/player.ts";
import { TakeAudio } from "../audio/take-audio.ts";

export class LaneSound {
  #lane: number | null = null;
  #sound: TakeAudio | undefined;
  #playback: Playback | undefined;
  /** The request that arrives is the one that is heard. */
  #isTaken = false;
  readonly #onHeard: (isHeard: boolean) => void;

  /** @param onHeard told when sound of the lane begins and ends */
  constructor(onHeard: (isHeard: boolean) => void) {
    this.#onHeard = onHeard;
  }

  /** Begins with another lane, or falls silent. Call it inside a gesture. */
  choose(lane: number | null): void {
    if (lane !== null) sharedPlayer().unlock();
    this.#lane = lane;
    this.#isTaken = false;
    this.#playback?.stop();
    this.#playback = undefined;
    this.#sound = undefined;
    this.#onHeard(false);
  }

  push({ lane, sampleRate, channels, first }: StressSoundInfo, pcm: Uint8Array): void {
    if (lane !== this.#lane) return;
    if (first) {
      this.#sound?.finish();
      this.#isTaken = this.#playback === undefined;
      if (this.#isTaken) this.#begin(sampleRate, channels === 1 ? 1 : 2);
    }
    if (this.#isTaken) this.#sound?.push(pcm);
  }

  /** No more sound will come; what is there is heard to its end. */
  finish(): void {
    this.#sound?.finish();
  }

  #begin(sampleRate: number, channels: 1 | 2): void {
    const sound = new TakeAudio({ sampleRate, channels });
    const playback = sharedPlayer().play(sound);
    this.#sound = sound;
    this.#playback = playback;
    this.#onHeard(true);
    playback.on("state", (state) => {
      if (this.#playback !== playback || !["ended", "stopped", "failed"].includes(state)) return;
      this.#playback = undefined;
      this.#isTaken = false;
      this.#onHeard(false);
    });
  }
}
