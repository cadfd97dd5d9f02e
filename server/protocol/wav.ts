/** WAV headers for 16-bit PCM: with true sizes, and with placeholders for streams whose length is not known yet. */

export const WAV_HEADER_BYTES = 44;
/** In both size fields of a stream's header. */
export const UNKNOWN_SIZE = 0xffffffff;

const RIFF_OVERHEAD = 36;
const PCM = 1;
const BYTES_PER_SAMPLE = 2;

export interface WavShape {
  readonly sampleRate: number;
  readonly channels: number;
}

/**
 * The 44 bytes in front of the samples. Without a size, or with one that the fields cannot hold, both size fields say
 * "unknown", which players take for "until the end".
 */
export function wavHeader({ sampleRate, channels }: WavShape, dataBytes?: number): Uint8Array {
  const known = dataBytes !== undefined && dataBytes <= UNKNOWN_SIZE - RIFF_OVERHEAD;
  const header = new Uint8Array(WAV_HEADER_BYTES);
  const view = new DataView(header.buffer);
  const tag = (offset: number, text: string) => {
    for (const [index, character] of [...text].entries()) {
      header[offset + index] = character.charCodeAt(0);
    }
  };
  tag(0, "RIFF");
  view.setUint32(4, known ? RIFF_OVERHEAD + dataBytes : UNKNOWN_SIZE, true);
  tag(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, PCM, true);
  view.setUint16(22, channels, true);
  view.setUint32(24, sampleRate, true);
  view.setUint32(28, sampleRate * channels * BYTES_PER_SAMPLE, true);
  view.setUint16(32, channels * BYTES_PER_SAMPLE, true);
  view.setUint16(34, BYTES_PER_SAMPLE * 8, true);
  tag(36, "data");
  view.setUint32(40, known ? dataBytes : UNKNOWN_SIZE, true);
  return header;
}
