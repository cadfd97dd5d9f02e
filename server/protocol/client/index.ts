/**
 * The client of a Sonant server: HTTP, the speech socket, and a meter for what they bring. Runs unchanged in browsers and
 * in Node, and brings no schemas with it. This is the package's door; everything behind it is its own affair.
 */
export {
  type AudioEvent,
  AudioEventStream,
  AudioStream,
  type StreamPiece,
} from "./audio-stream.ts";
export { CLIENT_ERRORS, SonantError, type SonantErrorCode, toSonantError } from "./error.ts";
export {
  SpeechClient,
  type SpeechClientOptions,
  type SpeechWish,
  type VoiceRecording,
  type WholeSpeech,
} from "./http.ts";
export { type Arrival, type MeterOptions, type MeterReading, PlaybackMeter } from "./meter.ts";
export type { SpeechReceipt } from "./receipt.ts";
export { type CallOptions, joined, type ModelOptions } from "./request.ts";
export { SpeechSocket } from "./socket.ts";
export { socketUrl } from "./socket-link.ts";
export type * from "./socket-types.ts";
export type { UploadOptions, UploadProgress, VoiceForm } from "./upload.ts";
