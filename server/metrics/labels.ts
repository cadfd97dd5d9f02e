/**
 * Label values: closed sets, so that no client can make the number of series grow, and never a voice's name or text.
 */
import type { AudioFormat } from "../protocol/formats.ts";

export type Transport = "http" | "http_stream" | "sse" | "ws" | "socket_io" | "batch";
export type VoiceKind = "preset" | "uploaded" | "inline";

/** How a request ended: two good ends, the client's two ways to leave, two failures. */
export type Outcome = "stop" | "length" | "cancelled" | "closed" | "error" | "engine_dead";

/** Transports that send audio while it is being generated. */
const STREAMING: ReadonlySet<Transport> = new Set(["http_stream", "sse", "ws", "socket_io"]);

export function isStreaming(transport: Transport): boolean {
  return STREAMING.has(transport);
}

export function isCompleted(outcome: Outcome): outcome is "stop" | "length" {
  return outcome === "stop" || outcome === "length";
}

export const TTS_LABELS = ["model", "voice_kind", "transport", "format"] as const;
export type TtsLabels = Readonly<Record<(typeof TTS_LABELS)[number], string>>;

export const STAGE_LABELS = ["model_name", "stage", "replica"] as const;
export type StageLabels = Readonly<Record<(typeof STAGE_LABELS)[number], string>>;

export const TRANSFER_LABELS = [
  "model_name",
  "from_stage",
  "from_replica",
  "to_stage",
  "to_replica",
] as const;

/** The label of a model: one of the served names; whatever else a client wrote becomes `other`. */
export function modelLabel(model: string | undefined, served: readonly string[]): string {
  if (model === undefined) return served[0] ?? "other";
  return served.includes(model) ? model : "other";
}

export function ttsLabels(
  model: string,
  voiceKind: VoiceKind,
  transport: Transport,
  format: AudioFormat,
): TtsLabels {
  return { model, voice_kind: voiceKind, transport, format };
}
