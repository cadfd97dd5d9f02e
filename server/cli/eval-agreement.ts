/** Arithmetic of `npm run eval -- greedy`: how far one engine's frames are those of another. */

/** What was counted for one sentence, or for many of them together. */
export interface Agreement {
  readonly frames: number;
  /** Frames with the same code in every codebook. */
  readonly equal: number;
  /** Frames in place of which the engine would have stopped. */
  readonly stopped: number;
  /**
   * For each codebook the frames that differ there first. Each code of a frame follows from those before it, so what
   * differs later in the same frame says nothing.
   */
  readonly firstDifferences: readonly number[];
}

/**
 * Compares frame by frame.
 * @param wanted the reference's frames, each one code for every codebook
 * @param got the other engine's; undefined where it would have stopped
 */
export function compareFrames(
  wanted: readonly Int32Array[],
  got: readonly (Int32Array | undefined)[],
): Agreement {
  let equal = 0;
  let stopped = 0;
  const firstDifferences = Array<number>(wanted[0]?.length ?? 0).fill(0);
  for (const [i, codes] of wanted.entries()) {
    const others = got[i];
    const book = others === undefined ? -1 : codes.findIndex((code, k) => code !== others[k]);
    if (others === undefined) stopped++;
    else if (book < 0) equal++;
    else firstDifferences[book] = (firstDifferences[book] ?? 0) + 1;
  }
  return { frames: wanted.length, equal, stopped, firstDifferences };
}

/** Several sentences together: each frame counts the same. */
export function sumAgreements(all: readonly Agreement[]): Agreement {
  const books = Math.max(0, ...all.map(({ firstDifferences }) => firstDifferences.length));
  const total = (of: (agreement: Agreement) => number) => all.reduce((n, one) => n + of(one), 0);
  return {
    frames: total(({ frames }) => frames),
    equal: total(({ equal }) => equal),
    stopped: total(({ stopped }) => stopped),
    firstDifferences: Array.from({ length: books }, (_, book) =>
      total(({ firstDifferences }) => firstDifferences[book] ?? 0),
    ),
  };
}

/** Equal frames in percent; 0 of nothing. */
export function equalShare({ frames, equal }: Agreement): number {
  return frames > 0 ? (100 * equal) / frames : 0;
}
