/**
 * The thread in which compressed uploads are decoded. A hostile file may keep a decoder busy or make it fail: here it
 * can be stopped from outside, and its messages stay off the console. One request at a time; every decoder stops as soon
 * as the limit is passed, so that a small file cannot ask for gigabytes.
 */
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { parentPort } from "node:worker_threads";

/**
 * @typedef {object} Job
 * @property {"mp3" | "flac" | "ogg-vorbis" | "ogg-opus" | "opus-packets" | "ffmpeg"} codec
 * @property {Uint8Array} bytes the file; for opus-packets the packets end to end
 * @property {number[]} [packetSizes] opus-packets: bytes of each packet
 * @property {number} [channels] opus-packets: 1 or 2
 * @property {number} [preSkip] opus-packets: samples to drop at the start, at 48 kHz
 * @property {number} maxSeconds
 * @property {number} maxSamples upper limit of frames times channels
 *
 * @typedef {{ pcm: Float32Array, channels: number, sampleRate: number }} Decoded
 * @typedef {{ channelData: Float32Array[], samplesDecoded: number, sampleRate: number }} Piece
 * @typedef {{ ok: true } & Decoded | { ok: false, reason: "too_long" | "undecodable" }} Answer
 */

/** Small steps bound what one call may return: 4 KiB of FLAC can hold tens of millions of constant samples. */
const STEP_BYTES = 4096;
const PACKETS_PER_STEP = 50;

class TooLong extends Error {}

/** Collects decoded pieces and enforces the limits. */
class Collector {
  /** @param {Job} job */
  constructor(job) {
    this.job = job;
    /** @type {Float32Array[][]} */
    this.pieces = [];
    this.frames = 0;
    this.channels = 0;
    this.sampleRate = 0;
  }

  /** @param {Piece} piece */
  add({ channelData, samplesDecoded, sampleRate }) {
    if (samplesDecoded <= 0 || channelData.length === 0) return;
    if (this.channels === 0) {
      this.channels = channelData.length;
      this.sampleRate = sampleRate;
    }
    if (channelData.length !== this.channels || sampleRate !== this.sampleRate) return;
    this.frames += channelData[0]?.length ?? 0;
    this.pieces.push(channelData);
    const { maxSeconds, maxSamples } = this.job;
    if (this.frames > maxSeconds * this.sampleRate || this.frames * this.channels > maxSamples) {
      throw new TooLong();
    }
  }

  /** @returns {Decoded} */
  join() {
    const pcm = new Float32Array(this.frames * this.channels);
    let at = 0;
    for (const planes of this.pieces) {
      const length = planes[0]?.length ?? 0;
      planes.forEach((plane, channel) => {
        for (let i = 0; i < length; i++) pcm[(at + i) * this.channels + channel] = plane[i] ?? 0;
      });
      at += length;
    }
    return { pcm, channels: this.channels, sampleRate: this.sampleRate };
  }
}

/**
 * Feeds a file to a streaming decoder, step by step.
 * @param {Job} job
 * @param {{ ready: Promise<void>, decode(bytes: Uint8Array): Piece | Promise<Piece>,
 *   flush?(): Promise<Piece>, free(): void }} decoder
 */
async function feed(job, decoder) {
  const collector = new Collector(job);
  await decoder.ready;
  try {
    for (let at = 0; at < job.bytes.length; at += STEP_BYTES) {
      collector.add(await decoder.decode(job.bytes.subarray(at, at + STEP_BYTES)));
    }
    if (decoder.flush !== undefined) collector.add(await decoder.flush());
  } catch (error) {
    if (error instanceof TooLong || collector.frames === 0) throw error;
  } finally {
    decoder.free();
  }
  return collector.join();
}

/** @param {Job} job */
async function decodeOpusPackets(job) {
  const { OpusDecoder } = await import("opus-decoder");
  const decoder = new OpusDecoder({ channels: job.channels ?? 1, preSkip: job.preSkip ?? 0 });
  const collector = new Collector(job);
  await decoder.ready;
  let end = 0;
  const packets = (job.packetSizes ?? []).map((size) => {
    end += size;
    return job.bytes.subarray(end - size, end);
  });
  try {
    for (let i = 0; i < packets.length; i += PACKETS_PER_STEP) {
      collector.add(decoder.decodeFrames(packets.slice(i, i + PACKETS_PER_STEP)));
    }
  } finally {
    decoder.free();
  }
  return collector.join();
}

/**
 * @typedef {object} FileDecoder
 * @property {number} sampleRate
 * @property {number} channelCount
 * @property {number} duration seconds; meaningless where the container does not state it
 * @property {(start: number, seconds: number, options: { multiChannel: boolean }) => Float32Array} decodeAudioData
 * @property {() => void} dispose
 */

/** @type {Promise<(bytes: ArrayBuffer) => Promise<FileDecoder>> | undefined} */
let fileDecoder;

/**
 * Loads the decoder for m4a and AAC. Its package is made for bundlers: an ES module in a file that Node takes for
 * CommonJS, which asks `fetch` for its WebAssembly. In this thread nothing else uses `fetch`.
 */
async function loadFileDecoder() {
  const require = createRequire(import.meta.url);
  const source = readFileSync(require.resolve("@humansignal/audio-file-decoder"));
  const wasm = readFileSync(require.resolve("@humansignal/audio-file-decoder/decode-audio.wasm"));
  Object.assign(globalThis, {
    require,
    __dirname: dirname(fileURLToPath(import.meta.url)),
    __filename: fileURLToPath(import.meta.url),
    fetch: async () => new Response(wasm, { headers: { "content-type": "application/wasm" } }),
  });
  const module = await import(`data:text/javascript;base64,${source.toString("base64")}`);
  return (/** @type {ArrayBuffer} */ bytes) => module.getAudioDecoder("decode-audio.wasm", bytes);
}

/** @param {Job} job */
async function decodeFile(job) {
  fileDecoder ??= loadFileDecoder();
  const open = await fileDecoder;
  const decoder = await open(/** @type {ArrayBuffer} */ (job.bytes.slice().buffer));
  try {
    const { channelCount: channels, sampleRate, duration } = decoder;
    if (duration > job.maxSeconds) throw new TooLong();
    const pcm = decoder.decodeAudioData(0, job.maxSeconds + 1, { multiChannel: true }).slice();
    const frames = pcm.length / channels;
    if (frames > job.maxSeconds * sampleRate || pcm.length > job.maxSamples) throw new TooLong();
    return { pcm, channels, sampleRate };
  } finally {
    decoder.dispose();
  }
}

/**
 * @param {Job} job
 * @returns {Promise<Decoded>}
 */
async function decode(job) {
  switch (job.codec) {
    case "mp3": {
      const { MPEGDecoder } = await import("mpg123-decoder");
      return feed(job, new MPEGDecoder());
    }
    case "flac": {
      const { FLACDecoder } = await import("@wasm-audio-decoders/flac");
      return feed(job, new FLACDecoder());
    }
    case "ogg-vorbis": {
      const { OggVorbisDecoder } = await import("@wasm-audio-decoders/ogg-vorbis");
      return feed(job, new OggVorbisDecoder());
    }
    case "ogg-opus": {
      const { OggOpusDecoder } = await import("ogg-opus-decoder");
      return feed(job, new OggOpusDecoder());
    }
    case "opus-packets":
      return decodeOpusPackets(job);
    default:
      return decodeFile(job);
  }
}

/** @returns {void} */
const silent = () => {};
Object.assign(console, { log: silent, warn: silent, error: silent });

parentPort?.on("message", async (/** @type {Job} */ job) => {
  /** @type {Answer} */
  let answer;
  try {
    answer = { ok: true, ...(await decode(job)) };
  } catch (error) {
    answer = { ok: false, reason: error instanceof TooLong ? "too_long" : "undecodable" };
  }
  parentPort?.postMessage(
    answer,
    answer.ok ? [/** @type {ArrayBuffer} */ (answer.pcm.buffer)] : [],
  );
});
