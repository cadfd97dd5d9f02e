/** Pages of one logical Ogg stream. It cuts pages where it is told to and knows nothing about codecs. */
import { crc32 } from "./bits.ts";

const FLAG_FIRST = 2;
const FLAG_LAST = 4;
/** Lacing values of one page, each for up to 255 bytes of a packet. */
const MAX_SEGMENTS = 255;

/** Writes the pages of one stream in order. */
export class OggWriter {
  readonly #serial: number;
  #sequence = 0;

  /** @param serial any 32-bit number; tells streams apart when files are joined. */
  constructor(serial: number) {
    this.#serial = serial;
  }

  /**
   * One page of whole packets.
   * @param packets as many as fit: lacing values of all of them together must not exceed 255
   * @param granule position of the last packet, in samples
   */
  page(packets: readonly Uint8Array[], granule: number, last = false): Uint8Array {
    const lacing = packets.flatMap(lacingOf);
    if (lacing.length > MAX_SEGMENTS) throw new RangeError("Too many packets for one Ogg page");
    const body = packets.reduce((sum, packet) => sum + packet.length, 0);
    const out = new Uint8Array(27 + lacing.length + body);
    const view = new DataView(out.buffer);
    out.set(new TextEncoder().encode("OggS"));
    out[5] = (this.#sequence === 0 ? FLAG_FIRST : 0) | (last ? FLAG_LAST : 0);
    view.setBigUint64(6, BigInt(granule), true);
    view.setUint32(14, this.#serial, true);
    view.setUint32(18, this.#sequence++, true);
    out[26] = lacing.length;
    out.set(lacing, 27);
    let at = 27 + lacing.length;
    for (const packet of packets) {
      out.set(packet, at);
      at += packet.length;
    }
    view.setUint32(22, crc32(out), true);
    return out;
  }
}

/** 255 for every full 255 bytes, then the rest, which may be 0. */
function lacingOf(packet: Uint8Array): number[] {
  const full = Math.floor(packet.length / 255);
  return [...new Array<number>(full).fill(255), packet.length % 255];
}
