/** One small chunk first, then chunks of the same size: the emission rule and the decode windows that go with it. */

export interface SteadyState {
  readonly steady: number;
  /** Frames of the first chunk; 0, or the steady size, for none that is smaller. */
  readonly first: number;
  /** Frames generated so far. */
  readonly frames: number;
  readonly finished: boolean;
}

/**
 * Called once for each new frame: how many of the newest frames leave now. Undefined: hold them. Zero: nothing is
 * left, only the end is to be told.
 */
export function initialThenSteady({
  steady,
  first,
  frames,
  finished,
}: SteadyState): number | undefined {
  const small = first > 0 && first < steady;
  if (frames === 0) return finished ? 0 : undefined;
  if (small && frames <= first) return frames === first || finished ? frames : undefined;
  const since = frames - (small ? first : 0);
  const rest = since % steady;
  if (rest === 0) return steady;
  return finished ? rest : undefined;
}

/** Frames to decode again in front of the new ones, and all of the window, for a codec without memory. */
export interface DecodeWindow {
  readonly context: number;
  readonly window: number;
}

/** The window for `fresh` new frames at the end of `frames`, with at most `leftContext` older ones. */
export function decodeWindow(frames: number, fresh: number, leftContext: number): DecodeWindow {
  const window = Math.min(frames, leftContext + fresh);
  return { context: window - fresh, window };
}

/** The windows of a whole sequence of chunks. */
export function decodeWindows(chunks: readonly number[], leftContext: number): number[] {
  let frames = 0;
  return chunks.map((fresh) => {
    frames += fresh;
    return decodeWindow(frames, fresh, leftContext).window;
  });
}
