import { describe, expect, it } from "vitest";
import { AudioError } from "./error.ts";
import { concatBytes } from "./pcm.ts";
import { readWebmOpus } from "./webm.ts";

const text = new TextEncoder();

/** An element with a size of one byte, or of unknown size as live recorders write it. */
function element(id: number[], body: Uint8Array, unknownSize = false): Uint8Array {
  const size = unknownSize ? [0x01, ...new Array<number>(7).fill(0xff)] : [0x80 | body.length];
  return concatBytes([Uint8Array.of(...id, ...size), body]);
}

function track(number: number, codec: string, channels = 1): Uint8Array {
  const head = new Uint8Array(19);
  head.set(text.encode("OpusHead"));
  head.set([1, channels, 0x38, 0x01], 8);
  return element(
    [0xae],
    concatBytes([
      element([0xd7], Uint8Array.of(number)),
      element([0x86], text.encode(codec)),
      element([0x63, 0xa2], head),
    ]),
  );
}

function block(number: number, flags: number, body: number[]): Uint8Array {
  return element([0xa3], Uint8Array.of(0x80 | number, 0, 0, flags, ...body));
}

/** A live recording: segment and cluster do not know how long they are. */
function webm(tracks: Uint8Array[], blocks: Uint8Array[]): Uint8Array {
  return concatBytes([
    element([0x1a, 0x45, 0xdf, 0xa3], new Uint8Array(4)),
    element(
      [0x18, 0x53, 0x80, 0x67],
      concatBytes([
        element([0x16, 0x54, 0xae, 0x6b], concatBytes(tracks)),
        element([0x1f, 0x43, 0xb6, 0x75], concatBytes(blocks), true),
      ]),
      true,
    ),
  ]);
}

function packets(...blocks: Uint8Array[]): number[][] {
  const { packets } = readWebmOpus(webm([track(1, "A_OPUS")], blocks));
  return packets.map((packet) => [...packet]);
}

function refusal(bytes: Uint8Array): AudioError {
  try {
    readWebmOpus(bytes);
  } catch (error) {
    expect(error).toBeInstanceOf(AudioError);
    return error as AudioError;
  }
  throw new Error("not refused");
}

describe("WebM", () => {
  it("of a live recording gives its packets and set-up", () => {
    const file = webm([track(1, "A_OPUS", 2)], [block(1, 0x80, [7, 8]), block(1, 0x80, [9])]);
    const { packets, channels, preSkip } = readWebmOpus(file);
    expect(packets.map((packet) => [...packet])).toEqual([[7, 8], [9]]);
    expect([channels, preSkip]).toEqual([2, 312]);
  });

  it("with a picture gives the sound alone", () => {
    const tracks = [track(1, "V_VP8"), track(2, "A_OPUS")];
    const { packets } = readWebmOpus(webm(tracks, [block(1, 0, [1]), block(2, 0, [2])]));
    expect(packets.map((packet) => [...packet])).toEqual([[2]]);
  });

  it("may hold several packets in a block", () => {
    expect(packets(block(1, 0x02, [2, 1, 2, 5, 6, 6, 7, 7]))).toEqual([[5], [6, 6], [7, 7]]);
    expect(packets(block(1, 0x04, [1, 5, 5, 6, 6]))).toEqual([
      [5, 5],
      [6, 6],
    ]);
  });

  it("may be cut off", () => {
    const file = webm([track(1, "A_OPUS")], [block(1, 0, [1, 2]), block(1, 0, [3, 4])]);
    expect(readWebmOpus(file.subarray(0, -1)).packets.map((packet) => packet.length)).toEqual([
      2, 1,
    ]);
  });

  it("without Opus is refused with what it holds", () => {
    const vorbis = refusal(webm([track(1, "A_VORBIS")], [block(1, 0, [1])]));
    expect(vorbis.code).toBe("unsupported_format");
    expect(vorbis.message).toContain('"A_VORBIS"; allowed are wav');
    expect(refusal(webm([], [])).message).toContain("no track");
    expect(refusal(webm([track(1, "A_OPUS")], [])).message).toContain("no audio packets");
    expect(refusal(webm([track(1, "A_OPUS", 9)], [block(1, 0, [1])])).message).toContain("9");
    expect(refusal(webm([track(1, "A_OPUS")], [block(1, 6, [1])])).message).toContain("EBML");
  });
});
