import { setTimeout as sleep } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { BYTES } from "./buckets.ts";
import type { EngineReading } from "./engine-reading.ts";
import type { Outcome } from "./labels.ts";
import { Metrics } from "./metrics.ts";
import type { ModelMetrics } from "./model-metrics.ts";
import { RecentValues } from "./observe.ts";
import type { RequestInfo } from "./request-metrics.ts";

const RATE = 48000;
const FRAME = { frames: 1, samples: 3840 };
const STREAM: RequestInfo = {
  model: "starter",
  voiceKind: "preset",
  transport: "http_stream",
  format: "pcm",
  textChars: 12,
};

let clock = 0;
let metrics: Metrics;
let model: ModelMetrics;
beforeEach(() => {
  clock = 100;
  metrics = new Metrics({ now: () => clock });
  model = metrics.forModel({ names: ["starter", "tts-1"], sampleRate: RATE });
});
afterEach(() => metrics.close());

const end = (outcome: Outcome, generationSeconds = 0.1) => ({
  outcome,
  generationSeconds,
  truncated: false,
});

/** The value of the series whose line begins like that; labels may come in any order. */
async function value(name: string, ...labels: string[]): Promise<number | undefined> {
  const lines = (await metrics.text()).split("\n");
  const line = lines.find(
    (text) =>
      (text.startsWith(`${name} `) || text.startsWith(`${name}{`)) &&
      labels.every((label) => text.includes(label)),
  );
  return line === undefined ? undefined : Number(line.split(" ").pop());
}

const READING: EngineReading = {
  frames: 9,
  leadMsMin: 250,
  underruns: 2,
  yields: 7,
  tickFixedMs: 4,
  tickSequenceMs: 8,
  tickPromptMs: 1,
  cancelMsP50: 4,
  cancelMsP99: 12,
  cancelMsMax: 30,
  voiceCacheHits: 3,
  voiceCacheMisses: 1,
  weightBytes: 10,
  sequenceBytes: 20,
  voiceCacheBytes: 30,
};

describe("a stream", () => {
  it("moves both families by the same amounts", async () => {
    const request = model.requestStarted(STREAM);
    expect(await value("tts_active_requests")).toBe(1);
    expect(await value("vllm:omni_num_requests_waiting")).toBe(1);
    clock += 0.02;
    request.admitted();
    expect(await value("vllm:omni_num_requests_waiting")).toBe(0);
    expect(await value("vllm:omni_num_requests_running")).toBe(1);
    clock += 0.02;
    request.chunk({ frames: 0, samples: 0 });
    clock += 0.02;
    request.chunk(FRAME);
    clock += 0.05;
    request.chunk({ frames: 4, samples: 4 * 3840 });
    metrics.encoded("pcm", 0.001);
    clock += 0.01;
    request.finished(end("stop"));
    request.finished(end("error"));
    request.chunk(FRAME);

    expect(await value("vllm:omni_audio_ttfp_s_sum")).toBeCloseTo(0.06);
    expect(await value("tts_time_to_first_audio_seconds_sum")).toBeCloseTo(0.06);
    expect(await value("tts_queue_wait_seconds_sum")).toBeCloseTo(0.02);
    expect(await value("tts_inter_chunk_seconds_sum")).toBeCloseTo(0.05);
    expect(await value("tts_first_chunk_frames_sum")).toBe(1);
    expect(await value("tts_chunk_frames_sum")).toBe(5);
    expect(await value("vllm:omni_e2e_request_latency_s_sum")).toBeCloseTo(0.12);
    expect(await value("tts_request_duration_seconds_sum")).toBeCloseTo(0.12);
    expect(await value("vllm:omni_audio_duration_s_sum")).toBeCloseTo(0.4);
    expect(await value("vllm:omni_audio_rtf_sum")).toBeCloseTo(0.25);
    expect(await value("tts_realtime_factor_sum")).toBeCloseTo(0.25);
    expect(await value("tts_tokens_per_second_sum")).toBeCloseTo(50);
    expect(await value("vllm:omni_audio_frames_total")).toBe(5 * 3840);
    expect(await value("tts_audio_seconds_total")).toBeCloseTo(0.4);
    expect(await value("tts_text_chars_total")).toBe(12);
    expect(await value("vllm:omni_requests_success_total", 'finished_reason="stop"')).toBe(1);
    expect(await value("vllm:omni_audio_streams_completed_total")).toBe(1);
    expect(await value("vllm:omni_audio_continuity_ok_total", 'threshold_ms="100"')).toBe(1);
    expect(await value("tts_encode_seconds_count", 'format="pcm"')).toBe(1);
    expect(await value("tts_requests_total", 'outcome="stop"')).toBe(1);
    expect(await value("tts_requests_total", 'outcome="error"')).toBeUndefined();
    expect(await value("vllm:omni_num_requests_running")).toBe(0);
    expect(await value("tts_active_requests")).toBe(0);
    expect(metrics.recent()).toMatchObject({ rtfP50: 0.25 });
  });

  it("tells gaps from smooth speech", async () => {
    const request = model.requestStarted(STREAM);
    request.chunk(FRAME);
    clock += 0.5;
    request.chunk(FRAME);
    request.finished(end("length"));
    expect(await value("vllm:omni_audio_underrun_s_sum")).toBeCloseTo(0.42);
    expect(await value("vllm:omni_audio_continuity_ok_total")).toBeUndefined();
    expect(await value("tts_underruns_total")).toBe(1);
  });

  it.each(["cancelled", "closed", "error", "engine_dead"] as const)(
    "that ends with %s is aborted, once, from any state",
    async (outcome) => {
      model.requestStarted(STREAM).finished(end(outcome));
      const running = model.requestStarted(STREAM);
      running.chunk(FRAME);
      running.cancelled(0.003);
      running.finished(end(outcome));
      expect(await value("vllm:omni_audio_streams_aborted_total", outcome)).toBe(2);
      expect(await value("vllm:omni_num_requests_running")).toBe(0);
      expect(await value("vllm:omni_num_requests_waiting")).toBe(0);
      expect(await value("tts_active_requests")).toBe(0);
      expect(await value("vllm:omni_audio_underrun_s_count")).toBeUndefined();
      const left = outcome === "cancelled" || outcome === "closed";
      expect(await value("vllm:omni_requests_success_total", "abort")).toBe(left ? 2 : undefined);
    },
  );
});

describe("a request that is answered in one piece", () => {
  it("has no time to first audio and no continuity", async () => {
    const request = model.requestStarted({ ...STREAM, transport: "http", format: "mp3" });
    request.chunk(FRAME);
    request.finished({ ...end("length"), truncated: true });
    expect(await value("vllm:omni_audio_ttfp_s_count")).toBeUndefined();
    expect(await value("vllm:omni_audio_streams_completed_total")).toBeUndefined();
    expect(await value("vllm:omni_audio_rtf_count")).toBe(1);
    expect(await value("tts_truncated_total", 'transport="http"', 'format="mp3"')).toBe(1);
  });

  it("is left out of the audio metrics when it has none", async () => {
    model.requestStarted(STREAM).finished(end("stop"));
    expect(await value("vllm:omni_audio_skipped_requests_total", "no_audio_data")).toBe(1);
    expect(await value("vllm:omni_audio_rtf_count")).toBeUndefined();
  });
});

describe("labels", () => {
  it("stay few, whatever clients write, and never hold names or text", async () => {
    model.requestStarted(STREAM).finished(end("stop"));
    const before = (await metrics.text()).split("\n").length;
    for (let index = 0; index < 500; index += 1) {
      const request = model.requestStarted({ ...STREAM, model: `secret-model-${index}` });
      request.finished(end("stop"));
      metrics.rejected("invalid_voice");
    }
    const text = await metrics.text();
    expect(text).not.toContain("secret-model");
    expect(text).toContain('model="other"');
    expect(text.split("\n").length - before).toBeLessThan(120);
    const names = [...text.matchAll(/[{,](\w+)="/g)].map(([, name]) => name);
    const allowed = [
      "model",
      "model_name",
      "voice_kind",
      "transport",
      "format",
      "stage",
      "replica",
    ];
    const other = ["outcome", "finished_reason", "reason", "result", "kind", "le", "quantile"];
    const node = ["type", "space", "version", "major", "minor", "patch", "threshold_ms"];
    for (const name of new Set(names)) expect([...allowed, ...other, ...node]).toContain(name);
  });

  it("give served names their own series", async () => {
    model.requestStarted({ ...STREAM, model: "tts-1" }).finished(end("stop"));
    model.requestStarted({ ...STREAM, model: undefined }).finished(end("stop"));
    expect(await value("tts_requests_total", 'model="tts-1"')).toBe(1);
    expect(await value("tts_requests_total", 'model="starter"')).toBe(1);
  });
});

describe("what a status page shows", () => {
  it("counts streams that ended, and those without a gap", () => {
    for (const gap of [0.05, 0.5]) {
      const request = model.requestStarted(STREAM);
      request.chunk(FRAME);
      clock += gap;
      request.chunk(FRAME);
      request.finished(end("stop"));
    }
    model.requestStarted(STREAM).finished(end("closed"));
    expect(metrics.recent()).toMatchObject({ streams: 2, streamsContinuous: 1, underruns: 1 });
  });

  it("keeps the last hour and day: first audio, gaps, failures and refusals", () => {
    const late = model.requestStarted(STREAM);
    clock += 0.2;
    late.chunk(FRAME);
    clock += 5;
    late.chunk(FRAME);
    late.finished(end("stop"));
    const broken = model.requestStarted({ ...STREAM, transport: "http" });
    clock += 9;
    broken.chunk(FRAME);
    broken.finished(end("error"));
    model.requestStarted(STREAM).finished(end("cancelled"));
    metrics.rejected("overloaded");
    const counted = { streams: 1, streamsContinuous: 0, requests: 3, failed: 1, refused: 1 };
    const { past } = metrics.recent();
    expect(past).toMatchObject([counted, counted]);
    // Only streams have a first audio: the 9 s of the other request are not in it.
    expect(past[0]?.ttfaP99Ms).toBeGreaterThan(190);
    expect(past[0]?.ttfaP99Ms).toBeLessThan(210);
  });

  it("lists failures by code, the latest first", () => {
    metrics.rejected("invalid_voice");
    metrics.rejected("overloaded");
    metrics.rejected("invalid_voice");
    model.requestStarted(STREAM).finished(end("error"));
    model.requestStarted(STREAM).finished(end("cancelled"));
    const { failures } = metrics.recent();
    expect(failures.map(({ code, count }) => [code, count])).toEqual([
      ["generation_failed", 1],
      ["invalid_voice", 2],
      ["overloaded", 1],
    ]);
  });

  it("has no figures of an engine before one is there", () => {
    expect(metrics.recent().engine).toBeUndefined();
    const reading = { frames: 3 } as EngineReading;
    model.watchEngine(() => reading);
    expect(metrics.recent().engine).toBe(reading);
  });
});

describe("several models", () => {
  const OTHER = 'model_name="other"';

  it("have a series each, and those of an engine that is gone are gone", async () => {
    const other = metrics.forModel({ names: ["other"], sampleRate: RATE / 2 });
    let reading: EngineReading | undefined = { ...READING, frames: 100, weightBytes: 7 };
    model.watchEngine(() => READING);
    other.watchEngine(() => reading);
    other.watchLoad(() =>
      reading === undefined ? undefined : { active: 1, waiting: 0, capacity: 4 },
    );
    const request = other.requestStarted({ ...STREAM, model: undefined });
    request.chunk(FRAME);
    request.finished(end("stop"));
    expect(await value("vllm:omni_audio_duration_s_sum", OTHER)).toBeCloseTo(0.16);
    expect(await value("vllm:omni_audio_duration_s_sum", 'model_name="starter"')).toBeUndefined();
    expect(await value("tts_engine_frames_total", OTHER)).toBe(100);
    expect(await value("tts_engine_frames_total", 'model_name="starter"')).toBe(9);
    expect(await value("tts_streams_capacity", OTHER)).toBe(4);
    reading = undefined;
    expect(await value("tts_engine_frames_total", OTHER)).toBeUndefined();
    expect(await value("tts_engine_memory_bytes", OTHER)).toBeUndefined();
    expect(await value("tts_streams_capacity", OTHER)).toBeUndefined();
    expect(await value("tts_engine_frames_total", 'model_name="starter"')).toBe(9);
  });

  it("are one engine where the whole server is looked at", () => {
    const other = metrics.forModel({ names: ["other"], sampleRate: RATE });
    model.watchEngine(() => READING);
    other.watchEngine(() => ({ ...READING, frames: 1, leadMsMin: 0, tickFixedMs: 6 }));
    expect(metrics.recent().engine).toMatchObject({
      frames: 10,
      leadMsMin: 250,
      tickFixedMs: 6,
      weightBytes: 20,
    });
  });
});

describe("the server's own metrics", () => {
  it("have the documented names", async () => {
    const text = await metrics.text();
    const documented = `
      vllm:omni_num_requests_running vllm:omni_num_requests_waiting vllm:omni_requests_success_total
      vllm:omni_e2e_request_latency_s vllm:omni_audio_ttfp_s vllm:omni_audio_duration_s
      vllm:omni_audio_rtf vllm:omni_audio_frames_total vllm:omni_audio_underrun_s
      vllm:omni_audio_continuity_ok_total vllm:omni_audio_skipped_requests_total
      vllm:omni_transfer_size_bytes vllm:omni_transfer_tx_s vllm:omni_transfer_rx_s
      vllm:omni_transfer_in_flight_s tts_request_duration_seconds tts_time_to_first_audio_seconds
      tts_realtime_factor tts_active_requests tts_tokens_per_second tts_queue_wait_seconds
      tts_inter_chunk_seconds tts_first_chunk_frames tts_cancel_latency_seconds tts_rejected_total
      tts_ref_audio_fetch_seconds tts_ref_cache_total tts_ws_sessions tts_ws_resumes_total
      tts_encode_seconds tts_text_chars_total tts_audio_seconds_total tts_truncated_total
      nodejs_eventloop_lag_seconds tts_eventloop_delay_seconds tts_voice_cache_total
      tts_engine_memory_bytes tts_underruns_total tts_chunk_frames`;
    for (const name of documented.trim().split(/\s+/)) expect(text).toContain(`# TYPE ${name} `);
    expect(metrics.contentType).toContain("text/plain");
    expect(BYTES.at(-1)).toBe(268435456);
  });

  it("follow sessions, references, transfers and the engine", async () => {
    metrics.sessionOpened();
    metrics.sessionOpened();
    metrics.sessionClosed();
    metrics.sessionResumed("unavailable");
    metrics.referenceFetched(0.2);
    metrics.referenceLookedUp("hit");
    model.transferred({ bytes: 7680, sendSeconds: 0, receiveSeconds: 0, inFlightSeconds: 0.001 });
    let hits = 3;
    model.watchEngine(() => ({ ...READING, voiceCacheHits: hits }));
    expect(await value("tts_voice_cache_total", 'result="hit"')).toBe(3);
    hits = 5;
    expect(await value("tts_voice_cache_total", 'result="hit"')).toBe(5);
    expect(await value("tts_engine_memory_bytes", 'kind="sequences"')).toBe(20);
    expect(await value("tts_engine_cancel_seconds", 'quantile="0.99"')).toBe(0.012);
    expect(await value("tts_engine_frames_total")).toBe(9);
    expect(await value("tts_engine_underruns_total")).toBe(2);
    expect(await value("tts_engine_yields_total")).toBe(7);
    expect(await value("tts_engine_lead_min_seconds")).toBe(0.25);
    expect(await value("tts_engine_tick_seconds", 'part="sequence"')).toBe(0.008);
    model.watchLoad(() => ({ active: 3, waiting: 1, capacity: 5 }));
    expect(await value("tts_streams_active")).toBe(3);
    expect(await value("tts_streams_waiting")).toBe(1);
    expect(await value("tts_streams_capacity")).toBe(5);
    expect(await value("tts_ws_sessions")).toBe(1);
    expect(await value("tts_ws_resumes_total", 'result="unavailable"')).toBe(1);
    expect(await value("tts_ref_audio_fetch_seconds_count")).toBe(1);
    expect(await value("tts_ref_cache_total", 'result="hit"')).toBe(1);
    expect(await value("vllm:omni_transfer_size_bytes_sum")).toBe(7680);
  });

  it("survive a clock that goes back and figures that are no numbers", async () => {
    const request = model.requestStarted({ ...STREAM, textChars: Number.NaN });
    clock -= 10;
    request.chunk(FRAME);
    clock -= 10;
    request.chunk(FRAME);
    request.finished(end("stop", Number.NaN));
    const values = (await metrics.text())
      .split("\n")
      .filter((line) => /^(tts_|vllm:)/.test(line))
      .map((line) => Number(line.split(" ").pop()));
    expect(values.every((number) => number >= 0)).toBe(true);
  });

  it("see a blocked event loop", async () => {
    await sleep(50);
    const until = performance.now() + 80;
    while (performance.now() < until);
    await sleep(50);
    expect(metrics.recent().eventLoopP99Ms).toBeGreaterThan(20);
    expect(await value("tts_eventloop_delay_seconds_count")).toBeGreaterThan(1);
  });
});

describe("recent values", () => {
  it("forget the oldest and interpolate", () => {
    const recent = new RecentValues(4);
    expect(recent.percentile(0.5)).toBe(0);
    for (const number of [100, 1, 2, 3, 4, Number.NaN]) recent.add(number);
    expect(recent.percentile(0.5)).toBe(2.5);
    expect(recent.percentile(1)).toBe(4);
  });
});
