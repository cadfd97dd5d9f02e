/** The length of 16-bit PCM. */

/** Seconds of sound in a number of bytes. @param sampleRate Hz */
export function pcmSeconds(bytes: number, sampleRate: number, channels: number): number {
  return bytes / (2 * channels * sampleRate);
}
