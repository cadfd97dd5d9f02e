/** Bits and checksums for the containers that are written here. Pure. */

/** Writes numbers of any width, highest bit first, into a growing array. */
export class BitWriter {
  #bytes = new Uint8Array(4096);
  #bits = 0;

  /** The lowest `width` bits of an integer, at most 32. */
  write(value: number, width: number): void {
    this.#reserve(width);
    let left = width;
    while (left > 0) {
      const at = this.#bits >> 3;
      const room = 8 - (this.#bits & 7);
      const take = Math.min(room, left);
      const part = (value >>> (left - take)) & ((1 << take) - 1);
      this.#bytes[at] = (this.#bytes[at] ?? 0) | (part << (room - take));
      this.#bits += take;
      left -= take;
    }
  }

  /** `count` zeros and a one. */
  unary(count: number): void {
    this.#reserve(count + 1);
    this.#bits += count;
    this.write(1, 1);
  }

  /** Fills the last byte with zeros. */
  align(): void {
    this.#bits = (this.#bits + 7) & ~7;
  }

  /** What was written so far, to the last byte begun. */
  bytes(): Uint8Array {
    return this.#bytes.slice(0, (this.#bits + 7) >> 3);
  }

  #reserve(width: number): void {
    const needed = ((this.#bits + width) >> 3) + 2;
    if (needed <= this.#bytes.length) return;
    const grown = new Uint8Array(needed * 2);
    grown.set(this.#bytes);
    this.#bytes = grown;
  }
}

/** A table for checksums of `width` bits, highest bit first, without reflection. */
function crcTable(polynomial: number, width: number): Uint32Array {
  const top = 2 ** (width - 1);
  return Uint32Array.from({ length: 256 }, (_, byte) => {
    let crc = byte * 2 ** (width - 8);
    for (let bit = 0; bit < 8; bit++) {
      crc = crc >= top ? ((crc - top) * 2) ^ polynomial : crc * 2;
      crc >>>= 0;
    }
    return crc;
  });
}

const TABLE_8 = crcTable(0x07, 8);
const TABLE_16 = crcTable(0x8005, 16);
const TABLE_32 = crcTable(0x04c11db7, 32);

/** CRC-8 with polynomial 0x07, as FLAC frame headers use. */
export function crc8(bytes: Uint8Array): number {
  return bytes.reduce((crc, byte) => TABLE_8[crc ^ byte] ?? 0, 0);
}

/** CRC-16 with polynomial 0x8005, as FLAC frames use. */
export function crc16(bytes: Uint8Array): number {
  return bytes.reduce((crc, b) => ((crc & 0xff) << 8) ^ (TABLE_16[(crc >> 8) ^ b] ?? 0), 0);
}

/** CRC-32 with polynomial 0x04c11db7, unreflected and without inversion, as Ogg pages use. */
export function crc32(bytes: Uint8Array): number {
  return bytes.reduce((crc, b) => ((crc << 8) ^ (TABLE_32[(crc >>> 24) ^ b] ?? 0)) >>> 0, 0);
}
