/**
 * The header in front of an audio message when `binary_framing` is `tagged`: 24 bytes, little-endian.
 *
 *   0 u32 magic   4 u8 version   5 u8 flags   6 u16 reserved   8 u32 utterance   12 u32 sentence
 *   16 u32 generation   20 u32 seq
 */

export const TAG_MAGIC = 0x31415056;
export const TAG_VERSION = 1;
export const TAG_BYTES = 24;

const FIRST = 1;
const LAST = 2;
const REPLAYED = 4;

export interface FrameTag {
  readonly utterance: number;
  readonly sentence: number;
  /** Grows by one with every cancel; frames of older generations are to be dropped. */
  readonly generation: number;
  /** Counts the audio messages of a session from 0. */
  readonly seq: number;
  /** First message of its unit. */
  readonly first: boolean;
  /** Last message of its unit. */
  readonly last: boolean;
  /** Sent before, on a connection that was lost. */
  readonly replayed: boolean;
}

/** Puts a header in front of audio. */
export function encodeTagged(tag: FrameTag, payload: Uint8Array): Uint8Array {
  const message = new Uint8Array(TAG_BYTES + payload.length);
  const view = new DataView(message.buffer);
  view.setUint32(0, TAG_MAGIC, true);
  view.setUint8(4, TAG_VERSION);
  view.setUint8(5, flagsOf(tag));
  view.setUint32(8, tag.utterance, true);
  view.setUint32(12, tag.sentence, true);
  view.setUint32(16, tag.generation, true);
  view.setUint32(20, tag.seq, true);
  message.set(payload, TAG_BYTES);
  return message;
}

function flagsOf(tag: FrameTag): number {
  return (tag.first ? FIRST : 0) | (tag.last ? LAST : 0) | (tag.replayed ? REPLAYED : 0);
}

/**
 * Splits a message into header and audio; the audio is a view, not a copy. Undefined if the message does not begin
 * with a header of this version.
 */
export function decodeTagged(
  message: Uint8Array,
): { readonly tag: FrameTag; readonly payload: Uint8Array } | undefined {
  if (message.length < TAG_BYTES) return undefined;
  const view = new DataView(message.buffer, message.byteOffset, message.byteLength);
  if (view.getUint32(0, true) !== TAG_MAGIC || view.getUint8(4) !== TAG_VERSION) return undefined;
  const flags = view.getUint8(5);
  const tag: FrameTag = {
    utterance: view.getUint32(8, true),
    sentence: view.getUint32(12, true),
    generation: view.getUint32(16, true),
    seq: view.getUint32(20, true),
    first: (flags & FIRST) !== 0,
    last: (flags & LAST) !== 0,
    replayed: (flags & REPLAYED) !== 0,
  };
  return { tag, payload: message.subarray(TAG_BYTES) };
}
