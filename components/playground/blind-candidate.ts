import type { TakeAudio } from "../audio/take-audio.ts";
import type { Take } from "../store/takes.ts";

/** A take that is compared, with its sound and the change of level that matches it to the others. */
export interface Candidate {
  readonly take: Take;
  readonly sound: TakeAudio;
  readonly gainDb: number;
}
