/** Recordings in MP4 as browsers and cameras write them: sound alone, in fragments, or beside a picture. */
import { encodeAll } from "../audio/encode.ts";
import { adtsFrame } from "../audio/sniff.ts";
import { NotRunnable } from "./check.ts";

const AAC_FRAME_SAMPLES = 1024;
const ADTS_BYTES = 7;
/** AAC-LC, one channel; the rate goes between. */
const AAC_RATES = [96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000];

/** Mediabunny writes the containers. It comes with the tests' tools. */
async function library() {
  try {
    return await import("mediabunny");
  } catch {
    throw new NotRunnable("clips in MP4 need the development dependencies: npm ci");
  }
}

/** Frames of AAC without their ADTS headers. */
async function aacPackets(pcm: Float32Array, sampleRate: number): Promise<Uint8Array[]> {
  const stream = await encodeAll("aac", pcm, { sampleRate, channels: 1 });
  const packets: Uint8Array[] = [];
  for (let at = 0; at + ADTS_BYTES <= stream.length; ) {
    const bytes = adtsFrame(stream, at)?.bytes ?? 0;
    if (bytes === 0) break;
    packets.push(stream.slice(at + ADTS_BYTES, at + bytes));
    at += bytes;
  }
  return packets;
}

/** The two bytes by which a decoder is set up: object type 2, rate, one channel. */
function setup(sampleRate: number): Uint8Array {
  const bits = (2 << 11) | (AAC_RATES.indexOf(sampleRate) << 7) | (1 << 3);
  return Uint8Array.of(bits >> 8, bits & 0xff);
}

/** An m4a file, or one in fragments as Safari's recorder writes it. */
export function mp4(
  pcm: Float32Array,
  sampleRate: number,
  { fragmented }: { readonly fragmented: boolean },
): Promise<Buffer> {
  return write(pcm, sampleRate, fragmented, 0);
}

/** A film: the same sound beside a picture that nobody will decode. */
export function film(pcm: Float32Array, sampleRate: number): Promise<Buffer> {
  return write(pcm, sampleRate, false, 12);
}

async function write(
  pcm: Float32Array,
  sampleRate: number,
  fragmented: boolean,
  pictures: number,
): Promise<Buffer> {
  const {
    BufferTarget,
    EncodedAudioPacketSource,
    EncodedPacket,
    EncodedVideoPacketSource,
    ...rest
  } = await library();
  const { Mp4OutputFormat, Output } = rest;
  const format = new Mp4OutputFormat(fragmented ? { fastStart: "fragmented" } : {});
  const output = new Output({ format, target: new BufferTarget() });
  const sound = new EncodedAudioPacketSource("aac");
  output.addAudioTrack(sound);
  const picture = new EncodedVideoPacketSource("vp9");
  if (pictures > 0) output.addVideoTrack(picture, { frameRate: 2 });
  await output.start();
  for (let i = 0; i < pictures; i += 1) {
    const packet = new EncodedPacket(new Uint8Array(500).fill(i), "key", i / 2, 0.5);
    const decoderConfig = { codec: "vp09.00.10.08", codedWidth: 160, codedHeight: 120 };
    await picture.add(packet, { decoderConfig });
  }
  const seconds = AAC_FRAME_SAMPLES / sampleRate;
  const decoderConfig = {
    codec: "mp4a.40.2",
    sampleRate,
    numberOfChannels: 1,
    description: setup(sampleRate),
  };
  for (const [i, packet] of (await aacPackets(pcm, sampleRate)).entries()) {
    await sound.add(new EncodedPacket(packet, "key", i * seconds, seconds), { decoderConfig });
  }
  await output.finalize();
  return Buffer.from(output.target.buffer ?? new ArrayBuffer(0));
}
