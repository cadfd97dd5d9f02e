/**
 * WebM as browsers record it: finds the Opus track and cuts out its packets. Sizes that are not known (live recordings)
 * run to the end of the parent. Reads no other codec and follows no index.
 */
import { AudioError, corrupt, READABLE_FORMATS } from "./error.ts";

/** Opus packets in order, with what their decoder needs to know. */
export interface WebmOpus {
  readonly packets: Uint8Array[];
  readonly channels: number;
  /** Samples at 48 kHz to drop at the start. */
  readonly preSkip: number;
}

const ID = {
  segment: 0x18538067,
  tracks: 0x1654ae6b,
  trackEntry: 0xae,
  trackNumber: 0xd7,
  codecId: 0x86,
  codecPrivate: 0x63a2,
  cluster: 0x1f43b675,
  blockGroup: 0xa0,
  block: 0xa1,
  simpleBlock: 0xa3,
} as const;

const PARENTS: ReadonlySet<number> = new Set([
  ID.segment,
  ID.tracks,
  ID.trackEntry,
  ID.cluster,
  ID.blockGroup,
]);

interface Track {
  number: number;
  codec: string;
  setup: Uint8Array;
}

/**
 * Reads the first Opus track.
 * @throws AudioError `unsupported_format` when the audio is not Opus, `corrupt` when there is none.
 */
export function readWebmOpus(bytes: Uint8Array): WebmOpus {
  const tracks: Track[] = [];
  const blocks: Uint8Array[] = [];
  for (const { id, body } of elements(bytes)) {
    const track = tracks.at(-1);
    if (id === ID.trackEntry) tracks.push({ number: 0, codec: "", setup: new Uint8Array(0) });
    else if (id === ID.simpleBlock || id === ID.block) blocks.push(body);
    else if (track === undefined) continue;
    else if (id === ID.trackNumber) track.number = body.reduce((sum, byte) => sum * 256 + byte, 0);
    else if (id === ID.codecId) track.codec = new TextDecoder("latin1").decode(body);
    else if (id === ID.codecPrivate) track.setup = body;
  }
  const track = tracks.find(({ codec }) => codec === "A_OPUS");
  if (track === undefined) {
    const codecs = tracks.map(({ codec }) => codec).join(" and ");
    if (codecs === "") throw corrupt("webm", "holds no track");
    throw new AudioError(
      "unsupported_format",
      `Could not decode audio file: this webm holds ${JSON.stringify(codecs)}; allowed are ${READABLE_FORMATS}.`,
    );
  }
  const packets = blocks.flatMap((block) => blockPackets(block, track.number));
  const channels = track.setup[9] ?? 1;
  if (packets.length === 0) throw corrupt("webm", "holds no audio packets");
  if (channels < 1 || channels > 2) throw corrupt("webm", `states ${channels} Opus channels`);
  const preSkip = (track.setup[10] ?? 0) | ((track.setup[11] ?? 0) << 8);
  return { packets, channels, preSkip };
}

/** Walks the tree in file order; a parent is yielded before its children. */
function* elements(bytes: Uint8Array): Generator<{ id: number; body: Uint8Array }> {
  for (let at = 0; at < bytes.length; ) {
    const id = readNumber(bytes, at, true);
    const size = id && readNumber(bytes, at + id.length, false);
    if (!id || !size) return;
    const start = at + id.length + size.length;
    const end = size.unknown ? bytes.length : Math.min(bytes.length, start + size.value);
    yield { id: id.value, body: bytes.subarray(start, end) };
    at = PARENTS.has(id.value) ? start : end;
  }
}

/** An EBML number: leading zeros give its length; ids keep the length bit, sizes of all ones are unknown. */
function readNumber(bytes: Uint8Array, at: number, keepMarker: boolean) {
  const first = bytes[at] ?? 0;
  const length = Math.clz32(first) - 23;
  if (first === 0 || length > 8 || at + length > bytes.length) return undefined;
  const mask = 0xff >> length;
  let value = keepMarker ? first : first & mask;
  let unknown = (first & mask) === mask;
  for (let i = 1; i < length; i++) {
    const byte = bytes[at + i] ?? 0;
    value = value * 256 + byte;
    unknown &&= byte === 0xff;
  }
  return { value, length, unknown };
}

/** Packets of one block: track number, 16-bit time, flags, then one packet or several laced ones. */
function blockPackets(block: Uint8Array, trackNumber: number): Uint8Array[] {
  const track = readNumber(block, 0, false);
  if (track === undefined || track.value !== trackNumber) return [];
  const header = track.length + 3;
  const lacing = ((block[header - 1] ?? 0) >> 1) & 3;
  const body = block.subarray(header);
  if (lacing === 0) return body.length > 0 ? [body] : [];
  const count = (body[0] ?? 0) + 1;
  if (lacing === 1) return xiphPackets(body, count);
  if (lacing === 2) {
    const size = Math.floor((body.length - 1) / count);
    return Array.from({ length: size > 0 ? count : 0 }, (_, i) =>
      body.subarray(1 + i * size, 1 + (i + 1) * size),
    );
  }
  throw corrupt("webm", "uses EBML lacing, which no recorder writes for Opus");
}

function xiphPackets(body: Uint8Array, count: number): Uint8Array[] {
  const sizes: number[] = [];
  let at = 1;
  while (sizes.length < count - 1 && at < body.length) {
    let size = 0;
    while (body[at] === 255) {
      size += 255;
      at++;
    }
    sizes.push(size + (body[at++] ?? 0));
  }
  const packets = sizes.map((size) => {
    at += size;
    return body.subarray(at - size, at);
  });
  return [...packets, body.subarray(at)].filter((packet) => packet.length > 0);
}
