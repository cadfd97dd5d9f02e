/** From the server's messages, as they are written on the wire, to the events of this package. */
import { parseJson } from "../json.ts";
import type { ServerMessage, ServerMessageOf } from "../socket-server.ts";
import { SonantError } from "./error.ts";
import type { CreatedEvent, SegmentEvent, SocketEvent } from "./socket-types.ts";

/** @throws SonantError `malformed_answer` */
export function readServerMessage(text: string): ServerMessage {
  let value: unknown;
  try {
    value = parseJson(text);
  } catch (error) {
    throw new SonantError("malformed_answer", "A message of the server is not JSON.", {
      cause: error,
    });
  }
  if (typeof (value as { type?: unknown } | null)?.type !== "string") {
    throw new SonantError("malformed_answer", "A message of the server has no type.");
  }
  return value as ServerMessage;
}

export function createdEvent(message: ServerMessageOf<"session.created">): CreatedEvent {
  return {
    type: "created",
    sessionId: message.session_id,
    sampleRate: message.sample_rate,
    channels: message.channels,
    frameMs: message.frame_ms,
    limits: message.limits,
    isResumable: message.resume_token !== "",
  };
}

/** @param session what holds where a segment says nothing else */
function segmentEvent(
  message: ServerMessageOf<"audio.start">,
  session: CreatedEvent | undefined,
): SegmentEvent {
  return {
    type: "segment",
    utterance: message.utterance_index ?? 0,
    sentence: message.sentence_index,
    generation: message.generation ?? 0,
    text: message.sentence_text,
    textStart: message.text_start,
    textEnd: message.text_end,
    format: message.format,
    sampleRate: message.sample_rate ?? session?.sampleRate ?? 0,
    channels: message.channels ?? session?.channels ?? 1,
    requestId: message.request_id,
  };
}

/** The event of a message that is about speech; undefined for those that are about the connection. */
export function speechEvent(
  message: ServerMessage,
  session: CreatedEvent | undefined,
): SocketEvent | undefined {
  switch (message.type) {
    case "session.queued":
      return {
        type: "queued",
        place: message.place,
        expectedWaitMs: message.expected_wait_ms,
      };
    case "audio.start":
      return segmentEvent(message, session);
    case "audio.done":
      return {
        type: "segment_done",
        utterance: message.utterance_index ?? 0,
        sentence: message.sentence_index,
        bytes: message.total_bytes,
        failed: message.error,
        cancelled: message.cancelled ?? false,
        durationMs: message.duration_ms,
        ttfaMs: message.ttfa_ms,
        timing: message.timing && {
          queueMs: message.timing.queue_ms,
          prefillMs: message.timing.prefill_ms,
          firstFrameMs: message.timing.first_frame_ms,
          codecMs: message.timing.codec_ms,
        },
        rtf: message.rtf,
        seed: message.seed === undefined ? undefined : String(message.seed),
      };
    case "audio.cancelled":
      return {
        type: "cancelled",
        utterance: message.utterance_index,
        sentence: message.sentence_index,
        reason: message.reason,
        sentMs: message.sent_ms,
        droppedChars: message.dropped_chars,
      };
    case "session.done":
      return {
        type: "done",
        utterance: message.utterance_index ?? 0,
        segments: message.total_sentences,
      };
    case "flow":
      return { type: "flow", state: message.state, leadMs: message.lead_ms };
    case "utterance.error": {
      const { code, message: text, retryable, utterance_index: utterance } = message;
      const error = new SonantError(code, text, { retryable });
      return { type: "error", error, fatal: false, utterance };
    }
    default:
      return undefined;
  }
}

/** Messages that the server repeats to a client which comes back, in the order in which it first sent them. */
export const REPEATED: ReadonlySet<string> = new Set([
  "audio.start",
  "audio.done",
  "audio.cancelled",
  "session.done",
  "utterance.error",
]);
