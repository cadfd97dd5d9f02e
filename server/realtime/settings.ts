/**
 * From a session's configuration to the settings of its speech. The same rules as for HTTP requests decide, so that one
 * request means one thing at every door.
 */
import type { Speaker } from "../house/types.ts";
import { prepareSpeech } from "../http/prepare.ts";
import { ApiError } from "../protocol/envelope.ts";
import type { AudioFormat } from "../protocol/formats.ts";
import type { SessionConfig, SessionUpdate } from "../protocol/socket-client.ts";
import type { SpeechSettings } from "../speech/types.ts";

/** Settings of the speech, and the form in which its units leave; a unit brings back those it was spoken with. */
export interface SocketSettings extends SpeechSettings {
  readonly format: AudioFormat;
  /** Pcm leaves as it is generated; otherwise each unit is one file. */
  readonly streamAudio: boolean;
  /** What they were made from. */
  readonly wish: SessionWish;
}

/** Options of a session in the words of its configuration, whatever door they came through. */
export type SessionWish = Partial<Omit<SessionConfig, "type">> &
  Partial<Omit<SessionUpdate, "type">>;

/** The rules look at a text; a session has none yet. */
const PLACEHOLDER = "text";

const VOICE_KEYS = ["voice", "ref_audio", "ref_text", "x_vector_only_mode"] as const;

/** A wish with some of its options changed. Who names another voice does not keep the old reference. */
export function changedWish(old: SessionWish, change: SessionWish): SessionWish {
  const isNewVoice = VOICE_KEYS.some((key) => change[key] !== undefined);
  const gone = isNewVoice ? VOICE_KEYS.map((key) => [key, undefined]) : [];
  return { ...old, ...Object.fromEntries(gone), ...change };
}

/**
 * @param speaker the model that the session speaks with
 * @throws ApiError of the first rule that is broken
 */
export async function prepareSettings(
  wish: SessionWish,
  speaker: Speaker,
  signal: AbortSignal,
): Promise<SocketSettings> {
  const { sampling, sockets } = speaker.config;
  const streamAudio = wish.stream_audio ?? false;
  const format = wish.response_format ?? "wav";
  if (streamAudio && format !== "pcm") {
    throw new ApiError("invalid_config", "stream_audio requires response_format='pcm'", {
      param: "stream_audio",
    });
  }
  const prepared = await prepareSpeech(
    { ...wish, input: PLACEHOLDER, response_format: format } as Parameters<typeof prepareSpeech>[0],
    speaker,
    signal,
  );
  return {
    ...prepared.settings,
    format: prepared.format,
    streamAudio,
    wish,
    // A seed that nobody asked for is drawn anew for each utterance.
    seed: wish.seed ?? (sampling.seed === undefined ? undefined : prepared.seed),
    granularity: wish.split_granularity ?? sockets.defaultSplit,
    maxLeadMs: wish.max_lead_ms ?? sockets.maxLeadMs,
  };
}
