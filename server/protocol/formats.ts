/** Audio formats on the wire: their names, content types and the choices between them. */
import { z } from "zod";

export const FORMATS = ["wav", "pcm", "flac", "mp3", "aac", "opus"] as const;
export const AudioFormat = z.enum(FORMATS);
export type AudioFormat = z.infer<typeof AudioFormat>;

export const CONTENT_TYPES: Readonly<Record<AudioFormat, string>> = {
  wav: "audio/wav",
  pcm: "audio/pcm",
  flac: "audio/flac",
  mp3: "audio/mpeg",
  aac: "audio/aac",
  opus: "audio/ogg",
};

export const SSE_CONTENT_TYPE = "text/event-stream; charset=utf-8";
export const NDJSON_CONTENT_TYPE = "application/x-ndjson";

/** Rates that a request may ask for, in samples per second and channel. */
export const SAMPLE_RATES = [8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000] as const;

/** Rates that an Ogg Opus stream can carry; others are resampled to 48 kHz. */
const OPUS_RATES: ReadonlySet<number> = new Set([8000, 12000, 16000, 24000, 48000]);

/** The rate at which a format carries sound of the given rate. */
export function carriedRate(format: AudioFormat, sampleRate: number): number {
  return format === "opus" && !OPUS_RATES.has(sampleRate) ? 48000 : sampleRate;
}

const DATED = /-\d{4}-\d{2}-\d{2}$/;

/** True if a model name is one of the aliases, or a dated variant of one (`NAME-2025-12-15`). */
export function isAlias(model: string | undefined, aliases: readonly string[]): boolean {
  return (
    model !== undefined && (aliases.includes(model) || aliases.includes(model.replace(DATED, "")))
  );
}

/** The format of a request that names none: what the clients of its model name are used to. */
export function defaultFormat(model: string | undefined, aliases: readonly string[]): AudioFormat {
  return isAlias(model, aliases) ? "mp3" : "wav";
}

/** How a response leaves: in one piece, as a byte stream, or as server-sent events. */
export type Delivery = "whole" | "audio" | "sse";

export interface DeliveryWish {
  readonly stream?: boolean | undefined;
  readonly stream_format?: "audio" | "sse" | undefined;
}

/**
 * Chooses the delivery. An explicit `stream_format` wins, then an Accept header that asks for events, then the
 * server's default. `stream_format: audio` streams, as it does for OpenAI's clients.
 */
export function chooseDelivery(
  wish: DeliveryWish,
  accept: string | undefined,
  streamDefault: "audio" | "sse",
): Delivery {
  if (wish.stream_format !== undefined) return wish.stream_format;
  if (accept?.toLowerCase().includes("text/event-stream")) return "sse";
  return wish.stream ? streamDefault : "whole";
}
