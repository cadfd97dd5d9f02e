/**
 * What a client says on the speech socket. Dialect 1 is a strict subset of dialect 2: the messages that only dialect 2
 * has are listed in `DIALECT_2_ONLY`, everything else means the same in both.
 */
import { z } from "zod";
import { complain, flag, real, whole } from "./fields.ts";
import { checkSpellings, plainSpelling } from "./references.ts";
import { generationFields, outputFields, referenceField, voiceFields } from "./speech-fields.ts";

export const SPLIT_GRANULARITIES = ["sentence", "clause", "none", "auto"] as const;
export const CANCEL_SCOPES = ["current", "utterance", "all"] as const;

/**
 * Counts what a client says to its session. Whoever resumes a session sends again what may not have arrived, and whatever
 * did arrive is then ignored.
 */
const seq = whole(0)
  .optional()
  .describe("Grows with every message that has one; a number seen before is ignored");

const configFields = {
  ...voiceFields,
  ...outputFields,
  ...referenceField,
  ...generationFields,
  stream_audio: flag()
    .nullish()
    .describe("Send pcm as it is generated instead of one file for each unit"),
  split_granularity: z
    .enum(SPLIT_GRANULARITIES)
    .nullish()
    .describe("Where text is cut into units; at sentence ends if absent"),
} as const;

const sessionFields = {
  protocol: whole(1, 2).nullish().describe("Version of this protocol; 1 if absent"),
  binary_framing: z
    .enum(["plain", "tagged"])
    .nullish()
    .describe("Whether audio messages begin with a 24-byte header"),
  idle_timeout_s: real(5, 600)
    .nullish()
    .describe("The session is closed when no message comes for this long"),
  resumable: flag().nullish().describe("Keep the session for a while when the connection is lost"),
  queue_events: flag()
    .nullish()
    .describe("Tell the place in line of a session that has to wait, as session.queued"),
} as const;

interface StreamWish {
  value: { stream_audio?: unknown; response_format?: unknown };
  issues: unknown[];
}

function checkStream(context: StreamWish): void {
  const { stream_audio: stream, response_format: format } = context.value;
  if (stream && format !== "pcm") {
    complain(context, ["stream_audio"], "stream_audio requires response_format='pcm'");
  }
}

export const SessionConfigBody = z
  .object({
    type: z.literal("session.config").describe("First message of a session"),
    ...configFields,
    ...sessionFields,
  })
  .check(checkSpellings, checkStream);

/** Reads a configuration: aliases resolved, nulls dropped, scalars converted. */
export const SessionConfig = SessionConfigBody.transform(plainSpelling);
export type SessionConfig = z.output<typeof SessionConfig>;
export type SessionConfigInput = z.input<typeof SessionConfigBody>;

export const SessionUpdateBody = z
  .object({
    type: z.literal("session.update").describe("Changes options of the session"),
    ...configFields,
    apply: z
      .enum(["next", "now"])
      .nullish()
      .describe("From the next utterance, or from the next unit"),
    seq,
  })
  .check(checkSpellings);
export const SessionUpdate = SessionUpdateBody.transform(plainSpelling);
export type SessionUpdate = z.output<typeof SessionUpdate>;

export const InputText = z.object({
  type: z.literal("input.text").describe("More text to speak"),
  text: z.string().describe("What comes next; not repeated from earlier messages"),
  seq,
});
export type InputText = z.output<typeof InputText>;

const bare = <T extends string>(type: T, description: string) =>
  z.object({ type: z.literal(type).describe(description) });
const counted = <T extends string>(type: T, description: string) =>
  bare(type, description).extend({ seq });

export const InputFlush = counted(
  "input.flush",
  "Speak what is buffered; the utterance stays open",
);
export const InputDone = counted("input.done", "End of the utterance");
export const InputCommit = counted("input.commit", "Another name for input.done");
export const SessionClose = bare("session.close", "End of the session");

export const InputCancel = z.object({
  type: z.literal("input.cancel").describe("Stop speaking"),
  scope: z
    .enum(CANCEL_SCOPES)
    .default("utterance")
    .describe("The unit being spoken, the whole utterance, or everything"),
  played_ms: real(0).optional().describe("How much of the utterance was heard"),
  seq,
});
export type InputCancel = z.output<typeof InputCancel>;

export const PlaybackAck = z.object({
  type: z.literal("playback.ack").describe("Tells how far playback is"),
  utterance_index: whole(0).describe("The utterance being played"),
  played_ms: real(0).describe("How much of it was heard"),
});
export type PlaybackAck = z.output<typeof PlaybackAck>;

export const SessionResume = z.object({
  type: z.literal("session.resume").describe("Continues a session on a new connection"),
  session_id: z.string().describe("From session.created"),
  resume_token: z.string().describe("From session.created"),
  last_seq: whole(-1).describe("Last audio message that arrived; -1 if none did"),
});
export type SessionResume = z.output<typeof SessionResume>;

export const Ping = z.object({
  type: z.literal("ping").describe("Asks for a pong"),
  t: z.unknown().describe("Anything; comes back unchanged"),
});
export type Ping = z.output<typeof Ping>;

/** Every message of a client, by its type. */
export const CLIENT_MESSAGES = {
  "session.config": SessionConfig,
  "session.update": SessionUpdate,
  "session.resume": SessionResume,
  "session.close": SessionClose,
  "input.text": InputText,
  "input.flush": InputFlush,
  "input.done": InputDone,
  "input.commit": InputCommit,
  "input.cancel": InputCancel,
  "playback.ack": PlaybackAck,
  ping: Ping,
} as const;

export type ClientMessageType = keyof typeof CLIENT_MESSAGES;
export type ClientMessage = z.output<(typeof CLIENT_MESSAGES)[ClientMessageType]>;
export type ClientMessageInput = z.input<(typeof CLIENT_MESSAGES)[ClientMessageType]>;

export const DIALECT_2_ONLY: ReadonlySet<ClientMessageType> = new Set([
  "session.update",
  "input.flush",
  "input.commit",
  "input.cancel",
  "playback.ack",
  "ping",
]);

export function isClientMessageType(type: unknown): type is ClientMessageType {
  return typeof type === "string" && Object.hasOwn(CLIENT_MESSAGES, type);
}
