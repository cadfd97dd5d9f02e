/**
 * Every metric with its name, help text, labels and buckets: the `vllm:omni_` family that existing dashboards read, and
 * our own `tts_` family. Names are an interface; they are listed here and nowhere else.
 */
import { Counter, Gauge, Histogram, type Registry, Summary } from "prom-client";
import {
  BYTES,
  CHUNK_FRAMES,
  FIRST_AUDIO_SECONDS,
  REQUEST_SECONDS,
  RTF,
  SHORT_SECONDS,
} from "./buckets.ts";
import { STAGE_LABELS, TRANSFER_LABELS, TTS_LABELS } from "./labels.ts";

type Names = readonly string[];

/** Makes metrics that belong to one registry. */
function maker(registry: Registry) {
  const registers = [registry];
  return {
    histogram: (name: string, help: string, labels: Names, buckets: number[]) =>
      new Histogram({ name, help, labelNames: [...labels], buckets, registers }),
    counter: (name: string, help: string, labels: Names = []) =>
      new Counter({ name, help, labelNames: [...labels], registers }),
    gauge: (name: string, help: string, labels: Names = []) =>
      new Gauge({ name, help, labelNames: [...labels], registers }),
    summary: (name: string, help: string, labels: Names) =>
      new Summary({
        name,
        help,
        labelNames: [...labels],
        percentiles: [0.5, 0.95, 0.99],
        registers,
      }),
  };
}

function omniFamily(registry: Registry) {
  const { histogram, counter, gauge } = maker(registry);
  const model = ["model_name"];
  const stage = STAGE_LABELS;
  const transfer = TRANSFER_LABELS;
  const prefix = "vllm:omni_";
  return {
    running: gauge(`${prefix}num_requests_running`, "Requests being spoken", model),
    waiting: gauge(`${prefix}num_requests_waiting`, "Requests in line", model),
    success: counter(`${prefix}requests_success_total`, "Requests that ended without a failure", [
      ...model,
      "finished_reason",
    ]),
    latency: histogram(
      `${prefix}e2e_request_latency_s`,
      "Time from request to end",
      model,
      REQUEST_SECONDS,
    ),
    ttfp: histogram(
      `${prefix}audio_ttfp_s`,
      "Time from request to first audio, streams only",
      stage,
      REQUEST_SECONDS,
    ),
    duration: histogram(`${prefix}audio_duration_s`, "Length of the audio", stage, REQUEST_SECONDS),
    rtf: histogram(`${prefix}audio_rtf`, "Generation time over audio time", stage, RTF),
    samples: counter(`${prefix}audio_frames_total`, "PCM samples of one channel", stage),
    underrun: histogram(
      `${prefix}audio_underrun_s`,
      "Longest shortfall of a real-time listener, finished streams only",
      stage,
      SHORT_SECONDS,
    ),
    continuous: counter(`${prefix}audio_continuity_ok_total`, "Finished streams without a gap", [
      ...stage,
      "threshold_ms",
    ]),
    skipped: counter(
      `${prefix}audio_skipped_requests_total`,
      "Requests left out of the audio metrics",
      [...stage, "reason"],
    ),
    streamsCompleted: counter(
      `${prefix}audio_streams_completed_total`,
      "Streams that reached their end",
      stage,
    ),
    streamsAborted: counter(`${prefix}audio_streams_aborted_total`, "Streams that did not", [
      ...stage,
      "reason",
    ]),
    transferBytes: histogram(
      `${prefix}transfer_size_bytes`,
      "Size of a hand-over",
      transfer,
      BYTES,
    ),
    transferSend: histogram(`${prefix}transfer_tx_s`, "Time to hand over", transfer, SHORT_SECONDS),
    transferReceive: histogram(
      `${prefix}transfer_rx_s`,
      "Time to take over",
      transfer,
      SHORT_SECONDS,
    ),
    transferFlight: histogram(
      `${prefix}transfer_in_flight_s`,
      "Time between hand-over and take-over",
      transfer,
      SHORT_SECONDS,
    ),
  };
}

function ttsFamily(registry: Registry) {
  const engine = engineFamily(registry);
  return { ...requestFamily(registry), ...engine, ofModels: Object.values(engine) };
}

/** What the engines say of themselves when metrics are asked for, under the model's main name. */
function engineFamily(registry: Registry) {
  const { counter, gauge } = maker(registry);
  const model = ["model_name"];
  return {
    voiceCache: counter("tts_voice_cache_total", "Look-ups of voices in the engine", [
      ...model,
      "result",
    ]),
    engineMemory: gauge("tts_engine_memory_bytes", "Memory of the engine", [...model, "kind"]),
    engineCancel: gauge(
      "tts_engine_cancel_seconds",
      "Time from cancel to release inside the engine, recent cancels; quantile 1: the longest ever",
      [...model, "quantile"],
    ),
    streamsActive: gauge("tts_streams_active", "Streams that have a slot of the engine", model),
    streamsWaiting: gauge("tts_streams_waiting", "Streams in line for one", model),
    streamsCapacity: gauge(
      "tts_streams_capacity",
      "Streams that can be spoken at once in real time, as measured",
      model,
    ),
    engineLead: gauge(
      "tts_engine_lead_min_seconds",
      "Least audio that a listener has to hear",
      model,
    ),
    engineUnderruns: counter(
      "tts_engine_underruns_total",
      "Chunks that came more than 100 ms after their listener had run dry",
      model,
    ),
    engineYields: counter(
      "tts_engine_yields_total",
      "Frames put off by streams that were ahead, for others about to run dry",
      model,
    ),
    engineTick: gauge(
      "tts_engine_tick_seconds",
      "Time of a tick, learned from the last ones: a fixed part, what each stream in it adds, and prompts for each frame",
      [...model, "part"],
    ),
    engineFrames: counter("tts_engine_frames_total", "Frames that the engine generated", model),
  };
}

function requestFamily(registry: Registry) {
  const { histogram, counter, gauge, summary } = maker(registry);
  const labels = TTS_LABELS;
  const short = (name: string, help: string, names: Names = []) =>
    histogram(`tts_${name}`, help, names, SHORT_SECONDS);
  return {
    duration: histogram(
      "tts_request_duration_seconds",
      "Time from request to end",
      labels,
      REQUEST_SECONDS,
    ),
    ttfa: histogram(
      "tts_time_to_first_audio_seconds",
      "Time from request to first audio, streams only",
      labels,
      FIRST_AUDIO_SECONDS,
    ),
    rtf: histogram("tts_realtime_factor", "Generation time over audio time", labels, RTF),
    active: gauge("tts_active_requests", "Requests in line or being spoken", labels),
    tokensPerSecond: summary("tts_tokens_per_second", "Frames generated in a second", labels),
    requests: counter("tts_requests_total", "Requests by how they ended", [...labels, "outcome"]),
    queueWait: short("queue_wait_seconds", "Time in line", labels),
    interChunk: short("inter_chunk_seconds", "Time between two chunks of a stream", labels),
    firstChunkFrames: histogram(
      "tts_first_chunk_frames",
      "Frames of the first chunk",
      labels,
      CHUNK_FRAMES,
    ),
    chunkFrames: histogram("tts_chunk_frames", "Frames of a chunk", labels, CHUNK_FRAMES),
    underruns: counter(
      "tts_underruns_total",
      "Chunks that came after the sound had run out",
      labels,
    ),
    cancelLatency: short("cancel_latency_seconds", "Time from cancel to the last audio sent"),
    rejected: counter("tts_rejected_total", "Requests that were refused", ["reason"]),
    refFetch: short("ref_audio_fetch_seconds", "Time to fetch a reference"),
    refCache: counter("tts_ref_cache_total", "Look-ups of references", ["result"]),
    sessions: gauge("tts_ws_sessions", "Open socket sessions"),
    resumes: counter("tts_ws_resumes_total", "Attempts to resume a session", ["result"]),
    encode: short(
      "encode_seconds",
      "Time to encode the audio of a request, or of a unit on a socket",
      ["format"],
    ),
    textChars: counter("tts_text_chars_total", "Code points of accepted text", labels),
    audioSeconds: counter("tts_audio_seconds_total", "Seconds of audio sent", labels),
    truncated: counter(
      "tts_truncated_total",
      "Requests whose audio was cut at the frame limit",
      labels,
    ),
    eventLoopDelay: short("eventloop_delay_seconds", "How late the event loop runs a timer"),
  };
}

/** Registers every metric. */
export function instruments(registry: Registry) {
  return { omni: omniFamily(registry), tts: ttsFamily(registry) };
}
export type Instruments = ReturnType<typeof instruments>;
