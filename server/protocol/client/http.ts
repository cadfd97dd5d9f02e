/**
 * The HTTP API as methods: speech whole, streamed, as events or in batches; voices; and what the server says about
 * itself. Runs in browsers and in Node; every call can be aborted and fails with a SonantError.
 */
import type { BatchInput, BatchResponse, BatchResult } from "../batch.ts";
import type { Health, Load, ModelCard, ModelList, Ready, Version } from "../documents.ts";
import { toJson } from "../json.ts";
import type { LimitsDocument } from "../limits.ts";
import type { SpeechRequestInput } from "../speech.ts";
import type { VoicePromptCreated, VoicePromptInput } from "../voice-prompts.ts";
import type { VoiceChangeInput } from "../voice-upload.ts";
import type { VoiceCatalogue, VoiceCreated, VoiceDeleted, VoiceDetail } from "../voices.ts";
import { AudioEventStream, AudioStream, type StreamSource } from "./audio-stream.ts";
import type { SonantError } from "./error.ts";
import { receiptOf, type SpeechReceipt } from "./receipt.ts";
import {
  type Access,
  bytesOf,
  type Call,
  type CallOptions,
  chunksOf,
  documentOf,
  fetchDocument,
  linesOf,
  type ModelOptions,
  ofModel,
  plainBaseUrl,
  send,
  textOf,
} from "./request.ts";
import { type UploadOptions, uploadVoice, type VoiceForm } from "./upload.ts";

export interface SpeechClientOptions {
  /** Such as `http://127.0.0.1:8091`; in a browser, empty for the page's own origin. A `/v1` at its end is dropped. */
  readonly baseUrl: string;
  readonly apiKey?: string | undefined;
  /** Used instead of the platform's own. */
  readonly fetch?: typeof globalThis.fetch | undefined;
  /** Milliseconds on a clock that does not jump, for times of arrival. */
  readonly now?: (() => number) | undefined;
  /** Hears of every refusal of the server, so that one place can ask for a key; the call fails with it all the same. */
  readonly onRefusal?: ((error: SonantError) => void) | undefined;
}

/** A speech in one piece. */
export interface WholeSpeech {
  readonly bytes: Uint8Array;
  readonly receipt: SpeechReceipt;
}

/** The recording that a voice was made from. */
export interface VoiceRecording {
  readonly bytes: Uint8Array;
  /** As it was uploaded, such as `audio/wav`. */
  readonly mimeType: string;
}

/** How the audio is delivered is each method's own affair. */
export type SpeechWish = Omit<SpeechRequestInput, "stream" | "stream_format">;

const SPEECH = "/v1/audio/speech";
const VOICES = "/v1/audio/voices";

export class SpeechClient {
  readonly baseUrl: string;
  readonly #access: Access;
  readonly #ownFetch: boolean;

  constructor({ baseUrl, apiKey, fetch, now, onRefusal }: SpeechClientOptions) {
    this.baseUrl = plainBaseUrl(baseUrl);
    this.#ownFetch = fetch === undefined;
    this.#access = {
      baseUrl: this.baseUrl,
      apiKey,
      // Looked up at each call, so that a page may replace it; called as a function of nothing, as browsers demand.
      fetch: fetch ?? ((input, init) => globalThis.fetch(input, init)),
      now: now ?? (() => performance.now()),
      onRefusal,
    };
  }

  // ---- speech

  /** Speaks a text and waits for all of it. */
  async speech(wish: SpeechWish, options: CallOptions = {}): Promise<WholeSpeech> {
    const response = await send(this.#access, post(SPEECH, { ...wish, stream: false }, options));
    const receipt = receiptOf(response.headers);
    return { bytes: await bytesOf(response, options.signal), receipt };
  }

  /** Speaks a text and gives the audio while it is made, as pcm unless another format is named. */
  async stream(wish: SpeechWish, options: CallOptions = {}): Promise<AudioStream> {
    const body = { response_format: "pcm", ...wish, stream: true, stream_format: "audio" };
    return new AudioStream(await this.#opened(post(SPEECH, body, options)));
  }

  /** The same as server-sent events, which end with the usage. */
  async sse(wish: SpeechWish, options: CallOptions = {}): Promise<AudioEventStream> {
    const body = { response_format: "pcm", ...wish, stream: true, stream_format: "sse" };
    const call = { ...post(SPEECH, body, options), accept: "text/event-stream" };
    return new AudioEventStream(await this.#opened(call));
  }

  /** Speaks several texts; an item that fails does not harm the others. */
  batch(batch: BatchInput, options: CallOptions = {}): Promise<BatchResponse> {
    const call = post(`${SPEECH}/batch`, batch, options);
    return fetchDocument<BatchResponse>(this.#access, call, ["results", "succeeded", "failed"]);
  }

  /** The same, with each result as soon as it is there, in the order in which they are done. */
  async *batchResults(
    batch: BatchInput,
    options: CallOptions = {},
  ): AsyncGenerator<BatchResult, void> {
    const call = { ...post(`${SPEECH}/batch`, batch, options), accept: "application/x-ndjson" };
    const response = await send(this.#access, call);
    for await (const line of linesOf(chunksOf(response, options.signal))) {
      yield documentOf<BatchResult>(line, ["index", "status"]);
    }
  }

  // ---- voices

  voices({ model, ...options }: ModelOptions = {}): Promise<VoiceCatalogue> {
    const keys = ["voices", "uploaded_voices", "presets"] as const;
    return this.#get<VoiceCatalogue>(ofModel(VOICES, model), keys, options);
  }

  /** @param name name in any case, or id */
  voice(name: string, options: CallOptions = {}): Promise<VoiceDetail> {
    return this.#get<VoiceDetail>(voicePath(name), ["kind", "name"], options);
  }

  /** Adds a voice, or replaces the uploaded one of that name. */
  uploadVoice(voice: VoiceForm, options: UploadOptions = {}): Promise<VoiceCreated> {
    return uploadVoice(this.#access, voice, options, this.#ownFetch);
  }

  /**
   * Changes the name, description or language of an uploaded voice; what is absent stays, and its id stays in any case.
   * @throws SonantError `voice_not_found` (presets cannot be changed), `voice_name_taken` or `invalid_value`
   */
  updateVoice(
    name: string,
    change: VoiceChangeInput,
    options: CallOptions = {},
  ): Promise<VoiceDetail> {
    const call: Call = {
      ...options,
      method: "PATCH",
      path: voicePath(name),
      json: toJson(change),
    };
    return fetchDocument<VoiceDetail>(this.#access, call, ["kind", "name"]);
  }

  /**
   * The recording that an uploaded voice was made from, as it was uploaded.
   * @throws SonantError `voice_not_found`; presets have none
   */
  async voiceAudio(name: string, options: CallOptions = {}): Promise<VoiceRecording> {
    const response = await send(this.#access, { ...options, path: `${voicePath(name)}/audio` });
    const mimeType = response.headers.get("content-type") ?? "";
    return { bytes: await bytesOf(response, options.signal), mimeType };
  }

  /** @throws SonantError `voice_not_found`; presets cannot be deleted */
  async deleteVoice(name: string, options: CallOptions = {}): Promise<void> {
    const call: Call = { ...options, method: "DELETE", path: voicePath(name) };
    await fetchDocument<VoiceDeleted>(this.#access, call, ["success"]);
  }

  /** Encodes a reference once; the id of the prompt is then used as `voice`. */
  createVoicePrompt(
    prompt: VoicePromptInput,
    options: CallOptions = {},
  ): Promise<VoicePromptCreated> {
    const call = post("/v1/audio/voice_prompts", prompt, options);
    return fetchDocument<VoicePromptCreated>(this.#access, call, ["id", "frames", "duration_s"]);
  }

  // ---- the server itself

  models(options: CallOptions = {}): Promise<ModelList> {
    return this.#get<ModelList>("/v1/models", ["data"], options);
  }

  model(id: string, options: CallOptions = {}): Promise<ModelCard> {
    return this.#get<ModelCard>(modelPath(id), ["id", "root"], options);
  }

  /**
   * Loads a model now, instead of with the first request to it. Resolves when it can speak.
   * @throws SonantError `model_failed` where it cannot be loaded
   */
  loadModel(id: string, options: CallOptions = {}): Promise<ModelCard> {
    const call: Call = { ...options, method: "POST", path: `${modelPath(id)}/load` };
    return fetchDocument<ModelCard>(this.#access, call, ["id", "root"]);
  }

  /** Frees a model's memory. Resolves when what it was speaking has come to its end. */
  unloadModel(id: string, options: CallOptions = {}): Promise<ModelCard> {
    const call: Call = { ...options, method: "POST", path: `${modelPath(id)}/unload` };
    return fetchDocument<ModelCard>(this.#access, call, ["id", "root"]);
  }

  limits({ model, ...options }: ModelOptions = {}): Promise<LimitsDocument> {
    return this.#get<LimitsDocument>(
      ofModel(`${SPEECH}/limits`, model),
      ["limits", "formats", "sample_rate"],
      options,
    );
  }

  /** Whether it can speak. A server that is not healthy answers as well. */
  health(options: CallOptions = {}): Promise<Health> {
    return this.#get<Health>("/health", ["status"], options, [503]);
  }

  /** Whether it takes requests now. A server that does not answers as well. */
  ready(options: CallOptions = {}): Promise<Ready> {
    return this.#get<Ready>("/ready", ["ready", "capacity"], options, [503]);
  }

  load(options: CallOptions = {}): Promise<Load> {
    return this.#get<Load>("/load", ["server_load"], options);
  }

  version(options: CallOptions = {}): Promise<Version> {
    return this.#get<Version>("/version", ["version", "model"], options);
  }

  /** Metrics in Prometheus' text format. */
  async metrics(options: CallOptions = {}): Promise<string> {
    const response = await send(this.#access, { ...options, path: "/metrics" });
    return textOf(response, options.signal);
  }

  /** The description of the HTTP API. */
  openapi(options: CallOptions = {}): Promise<Record<string, unknown>> {
    return this.#get<Record<string, unknown>>("/openapi.json", ["openapi", "paths"], options);
  }

  /** The description of the speech socket. */
  asyncapi(options: CallOptions = {}): Promise<Record<string, unknown>> {
    const keys = ["asyncapi", "channels"];
    return this.#get<Record<string, unknown>>("/asyncapi.json", keys, options);
  }

  #get<T extends object>(
    path: string,
    keys: readonly (keyof T & string)[],
    options: CallOptions,
    accepted: readonly number[] = [],
  ): Promise<T> {
    return fetchDocument<T>(this.#access, { ...options, path, accepted }, keys);
  }

  async #opened(call: Call): Promise<StreamSource> {
    const { now } = this.#access;
    const from = now();
    const response = await send(this.#access, call);
    const receipt = receiptOf(response.headers);
    return { response, receipt, signal: call.signal, sinceMs: () => now() - from };
  }
}

function post(path: string, body: object, options: CallOptions): Call {
  return { ...options, method: "POST", path, json: toJson(body) };
}

function modelPath(id: string): string {
  return `/v1/models/${id.split("/").map(encodeURIComponent).join("/")}`;
}

function voicePath(name: string): string {
  return `${VOICES}/${encodeURIComponent(name)}`;
}
