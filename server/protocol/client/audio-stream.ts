/**
 * Speech that arrives over HTTP while it is made: as bytes, or as server-sent events. Every piece carries the time of its
 * arrival, so that a caller can judge how it would have played. Read once.
 */
import type { AudioFormat } from "../formats.ts";
import { pcmSeconds } from "../pcm.ts";
import type { SpeechEvent } from "../sse.ts";
import type { Usage } from "../usage.ts";
import { SonantError } from "./error.ts";
import type { SpeechReceipt } from "./receipt.ts";
import { chunksOf, documentOf, joined, linesOf } from "./request.ts";

export interface StreamPiece {
  /** Never empty; of pcm always whole samples of all channels. */
  readonly bytes: Uint8Array;
  /** When it arrived, in milliseconds since the request was sent. */
  readonly atMs: number;
  /** Length of its sound in milliseconds; only known of pcm. */
  readonly durationMs: number | undefined;
}

export interface StreamSource {
  readonly response: Response;
  readonly receipt: SpeechReceipt;
  readonly signal: AbortSignal | undefined;
  /** Milliseconds since the request was sent. */
  readonly sinceMs: () => number;
}

/** The bytes of a streamed answer. Leaving the loop early stops the speech on the server. */
export class AudioStream implements AsyncIterable<StreamPiece> {
  readonly receipt: SpeechReceipt;
  /** When the headers arrived, in milliseconds since the request was sent. */
  readonly headersMs: number;
  readonly #source: StreamSource;

  constructor(source: StreamSource) {
    this.#source = source;
    this.receipt = source.receipt;
    this.headersMs = source.sinceMs();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<StreamPiece, void> {
    const { response, receipt, signal, sinceMs } = this.#source;
    const isPcm = receipt.contentType.startsWith("audio/pcm");
    const unit = isPcm ? 2 * receipt.channels : 1;
    let rest: Uint8Array = new Uint8Array(0);
    for await (const chunk of chunksOf(response, signal)) {
      const atMs = sinceMs();
      const bytes = rest.length === 0 ? chunk : joined([rest, chunk]);
      const whole = bytes.length - (bytes.length % unit);
      rest = bytes.subarray(whole);
      if (whole === 0) continue;
      const durationMs = isPcm
        ? 1000 * pcmSeconds(whole, receipt.sampleRate, receipt.channels)
        : undefined;
      yield { bytes: bytes.subarray(0, whole), atMs, durationMs };
    }
    if (rest.length > 0) {
      throw new SonantError("interrupted", "The audio ended in the middle of a sample.");
    }
  }

  /** Reads to the end and gives all bytes. */
  async bytes(): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for await (const { bytes } of this) parts.push(bytes);
    return joined(parts);
  }
}

export type AudioEvent =
  | {
      readonly type: "audio";
      readonly bytes: Uint8Array;
      readonly atMs: number;
      readonly format: AudioFormat;
      readonly sampleRate: number;
      readonly channels: number;
      /** Where the piece begins in the speech, and how long it is. */
      readonly startMs: number;
      readonly durationMs: number;
    }
  | { readonly type: "done"; readonly atMs: number; readonly usage: Usage };

/** The events of an answer in server-sent events, the last of which is `done`. */
export class AudioEventStream implements AsyncIterable<AudioEvent> {
  readonly receipt: SpeechReceipt;
  readonly headersMs: number;
  readonly #source: StreamSource;

  constructor(source: StreamSource) {
    this.#source = source;
    this.receipt = source.receipt;
    this.headersMs = source.sinceMs();
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<AudioEvent, void> {
    const { response, receipt, signal, sinceMs } = this.#source;
    for await (const data of eventData(linesOf(chunksOf(response, signal)))) {
      const event = documentOf<SpeechEvent>(data, ["type"]);
      const atMs = sinceMs();
      if (event.type === "speech.audio.error") {
        const { message, code: status } = event.error;
        const code = status === 503 ? "overloaded" : "generation_failed";
        throw new SonantError(code, message, { status, requestId: receipt.requestId });
      }
      if (event.type === "speech.audio.done") {
        yield { type: "done", atMs, usage: event.usage };
        return;
      }
      yield {
        type: "audio",
        bytes: fromBase64(event.audio),
        atMs,
        format: event.response_format,
        sampleRate: event.sample_rate,
        channels: event.channels,
        startMs: event.start_ms,
        durationMs: event.duration_ms,
      };
    }
    throw new SonantError("interrupted", undefined, { requestId: receipt.requestId });
  }
}

/** The data of each event; comments and other fields are no data. */
async function* eventData(lines: AsyncIterable<string>): AsyncGenerator<string, void> {
  let data: string[] = [];
  for await (const line of lines) {
    if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
    else if (line === "" && data.length > 0) {
      yield data.join("\n");
      data = [];
    }
  }
}

/** @throws SonantError `malformed_answer` */
export function fromBase64(text: string): Uint8Array {
  let binary: string;
  try {
    binary = atob(text);
  } catch (error) {
    throw new SonantError("malformed_answer", "The audio is not base64.", { cause: error });
  }
  const bytes = new Uint8Array(binary.length);
  for (let at = 0; at < binary.length; at++) bytes[at] = binary.charCodeAt(at);
  return bytes;
}
