/**
 * Clips that the case file makes with ffmpeg, made without it: our encoders, containers from mediabunny, headers and
 * pictures by hand. Which recipe wants what is read from the options of its command.
 */
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { deflateSync } from "node:zlib";
import { encodeAll } from "../audio/encode.ts";
import { toFloat32Bytes } from "../audio/pcm.ts";
import { readWav } from "../audio/wav.ts";
import { film, mp4 } from "./mp4-clips.ts";

const run = promisify(execFile);

interface Base {
  readonly bytes: Buffer;
  readonly pcm: Float32Array;
  readonly sampleRate: number;
}

/** A clip of one kind; the first rule whose pattern is in the command is the one. */
const MAKERS: readonly (readonly [RegExp, (base: Base) => Buffer | Promise<Buffer>])[] = [
  [/-c:v mpeg4/, ({ pcm, sampleRate }) => film(pcm, sampleRate)],
  [/-movflags frag/, ({ pcm, sampleRate }) => mp4(pcm, sampleRate, { fragmented: true })],
  [/-c:a aac/, ({ pcm, sampleRate }) => mp4(pcm, sampleRate, { fragmented: false })],
  [/-c:a libmp3lame/, taggedMp3],
  [/-b:a 32k \S+\.mp3/, (base) => mp3(base, 32_000)],
  [/-c:a libvorbis/, vorbis],
  [/-c:v png|\.png$/, () => png(900)],
  [/-write_bext/, ({ bytes }) => withChunk(bytes, "bext", bextBody())],
  [/-metadata/, ({ bytes }) => withChunk(bytes, "LIST", infoBody())],
  [/-c:a pcm_f32le/, ({ pcm, sampleRate }) => floatWav(loud(pcm), sampleRate, 4)],
  [/-c:a pcm_f64le/, ({ pcm, sampleRate }) => floatWav(pcm, sampleRate, 8)],
];

/** What the command would have made of base.wav; undefined for a command that is not known. */
export async function ownClip(command: string, bytes: Buffer): Promise<Buffer | undefined> {
  const maker = MAKERS.find(([pattern]) => pattern.test(command))?.[1];
  if (maker === undefined) return undefined;
  const { pcm, sampleRate } = readWav(bytes);
  return maker({ bytes, pcm, sampleRate });
}

async function mp3({ pcm, sampleRate }: Base, bitrate: number): Promise<Buffer> {
  return Buffer.from(await encodeAll("mp3", pcm, { sampleRate, channels: 1, bitrate }));
}

/** An mp3 behind an ID3v2.4 tag with a title and a picture. */
async function taggedMp3(base: Base): Promise<Buffer> {
  const picture = png(900);
  const latin = (text: string) => Buffer.from(`\0${text}\0`, "latin1");
  const cover = Buffer.concat([latin("image/png"), Buffer.from([3, 0]), picture]);
  const frames = [id3Frame("TIT2", latin("probe")), id3Frame("APIC", cover)];
  const size = frames.reduce((sum, frame) => sum + frame.length, 0);
  const head = Buffer.concat([Buffer.from("ID3\x04\0\0", "latin1"), syncSafe(size)]);
  return Buffer.concat([head, ...frames, await mp3(base, 128_000)]);
}

function id3Frame(id: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(id), syncSafe(body.length), Buffer.alloc(2), body]);
}

/** Four bytes of seven bits. */
function syncSafe(size: number): Buffer {
  return Buffer.from([21, 14, 7, 0].map((shift) => (size >> shift) & 0x7f));
}

/** SoX of Debian writes Ogg Vorbis. */
async function vorbis({ bytes }: Base): Promise<Buffer> {
  const child = run("sox", ["-t", "wav", "-", "-t", "ogg", "-"], { encoding: "buffer" });
  child.child.stdin?.end(bytes);
  return Buffer.from((await child).stdout);
}

/** The file with one more chunk in front of its own. */
function withChunk(wav: Buffer, id: string, body: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.write(id, "latin1");
  head.writeUInt32LE(body.length, 4);
  const padding = Buffer.alloc(body.length % 2);
  const whole = Buffer.concat([wav.subarray(0, 12), head, body, padding, wav.subarray(12)]);
  whole.writeUInt32LE(whole.length - 8, 4);
  return whole;
}

/** Title and comment, as a LIST of kind INFO. */
function infoBody(): Buffer {
  const entry = (id: string, text: string) => {
    const value = Buffer.from(`${text}\0${text.length % 2 === 0 ? "\0" : ""}`, "latin1");
    const head = Buffer.alloc(8);
    head.write(id, "latin1");
    head.writeUInt32LE(text.length + 1, 4);
    return Buffer.concat([head, value]);
  };
  return Buffer.concat([Buffer.from("INFO"), entry("INAM", "abc"), entry("ICMT", "odd")]);
}

/** A broadcast extension: 602 bytes, of which only the description is filled in. */
function bextBody(): Buffer {
  const body = Buffer.alloc(602);
  body.write("probe", "latin1");
  return body;
}

/** 6 dB louder, beyond full scale. */
function loud(pcm: Float32Array): Float32Array {
  return pcm.map((sample) => sample * 10 ** (6 / 20));
}

function floatWav(pcm: Float32Array, sampleRate: number, sampleBytes: 4 | 8): Buffer {
  const samples =
    sampleBytes === 4
      ? Buffer.from(toFloat32Bytes(pcm))
      : Buffer.from(Float64Array.from(pcm).buffer);
  const head = Buffer.alloc(44);
  head.write("RIFF", 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write("WAVEfmt ", 8);
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(3, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(sampleRate, 24);
  head.writeUInt32LE(sampleRate * sampleBytes, 28);
  head.writeUInt16LE(sampleBytes, 32);
  head.writeUInt16LE(sampleBytes * 8, 34);
  head.write("data", 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]);
}

/** A picture of noise-like stripes, so that it does not shrink to nothing. */
function png(size: number): Buffer {
  const row = 1 + size * 3;
  const pixels = Buffer.alloc(row * size);
  for (let i = 0; i < pixels.length; i += 1) {
    pixels[i] = i % row === 0 ? 0 : (i * i * 7) & 0xff;
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(size, 0);
  header.writeUInt32BE(size, 4);
  header.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([
    Buffer.from("\x89PNG\r\n\x1a\n", "latin1"),
    pngChunk("IHDR", header),
    pngChunk("IDAT", deflateSync(pixels, { level: 1 })),
    pngChunk("IEND", Buffer.alloc(0)),
  ]);
}

function pngChunk(type: string, body: Buffer): Buffer {
  const content = Buffer.concat([Buffer.from(type, "latin1"), body]);
  const chunk = Buffer.alloc(body.length + 12);
  chunk.writeUInt32BE(body.length, 0);
  content.copy(chunk, 4);
  chunk.writeUInt32BE(crc32(content), body.length + 8);
  return chunk;
}

function crc32(bytes: Buffer): number {
  let crc = 0xffffffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return (crc ^ 0xffffffff) >>> 0;
}
