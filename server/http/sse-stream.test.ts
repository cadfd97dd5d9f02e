/** Event streams that have nothing to say for a while. */
import { expect, it } from "vitest";
import { SSE_PING } from "../protocol/sse.ts";
import { usageOf } from "../protocol/usage.ts";
import type { EncodedPiece } from "./encoding.ts";
import { speechEvents } from "./sse-stream.ts";

const SHAPE = { format: "pcm", sampleRate: 48_000, channels: 1 } as const;
const PIECE: EncodedPiece = { bytes: new Uint8Array(4), startMs: 0, durationMs: 1 };

it("sends comments while it waits for sound, and loses no sound by it", async () => {
  let go = () => {};
  const held = new Promise<void>((resolve) => {
    go = resolve;
  });
  async function* pieces() {
    yield PIECE;
    await held;
    yield PIECE;
  }
  const events = speechEvents(pieces(), SHAPE, () => usageOf(1, 2, 3), 5);
  const next = async () => (await events.next()).value ?? "";
  expect(await next()).toContain("speech.audio.delta");
  expect(await next()).toBe(SSE_PING);
  expect(await next()).toBe(SSE_PING);
  go();
  let event = await next();
  while (event === SSE_PING) event = await next();
  expect(event).toContain("speech.audio.delta");
  expect(await next()).toContain("speech.audio.done");
  expect((await events.next()).done).toBe(true);
});

it("lets go of the sound when nobody listens any more", async () => {
  let isFreed = false;
  async function* pieces() {
    try {
      for (;;) yield PIECE;
    } finally {
      isFreed = true;
    }
  }
  const events = speechEvents(pieces(), SHAPE, () => usageOf(1, 2, 3));
  await events.next();
  await events.return();
  expect(isFreed).toBe(true);
});
