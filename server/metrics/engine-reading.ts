/** Figures of engines, and those of several as one. Pure. */

/** Totals and gauges of an engine, read when metrics are asked for. */
export interface EngineReading {
  readonly frames: number;
  /** Least audio in milliseconds that a listener has to hear. */
  readonly leadMsMin: number;
  /** Chunks that came after their listener had run dry. */
  readonly underruns: number;
  /** Frames that were put off for listeners who had less to hear. */
  readonly yields: number;
  /** What a tick costs, what each generation in it adds, and what falls to a frame of other work, in milliseconds. */
  readonly tickFixedMs: number;
  readonly tickSequenceMs: number;
  readonly tickPromptMs: number;
  /** Milliseconds from cancel to release. */
  readonly cancelMsP50: number;
  readonly cancelMsP99: number;
  readonly cancelMsMax: number;
  readonly voiceCacheHits: number;
  readonly voiceCacheMisses: number;
  readonly weightBytes: number;
  readonly sequenceBytes: number;
  readonly voiceCacheBytes: number;
}

/** Who is spoken to now. */
export interface LoadReading {
  readonly active: number;
  readonly waiting: number;
  readonly capacity: number;
}

/**
 * The engines of several models as one: totals and memory are sums, the lead is that of the listener who has least to hear
 * of those who have any, and costs are those of the slowest. Undefined without any.
 */
export function together(readings: readonly EngineReading[]): EngineReading | undefined {
  const [only] = readings;
  if (only === undefined || readings.length === 1) return only;
  const all = (key: keyof EngineReading) => readings.map((reading) => reading[key]);
  const sum = (key: keyof EngineReading) => all(key).reduce((total, value) => total + value, 0);
  const most = (key: keyof EngineReading) => Math.max(...all(key));
  const leads = all("leadMsMin").filter((lead) => lead !== 0);
  return {
    frames: sum("frames"),
    leadMsMin: leads.length === 0 ? 0 : Math.min(...leads),
    underruns: sum("underruns"),
    yields: sum("yields"),
    tickFixedMs: most("tickFixedMs"),
    tickSequenceMs: most("tickSequenceMs"),
    tickPromptMs: most("tickPromptMs"),
    cancelMsP50: most("cancelMsP50"),
    cancelMsP99: most("cancelMsP99"),
    cancelMsMax: most("cancelMsMax"),
    voiceCacheHits: sum("voiceCacheHits"),
    voiceCacheMisses: sum("voiceCacheMisses"),
    weightBytes: sum("weightBytes"),
    sequenceBytes: sum("sequenceBytes"),
    voiceCacheBytes: sum("voiceCacheBytes"),
  };
}
