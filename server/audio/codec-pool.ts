/**
 * Threads for decoders: at most two, started when first needed, kept for the next upload, and stopped for good when a
 * file takes too long or the caller goes away. They never keep the process alive.
 */
import { Worker } from "node:worker_threads";
import { AudioError, corrupt, tooLong } from "./error.ts";

/** One file to decode; see codec-worker.mjs for the codecs. */
export interface CodecJob {
  readonly codec: "mp3" | "flac" | "ogg-vorbis" | "ogg-opus" | "opus-packets" | "ffmpeg";
  readonly bytes: Uint8Array;
  readonly packetSizes?: number[];
  readonly channels?: number;
  readonly preSkip?: number;
  readonly maxSeconds: number;
  readonly maxSamples: number;
}

/** Interleaved samples [frames * channels] at `sampleRate` Hz. */
export interface CodecResult {
  readonly pcm: Float32Array;
  readonly channels: number;
  readonly sampleRate: number;
}

type CodecAnswer =
  | ({ readonly ok: true } & CodecResult)
  | { readonly ok: false; readonly reason: "too_long" | "undecodable" };

const MAX_WORKERS = 2;

const idle: Worker[] = [];
const waiting: Array<() => void> = [];
let busy = 0;

/**
 * Decodes one file in a thread.
 * @throws AudioError `corrupt`, `too_long`, `timeout` after `timeoutMs` of decoding, or `aborted`.
 */
export async function runCodec(
  job: CodecJob,
  format: string,
  timeoutMs: number,
  signal?: AbortSignal,
): Promise<CodecResult> {
  if (busy >= MAX_WORKERS) await new Promise<void>((resolve) => waiting.push(resolve));
  else busy++;
  try {
    if (signal?.aborted) throw aborted();
    const answer = await ask(job, format, timeoutMs, signal);
    if (answer.ok) return answer;
    throw answer.reason === "too_long"
      ? tooLong(job.maxSeconds)
      : corrupt(format, "is damaged or uses a codec that cannot be read");
  } finally {
    const next = waiting.shift();
    if (next !== undefined) next();
    else busy--;
  }
}

function ask(
  job: CodecJob,
  format: string,
  timeoutMs: number,
  signal: AbortSignal | undefined,
): Promise<CodecAnswer> {
  const worker = idle.pop() ?? startWorker();
  const bytes = new Uint8Array(job.bytes);
  return new Promise((resolve, reject) => {
    const release = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      worker.off("message", onMessage).off("exit", onExit).unref();
    };
    const fail = (error: AudioError) => {
      release();
      void worker.terminate();
      reject(error);
    };
    const onMessage = (answer: CodecAnswer) => {
      release();
      idle.push(worker);
      resolve(answer);
    };
    const onExit = () => fail(corrupt(format, "makes its decoder fail"));
    const onAbort = () => fail(aborted());
    const timer = setTimeout(() => fail(timedOut(timeoutMs)), timeoutMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    worker.on("message", onMessage).on("exit", onExit).ref();
    worker.postMessage({ ...job, bytes }, [bytes.buffer]);
  });
}

/** A worker that dies by itself emits "error" and then "exit"; only the second is acted on. */
function startWorker(): Worker {
  const worker = new Worker(new URL("./codec-worker.mjs", import.meta.url), {
    execArgv: [],
    env: {},
    stdout: true,
    stderr: true,
  });
  worker.on("error", () => {});
  worker.on("exit", () => {
    const at = idle.indexOf(worker);
    if (at >= 0) idle.splice(at, 1);
  });
  return worker;
}

function aborted(): AudioError {
  return new AudioError("aborted", "Decoding was cancelled.");
}

function timedOut(timeoutMs: number): AudioError {
  const allowed = `the ${timeoutMs / 1000} s that are allowed`;
  return new AudioError("timeout", `Could not decode audio file: it took more than ${allowed}.`);
}
