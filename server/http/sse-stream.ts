/** Audio as server-sent events: a delta for each piece, then `done` with the usage, or `error` after a failure. */
import { failureEvent, formatEvent, PING_INTERVAL_MS, SSE_PING } from "../protocol/sse.ts";
import type { Usage } from "../protocol/usage.ts";
import { speechError } from "../speech/errors.ts";
import type { AudioShape, EncodedPiece } from "./encoding.ts";
import { ClientGone } from "./requests.ts";

/** @param usage read after the last piece; @param pingMs silence after which a comment is sent */
export async function* speechEvents(
  pieces: AsyncGenerator<EncodedPiece, void>,
  { format, sampleRate, channels }: AudioShape,
  usage: () => Usage,
  pingMs = PING_INTERVAL_MS,
): AsyncGenerator<string, void> {
  try {
    for await (const piece of withPings(pieces, pingMs)) {
      if (piece === undefined) {
        yield SSE_PING;
        continue;
      }
      yield formatEvent({
        type: "speech.audio.delta",
        audio: Buffer.from(piece.bytes).toString("base64"),
        response_format: format,
        sample_rate: sampleRate,
        channels,
        start_ms: piece.startMs,
        duration_ms: piece.durationMs,
      });
    }
    yield formatEvent({ type: "speech.audio.done", usage: usage() });
  } catch (error) {
    if (error instanceof ClientGone) throw error;
    const { message, status } = speechError(error);
    yield formatEvent(failureEvent(message, status));
  }
}

/** The pieces, and undefined for each stretch of silence. */
async function* withPings<T>(
  pieces: AsyncGenerator<T, void>,
  pingMs: number,
): AsyncGenerator<T | undefined, void> {
  let timer: NodeJS.Timeout | undefined;
  const silence = () =>
    new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), pingMs);
    });
  try {
    for (let next = pieces.next(); ; ) {
      const result = await Promise.race([next, silence()]);
      clearTimeout(timer);
      if (result?.done) return;
      yield result?.value;
      if (result !== undefined) next = pieces.next();
    }
  } finally {
    clearTimeout(timer);
    await pieces.return();
  }
}
