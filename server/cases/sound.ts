/** Audio of replies and sockets as numbers: length, loudness, pauses. Decoded from whatever form it came in. */
import { decodeAudio } from "../audio/decode.ts";
import type { CaseSocket, SocketEvent } from "./case-socket.ts";
import type { HttpReply } from "./http-client.ts";

export interface Sound {
  /** Interleaved, -1 to 1. */
  readonly pcm: Float32Array;
  readonly channels: number;
  readonly sampleRate: number;
  /** Samples of one channel. */
  readonly frames: number;
  readonly seconds: number;
}

/** Below this nothing is heard. */
const SILENCE = 0.01;
const PAUSE_LEVEL = 0.004;
const WINDOW_MS = 10;

function soundOf(pcm: Float32Array, channels: number, sampleRate: number): Sound {
  const frames = Math.floor(pcm.length / channels);
  return { pcm, channels, sampleRate, frames, seconds: frames / sampleRate };
}

function fromPcm16(bytes: Buffer, channels: number, sampleRate: number): Sound {
  const samples = new Int16Array(
    bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + (bytes.length & ~1)),
  );
  return soundOf(
    Float32Array.from(samples, (sample) => sample / 32_768),
    channels,
    sampleRate,
  );
}

/** The audio of a reply, by what its headers declare. @throws AudioError when it cannot be decoded */
export async function soundOfReply({ headers, body }: HttpReply): Promise<Sound> {
  if (headers["content-type"] === "audio/pcm") {
    return fromPcm16(body, Number(headers["x-channels"]), Number(headers["x-sample-rate"]));
  }
  const { pcm, channels, sampleRate } = await decodeAudio(body, { maxSeconds: 3600 });
  return soundOf(pcm, channels, sampleRate);
}

/** The audio that a socket heard of its last utterance. */
export function soundOfSocket(socket: CaseSocket): Sound {
  const audio = socket.named("audio") as (SocketEvent & { kind: "audio" })[];
  const last = audio.at(-1)?.utterance;
  const start = socket.named("started").at(-1) as (SocketEvent & { kind: "message" }) | undefined;
  const bytes = Buffer.concat(
    audio.filter(({ utterance }) => utterance === last).map((one) => one.bytes),
  );
  return fromPcm16(
    bytes,
    Number(start?.message.channels ?? 1),
    Number(start?.message.sample_rate ?? 48_000),
  );
}

/** The samples of a reply as bytes: a wav file without its header. */
export function sampleBytes({ body }: HttpReply): Buffer {
  return body.subarray(0, 4).toString("latin1") === "RIFF" ? body.subarray(44) : body;
}

/** Loudest sample, 0 to 1. */
export function peak({ pcm }: Sound): number {
  return pcm.reduce((most, sample) => Math.max(most, Math.abs(sample)), 0);
}

export function isSilent(sound: Sound): boolean {
  return peak(sound) < SILENCE;
}

/** Mean of all samples: the offset of a recording that is not centred. */
export function mean({ pcm }: Sound): number {
  return pcm.reduce((sum, sample) => sum + sample, 0) / Math.max(1, pcm.length);
}

/** Levels (root mean square) of windows of that length; a last part that is shorter is left out. */
export function levels({ pcm, channels, sampleRate }: Sound, windowMs: number): number[] {
  const size = Math.round((windowMs / 1000) * sampleRate) * channels;
  return Array.from({ length: Math.floor(pcm.length / size) }, (_, i) => {
    const window = pcm.subarray(i * size, (i + 1) * size);
    return Math.sqrt(window.reduce((sum, sample) => sum + sample * sample, 0) / size);
  });
}

/** Silences inside a recording that last at least so long. */
export function pauses(sound: Sound, leastMs: number): number {
  const quiet = levels(sound, WINDOW_MS).map((level) => level < PAUSE_LEVEL);
  const from = quiet.indexOf(false);
  const inside = quiet.slice(from, quiet.lastIndexOf(false));
  const runs =
    inside
      .map((isQuiet) => (isQuiet ? "q" : "s"))
      .join("")
      .match(/q+/g) ?? [];
  return runs.filter((run) => run.length * WINDOW_MS >= leastMs).length;
}
