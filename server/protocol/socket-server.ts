/**
 * What the server says on the speech socket. Fields that only dialect 2 sends are optional, so that one schema reads
 * both dialects. Binary messages carry audio; see tagged-frame.ts for their optional header.
 */
import { z } from "zod";
import { ERRORS, type ErrorCode } from "./error-registry.ts";
import { AudioFormat } from "./formats.ts";
import { WordTime } from "./sse.ts";

const utterance = z.int().optional().describe("Counts utterances from 0");
const sentence = z.int().describe("Counts units from 0");
const rate = z.int().describe("Samples per second");
const channels = z.int().describe("Channels of the audio");

export const SessionLimits = z.object({
  config_chars: z.int().describe("Characters of a session.config message"),
  text_chars: z.int().describe("Characters of an input.text message"),
  buffer_chars: z.int().describe("Code points that may wait to be spoken"),
  queued_units: z.int().describe("Units that may wait to be spoken"),
  frame_bytes: z.int().describe("Bytes of one message"),
  idle_timeout_s: z.number().describe("The session is closed without messages for this long"),
  max_lead_ms: z.number().describe("Generation pauses this far ahead of playback"),
  resume_ttl_s: z.number().describe("A lost session can be resumed for this long; 0: never"),
});
export type SessionLimits = z.infer<typeof SessionLimits>;

export const SessionCreated = z.object({
  type: z.literal("session.created").describe("The configuration was accepted (dialect 2)"),
  session_id: z.string().describe("Id of the session"),
  resume_token: z.string().describe("Secret that resumes it; empty if it is not resumable"),
  protocol: z.literal(2).describe("Version of this protocol"),
  sample_rate: rate,
  channels,
  frame_ms: z.number().describe("Milliseconds of sound in a frame"),
  limits: SessionLimits.describe("Limits of this session"),
});

export const SessionQueued = z.object({
  type: z.literal("session.queued").describe("It waits in line; told if queue_events asks for it"),
  place: z.int().describe("Its place in the line, from 1"),
  expected_wait_ms: z.number().describe("How long that is likely to take"),
});

export const AudioStart = z.object({
  type: z.literal("audio.start").describe("Audio of a unit follows"),
  utterance_index: utterance,
  sentence_index: sentence,
  sentence_text: z.string().describe("Text of the unit"),
  format: AudioFormat.describe("Form of the audio"),
  sample_rate: rate.optional(),
  channels: channels.optional(),
  generation: z.int().optional().describe("Grows by one with every cancel"),
  request_id: z.string().optional().describe("Id of the unit in the server's log"),
  text_start: z.int().optional().describe("Where the unit begins in the utterance's text"),
  text_end: z.int().optional().describe("Where it ends"),
});

export const AudioChunk = z.object({
  type: z.literal("audio.chunk").describe("Audio with word times, instead of a binary message"),
  utterance_index: utterance,
  sentence_index: sentence,
  chunk_id: z.int().describe("Counts the chunks of a unit from 0"),
  chunk_start_ms: z.number().describe("Where the chunk begins in the unit"),
  chunk_end_ms: z.number().describe("Where it ends"),
  sample_rate: rate,
  channels,
  audio_b64: z.string().describe("Its bytes in base64"),
  timestamps: z.array(WordTime).nullable().describe("Word times; null while they are unknown"),
});

export const AudioMark = z.object({
  type: z.literal("audio.mark").describe("Word times of a unit"),
  utterance_index: utterance,
  sentence_index: sentence,
  words: z.array(WordTime).describe("Its words"),
});

const ms = (text: string) => z.number().describe(text);

/** Where the time to a unit's first audio went, in milliseconds. */
export const FirstAudioTiming = z.object({
  queue_ms: ms("In line"),
  prefill_ms: ms("Computing the prompt"),
  first_frame_ms: ms("Making the frames of the first chunk"),
  codec_ms: ms("Turning them into sound"),
});

export const AudioDone = z.object({
  type: z.literal("audio.done").describe("End of a unit's audio"),
  utterance_index: utterance,
  sentence_index: sentence,
  total_bytes: z.int().describe("Audio bytes that were sent for it"),
  error: z.boolean().describe("Whether it failed"),
  duration_ms: z.number().optional().describe("Length of its audio"),
  ttfa_ms: z.number().optional().describe("Time from its text to its first audio"),
  timing: FirstAudioTiming.optional().describe("What `ttfa_ms` was spent on (dialect 2)"),
  rtf: z.number().optional().describe("Generation time over audio time"),
  seed: z.union([z.int(), z.bigint()]).optional().meta({
    description: "The seed that was used",
    type: "integer",
    format: "int64",
  }),
  cancelled: z.boolean().optional().describe("Whether it was cancelled"),
});

export const CANCEL_REASONS = ["client_cancel", "superseded", "overload"] as const;

export const AudioCancelled = z.object({
  type: z.literal("audio.cancelled").describe("Answer to input.cancel; no older audio follows"),
  utterance_index: z.int().describe("The utterance that was cancelled"),
  sentence_index: sentence,
  reason: z.enum(CANCEL_REASONS).describe("Why it stopped"),
  sent_bytes: z.int().describe("Audio bytes of the unit that had been sent"),
  sent_ms: z.number().describe("Their length in milliseconds"),
  heard_text: z.string().optional().describe("Text up to `played_ms`, if it can be told"),
  dropped_chars: z.int().describe("Code points that were never spoken"),
});

export const SessionDone = z.object({
  type: z.literal("session.done").describe("End of an utterance"),
  utterance_index: utterance,
  total_sentences: z.int().describe("Units that were completed"),
});

export const UtteranceError = z.object({
  type: z.literal("utterance.error").describe("A unit failed; the session goes on"),
  utterance_index: z.int().describe("The utterance it belongs to"),
  code: z.string().describe("Stable name of the failure"),
  message: z.string().describe("What went wrong"),
  retryable: z.boolean().describe("Whether the same text may succeed later"),
});

export const Flow = z.object({
  type: z.literal("flow").describe("Generation pauses or goes on"),
  state: z.enum(["paused", "resumed"]).describe("Which of the two"),
  lead_ms: z.number().describe("Audio sent but not yet played"),
});

export const SessionResumed = z.object({
  type: z.literal("session.resumed").describe("The session continues on this connection"),
  from_seq: z.int().describe("First audio message that is sent again"),
  lost: z.boolean().describe("Whether some audio is gone for good"),
});

export const Pong = z.object({
  type: z.literal("pong").describe("Answer to ping"),
  t: z.unknown().describe("As it came"),
});

export const SocketError = z.object({
  type: z.literal("error").describe("Something went wrong"),
  message: z.string().describe("What, in a sentence for a person"),
  code: z.string().optional().describe("Stable name of the failure"),
  fatal: z.boolean().optional().describe("Whether the server closes the connection now"),
  param: z.string().nullable().optional().describe("The field at fault, if one is"),
  partial_audio: z.boolean().optional().describe("Whether audio of the failed unit was sent"),
  action: z.literal("discard").optional().describe("What to do with that audio"),
});

export const ServerMessage = z.discriminatedUnion("type", [
  SessionCreated,
  SessionQueued,
  AudioStart,
  AudioChunk,
  AudioMark,
  AudioDone,
  AudioCancelled,
  SessionDone,
  UtteranceError,
  Flow,
  SessionResumed,
  Pong,
  SocketError,
]);
export type ServerMessage = z.infer<typeof ServerMessage>;
export type ServerMessageOf<T extends ServerMessage["type"]> = Extract<ServerMessage, { type: T }>;

/** The server's answer to something that went wrong. Non-fatal unless it says otherwise. */
export function socketError(
  code: ErrorCode,
  message: string = ERRORS[code].text,
  details: { readonly fatal?: boolean; readonly param?: string | null } = {},
): ServerMessageOf<"error"> {
  const { fatal = false, param = null } = details;
  return { type: "error", message, code, fatal, param };
}

/** The `error` that comes between `audio.start` and `audio.done` of a unit that failed. */
export function generationError(
  place: { readonly utterance: number; readonly sentence: number },
  reason: string,
  partialAudio: boolean,
): ServerMessageOf<"error"> {
  const where = `utterance ${place.utterance}, sentence ${place.sentence}`;
  const error = socketError("generation_failed", `Generation failed for ${where}: ${reason}`);
  return partialAudio ? { ...error, partial_audio: true, action: "discard" } : error;
}
