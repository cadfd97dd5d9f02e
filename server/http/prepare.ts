/**
 * From a request to settings that a session understands: rules checked in the order of the specification, voice found or
 * made, numbers chosen where the request leaves them open. Single requests and items of a batch go the same way.
 */
import { randomInt } from "node:crypto";
import { holdsIntegers } from "../audio/encoder.ts";
import type { Speaker } from "../house/types.ts";
import { ApiError } from "../protocol/envelope.ts";
import { type AudioFormat, carriedRate, defaultFormat } from "../protocol/formats.ts";
import type { SpeechRequest } from "../protocol/speech.ts";
import { samplerOf } from "../protocol/speech-fields.ts";
import { checkSpeech } from "../protocol/speech-rules.ts";
import type { SessionRequest, SpeechSettings, VoiceKind } from "../speech/types.ts";
import type { ResolvedVoice } from "../voices/library.ts";
import { abilitiesFor, namedVoice } from "./abilities.ts";

/** The part of a request that is read here; items of a batch have some of it. */
export type SpokenRequest = Pick<SpeechRequest, "input"> & Partial<SpeechRequest>;

export interface PreparedSpeech {
  /** The model's name as the request wrote it. */
  readonly model: string | undefined;
  readonly input: string;
  readonly format: AudioFormat;
  readonly settings: SpeechSettings & Required<Pick<SessionRequest, "seed">>;
  readonly seed: bigint;
}

const VOICE_KINDS: Readonly<Record<ResolvedVoice["kind"], VoiceKind>> = {
  preset: "preset",
  uploaded: "uploaded",
  reference: "inline",
  prompt: "inline",
  model: "none",
};

function referenceOf({ ref_audio: reference }: SpokenRequest): string | undefined {
  if (typeof reference !== "object") return reference;
  if (reference.length === 1) return reference[0];
  const message = "ref_audio: this model speaks with one voice, so it takes one reference";
  throw new ApiError("invalid_value", message, { param: "ref_audio" });
}

function samplingOf(request: SpokenRequest): NonNullable<SpeechSettings["sampling"]> {
  const written = samplerOf(request);
  const sampling = {
    textTemperature: written.temperature,
    textTopP: written.top_p,
    textTopK: written.top_k,
    audioTemperature: written.audio_temperature,
    audioTopP: written.audio_top_p,
    audioTopK: written.audio_top_k,
    audioRepetitionPenalty: written.audio_repetition_penalty,
  };
  return Object.fromEntries(Object.entries(sampling).filter(([, value]) => value !== undefined));
}

/** The request's seed, else the deploy file's, else one at random. */
function seedOf(request: SpokenRequest, { config }: Speaker): bigint {
  return request.seed ?? BigInt(config.sampling.seed ?? randomInt(2 ** 47));
}

/**
 * Checks a request to a model and finds its voice, which may mean to fetch and encode a reference.
 * @throws ApiError of the first rule that is broken, or the signal's reason
 */
export async function prepareSpeech(
  request: SpokenRequest,
  speaker: Speaker,
  signal: AbortSignal,
): Promise<PreparedSpeech> {
  const { config, service, voices } = speaker;
  const asked = await namedVoice(request.voice, speaker);
  checkSpeech(request, abilitiesFor(speaker, asked), config.limits);
  const reference = referenceOf(request);
  const voice = await voices.resolve(
    reference === undefined ? { voice: asked.name } : { refAudio: reference },
    signal,
  );
  const { model, response_format, sample_rate, channels, speed } = request;
  const format = response_format ?? defaultFormat(model, config.openaiAliases);
  const seed = seedOf(request, speaker);
  return {
    model,
    input: request.input,
    format,
    seed,
    settings: {
      voice: voice.prompt,
      voiceKind: VOICE_KINDS[voice.kind],
      seed,
      sampling: samplingOf(request),
      language: request.language,
      granularity: request.segmenting === "off" ? "none" : undefined,
      normalise: request.text_normalization !== "off",
      pauseTags: request.pause_tags,
      maxFrames: request.max_new_tokens,
      speed: speed ?? 1,
      sampleRate: carriedRate(format, sample_rate ?? service.model.audio.sampleRate),
      channels: (channels ?? config.output.channels) === 2 ? 2 : 1,
      chunkPolicy: request.chunk_policy,
      firstChunkFrames: request.initial_codec_chunk_frames,
      maxLeadMs: request.max_lead_ms ?? Number.POSITIVE_INFINITY,
      wantsIntegers: holdsIntegers(format),
    },
  };
}
