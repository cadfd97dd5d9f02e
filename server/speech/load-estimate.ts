/** What a unit costs on this machine, learned from those that were made: the basis of every promise about waiting. */

/** Weight of the newest unit. */
const NEWEST = 0.1;
/** A sentence, before any has been measured. */
const FRAMES_AT_FIRST = 45;
const FRAME_MS_AT_FIRST = 40;

export class LoadEstimate {
  #frameMs = FRAME_MS_AT_FIRST;
  #frames = FRAMES_AT_FIRST;
  #isMeasured = false;

  /** Time that a unit occupies a slot. */
  get unitMs(): number {
    return this.#frameMs * this.#frames;
  }

  /** A generation took `ms` in its slot, without pauses for its reader. */
  note(frames: number, ms: number): void {
    if (!(frames > 0 && ms >= 0)) return;
    this.#frames += NEWEST * (frames - this.#frames);
    this.noteFrame(ms / frames);
  }

  /** A frame took that long, in a generation of no typical length. */
  noteFrame(ms: number): void {
    this.#frameMs = this.#isMeasured ? this.#frameMs + NEWEST * (ms - this.#frameMs) : ms;
    this.#isMeasured = true;
  }
}
