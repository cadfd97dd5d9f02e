/**
 * The gauges of a server as the pages see them, one reading a second. Owns what has to be remembered between two readings
 * and nothing else.
 */
import type { ServedModel } from "../house/types.ts";
import type { PastFigures } from "../metrics/day-book.ts";
import type { EngineReading } from "../metrics/engine-reading.ts";
import type { ModelReading, PastWindow, StatusTick } from "../protocol/playground.ts";
import type { RealtimeDeps } from "./deps.ts";

const STATES: Readonly<Record<StatusTick["stage"], StatusTick["state"]>> = {
  loading: "warming_up",
  warming: "warming_up",
  ready: "ready",
  draining: "shutting_down",
  failed: "engine_dead",
};

/** Turns a total into a rate. */
export class Rate {
  #total: number | undefined;
  #at = 0;

  /**
   * @param total what has been counted so far; a smaller one than before means that the counting began anew
   * @param atMs on a clock that does not jump
   * @returns growth a second since the reading before; 0 for the first one
   */
  read(total: number, atMs: number): number {
    const before = this.#total;
    const seconds = (atMs - this.#at) / 1000;
    this.#total = total;
    this.#at = atMs;
    if (before === undefined || total < before || seconds <= 0) return 0;
    return (total - before) / seconds;
  }
}

export class StatusGauge {
  readonly #deps: Pick<RealtimeDeps, "models" | "metrics">;
  readonly #frames = new Rate();

  constructor(deps: Pick<RealtimeDeps, "models" | "metrics">) {
    this.#deps = deps;
  }

  /** @param sockets connections of pages that are open */
  read(sockets: number): StatusTick {
    const { models, metrics } = this.#deps;
    const { stage, reason } = models.state;
    const { active, waiting, capacity, expectedWaitMs } = models.load;
    const recent = metrics.recent();
    const { engine } = recent;
    return {
      at_ms: Date.now(),
      state: STATES[stage],
      stage,
      ...(reason === undefined ? {} : { reason }),
      uptime_s: process.uptime(),
      active,
      waiting,
      capacity,
      expected_wait_ms: expectedWaitMs,
      sockets,
      ttfa_p50_ms: recent.ttfaP50Ms,
      ttfa_p95_ms: recent.ttfaP95Ms,
      rtf_p50: recent.rtfP50,
      event_loop_p99_ms: recent.eventLoopP99Ms,
      resident_bytes: process.memoryUsage.rss(),
      frames_per_second: this.#frames.read(engine?.frames ?? 0, performance.now()),
      streams: recent.streams,
      streams_continuous: recent.streamsContinuous,
      underruns: recent.underruns,
      lead_ms_min: engine?.leadMsMin ?? 0,
      yields: engine?.yields ?? 0,
      tick_ms: engine === undefined ? 0 : tickMs(engine, active),
      voice_cache_hits: engine?.voiceCacheHits ?? 0,
      voice_cache_misses: engine?.voiceCacheMisses ?? 0,
      engine_bytes: engine === undefined ? 0 : bytesOf(engine),
      models: models.all.map(modelReading),
      past: recent.past.map(pastWindow),
      errors: recent.failures.map(({ code, count, lastAtMs }) => ({
        code,
        count,
        last_at_ms: lastAtMs,
      })),
    };
  }
}

function modelReading({ id, isDefault, state, load, reading }: ServedModel): ModelReading {
  const { stage, reason } = state;
  const { active, waiting, capacity } = load;
  const engine_bytes = reading === undefined ? 0 : bytesOf(reading);
  const told = reason === undefined ? {} : { reason };
  return { id, is_default: isDefault, stage, ...told, active, waiting, capacity, engine_bytes };
}

function pastWindow(past: PastFigures): PastWindow {
  return {
    window_s: past.windowSeconds,
    covered_s: past.coveredSeconds,
    ttfa_p50_ms: past.ttfaP50Ms,
    ttfa_p95_ms: past.ttfaP95Ms,
    ttfa_p99_ms: past.ttfaP99Ms,
    streams: past.streams,
    streams_continuous: past.streamsContinuous,
    requests: past.requests,
    failed: past.failed,
    refused: past.refused,
  };
}

function tickMs({ tickFixedMs, tickSequenceMs, tickPromptMs }: EngineReading, streams: number) {
  return tickFixedMs + (tickSequenceMs + tickPromptMs) * streams;
}

function bytesOf({ weightBytes, sequenceBytes, voiceCacheBytes }: EngineReading): number {
  return weightBytes + sequenceBytes + voiceCacheBytes;
}
