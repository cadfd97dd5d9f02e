/**
 * Names the format of a recording by its content; file names and MIME types lie too often to be asked. Reads the first
 * bytes only and never throws.
 */

/** Formats that `decodeAudio` reads. */
export type AudioFormat =
  | "wav"
  | "flac"
  | "mp3"
  | "ogg-vorbis"
  | "ogg-opus"
  | "ogg-flac"
  | "webm"
  | "mp4"
  | "aac";

/** `format` when it can be read; otherwise `found` names what the bytes look like, for the refusal. */
export type Sniffed =
  | { readonly format: AudioFormat; readonly offset: number }
  | { readonly format: undefined; readonly found: string; readonly audio: boolean };

/** How far into a file the first MPEG frame is looked for, behind tags or junk, in bytes. */
const SCAN_BYTES = 65_536;

const OTHER_AUDIO: ReadonlyArray<readonly [string, string]> = [
  ["FORM", "AIFF"],
  ["#!AMR", "AMR"],
  ["caff", "Core Audio (caf)"],
  [".snd", "Sun au"],
  ["MThd", "MIDI"],
  ["wvpk", "WavPack"],
  ["MAC ", "Monkey's Audio"],
  ["\x30\x26\xb2\x75", "Windows Media"],
];

const NOT_AUDIO: ReadonlyArray<readonly [string, string]> = [
  ["\x89PNG", "a PNG image"],
  ["\xff\xd8\xff", "a JPEG image"],
  ["GIF8", "a GIF image"],
  ["%PDF", "a PDF document"],
  ["PK\x03\x04", "a zip archive"],
  ["\x1f\x8b", "a gzip archive"],
  ["\x7fELF", "a program"],
  ["MZ", "a program"],
  ["version https://git-lfs", "a Git LFS pointer instead of the file itself"],
];

/** Finds the format of `bytes`; `offset` is where it begins, behind an ID3 tag or junk. */
export function sniffAudio(bytes: Uint8Array): Sniffed {
  if (bytes.length === 0) return { format: undefined, found: "an empty file", audio: false };
  const offset = id3Length(bytes);
  const head = latin1(bytes, offset, 12);
  if ((head.startsWith("RIFF") || head.startsWith("RF64")) && head.slice(8) === "WAVE") {
    return { format: "wav", offset };
  }
  if (head.startsWith("fLaC")) return { format: "flac", offset };
  if (head.startsWith("OggS")) return sniffOgg(bytes, offset);
  if (head.startsWith("\x1a\x45\xdf\xa3")) return { format: "webm", offset };
  if (head.slice(4, 8) === "ftyp") return { format: "mp4", offset };
  const other = OTHER_AUDIO.find(([magic]) => head.startsWith(magic));
  if (other !== undefined) return { format: undefined, found: other[1], audio: true };
  const foreign = NOT_AUDIO.find(([magic]) => latin1(bytes, 0, magic.length) === magic);
  if (foreign !== undefined) return { format: undefined, found: foreign[1], audio: false };
  return sniffFrames(bytes, offset) ?? { format: undefined, found: describe(bytes), audio: false };
}

/** Bytes of ID3v2 tags at the start (a tag may hold a cover picture and so look like anything), 0 if none. */
function id3Length(bytes: Uint8Array): number {
  let at = 0;
  while (latin1(bytes, at, 3) === "ID3" && at + 10 <= bytes.length) {
    const size = [6, 7, 8, 9].reduce((sum, i) => (sum << 7) | ((bytes[at + i] ?? 0) & 0x7f), 0);
    const footer = (bytes[at + 5] ?? 0) & 0x10 ? 10 : 0;
    at = Math.min(bytes.length, at + 10 + size + footer);
  }
  return at;
}

function sniffOgg(bytes: Uint8Array, offset: number): Sniffed {
  const payload = offset + 27 + (bytes[offset + 26] ?? 0);
  const head = latin1(bytes, payload, 8);
  if (head === "OpusHead") return { format: "ogg-opus", offset };
  if (head.startsWith("\x01vorbis")) return { format: "ogg-vorbis", offset };
  if (head.startsWith("\x7fFLAC")) return { format: "ogg-flac", offset };
  const found = head.startsWith("Speex") ? "Ogg Speex" : "Ogg with another codec inside";
  return { format: undefined, found, audio: true };
}

/** Looks for two MPEG audio or ADTS frames in a row. */
function sniffFrames(bytes: Uint8Array, offset: number): Sniffed | undefined {
  const end = Math.min(bytes.length - 4, offset + SCAN_BYTES);
  for (let at = offset; at <= end; at++) {
    if (bytes[at] !== 0xff) continue;
    const mpeg = mpegFrame(bytes, at);
    if (mpeg !== undefined && follows(bytes, at, mpeg.bytes, mpegFrame)) {
      return { format: "mp3", offset: at };
    }
    const adts = adtsFrame(bytes, at);
    if (adts !== undefined && follows(bytes, at, adts.bytes, adtsFrame)) {
      return { format: "aac", offset: at };
    }
  }
  return undefined;
}

/** What a frame header says, as far as it is needed. */
export interface FrameHeader {
  /** Length of the whole frame. */
  readonly bytes: number;
  readonly sampleRate: number;
  readonly channels: number;
}

type FrameReader = (bytes: Uint8Array, at: number) => FrameHeader | undefined;

/** Whether the frame at `at` ends the file or is followed by one of the same rate. */
function follows(bytes: Uint8Array, at: number, length: number, read: FrameReader): boolean {
  const next = at + length;
  if (next === bytes.length) return true;
  return read(bytes, next)?.sampleRate === read(bytes, at)?.sampleRate;
}

const MPEG_RATES = [44_100, 48_000, 32_000];
const MPEG1_KBPS: Record<number, readonly number[]> = {
  1: [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  2: [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  3: [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
};
const MPEG2_KBPS: Record<number, readonly number[]> = {
  1: [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
  2: [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  3: [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
};

/** Reads the header of an MPEG-1, 2 or 2.5 audio frame of any layer; undefined where there is none. */
export function mpegFrame(bytes: Uint8Array, at: number): FrameHeader | undefined {
  const [b0, b1, b2, b3] = [bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]];
  if (b0 !== 0xff || b1 === undefined || b2 === undefined || b3 === undefined) return undefined;
  const version = (b1 >> 3) & 3;
  const layer = 4 - ((b1 >> 1) & 3);
  const rate = MPEG_RATES[(b2 >> 2) & 3];
  if (b1 < 0xe0 || version === 1 || layer === 4 || rate === undefined) return undefined;
  const mpeg1 = version === 3;
  const kbps = (mpeg1 ? MPEG1_KBPS : MPEG2_KBPS)[layer]?.[(b2 >> 4) - 1];
  if (kbps === undefined) return undefined;
  const sampleRate = mpeg1 ? rate : version === 2 ? rate / 2 : rate / 4;
  const padding = (b2 >> 1) & 1;
  const samples = layer === 3 && !mpeg1 ? 576 : 1152;
  const length =
    layer === 1
      ? 4 * (Math.floor((12_000 * kbps) / sampleRate) + padding)
      : Math.floor((samples * 125 * kbps) / sampleRate) + padding;
  return { bytes: length, sampleRate, channels: b3 >> 6 === 3 ? 1 : 2 };
}

const ADTS_RATES = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000,
  7_350,
];

/** Reads the header of an ADTS frame (raw AAC stream); undefined where there is none. */
export function adtsFrame(bytes: Uint8Array, at: number): FrameHeader | undefined {
  const b = bytes.subarray(at, at + 7);
  if (b.length < 7 || b[0] !== 0xff || ((b[1] ?? 0) & 0xf6) !== 0xf0) return undefined;
  const sampleRate = ADTS_RATES[((b[2] ?? 0) >> 2) & 15];
  const length = (((b[3] ?? 0) & 3) << 11) | ((b[4] ?? 0) << 3) | ((b[5] ?? 0) >> 5);
  if (sampleRate === undefined || length < 7) return undefined;
  const channels = (((b[2] ?? 0) & 1) << 2) | ((b[3] ?? 0) >> 6);
  return { bytes: length, sampleRate, channels };
}

function describe(bytes: Uint8Array): string {
  const sample = bytes.subarray(0, 512);
  const control = sample.filter((byte) => byte < 9 || (byte > 13 && byte < 32)).length;
  return control === 0 ? "plain text" : "data of an unknown kind";
}

function latin1(bytes: Uint8Array, at: number, length: number): string {
  return String.fromCharCode(...bytes.subarray(at, at + length));
}
