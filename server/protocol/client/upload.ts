/**
 * Uploading a voice, with progress. Only a browser's older kind of request tells how much of a body has left, so it is
 * used where somebody asks and it exists; everywhere else fetch sends the form, and progress is its beginning and end.
 */
import type { VoiceCreated } from "../voices.ts";
import { SonantError } from "./error.ts";
import { errorOfAnswer } from "./error-answers.ts";
import {
  type Access,
  type Call,
  documentOf,
  headersOf,
  type ModelOptions,
  ofModel,
  refusal,
  send,
  textOf,
} from "./request.ts";

export interface VoiceForm {
  readonly name: string;
  /** How the speaker agreed to the use of the voice. */
  readonly consent: string;
  /** A clip of 1 to 30 seconds; its name tells the format where its type does not. */
  readonly audio?: { readonly file: Blob; readonly filename: string };
  /** A voice as numbers, for models that speak from embeddings; instead of a clip. */
  readonly embedding?: readonly number[];
  /** What is said in the clip. */
  readonly refText?: string | undefined;
  readonly description?: string | undefined;
  /** Two-letter code of the language spoken. */
  readonly language?: string | undefined;
}

export interface UploadProgress {
  readonly sentBytes: number;
  readonly totalBytes: number;
}

/** The model that is named encodes the clip at once; the voice speaks with every model. */
export interface UploadOptions extends ModelOptions {
  readonly onProgress?: ((progress: UploadProgress) => void) | undefined;
}

const PATH = "/v1/audio/voices";
const KEYS = ["success", "voice", "id", "name"] as const;

function formOf(voice: VoiceForm): FormData {
  const form = new FormData();
  form.set("name", voice.name);
  form.set("consent", voice.consent);
  if (voice.refText !== undefined) form.set("ref_text", voice.refText);
  if (voice.description !== undefined) form.set("speaker_description", voice.description);
  if (voice.language !== undefined) form.set("language", voice.language);
  if (voice.embedding !== undefined) form.set("speaker_embedding", JSON.stringify(voice.embedding));
  if (voice.audio !== undefined) form.set("audio_sample", voice.audio.file, voice.audio.filename);
  return form;
}

/** @param tellsProgress whether the platform's own kind of request may be used */
export async function uploadVoice(
  access: Access,
  voice: VoiceForm,
  { onProgress, model, ...options }: UploadOptions,
  tellsProgress: boolean,
): Promise<VoiceCreated> {
  const call: Call = {
    ...options,
    method: "POST",
    path: ofModel(PATH, model),
    form: formOf(voice),
  };
  if (onProgress !== undefined && tellsProgress && typeof XMLHttpRequest === "function") {
    return documentOf<VoiceCreated>(await sendWithProgress(access, call, onProgress), KEYS);
  }
  const totalBytes = voice.audio?.file.size ?? 0;
  onProgress?.({ sentBytes: 0, totalBytes });
  const text = await textOf(await send(access, call), options.signal);
  onProgress?.({ sentBytes: totalBytes, totalBytes });
  return documentOf<VoiceCreated>(text, KEYS);
}

/** Resolves to the body of an answer that tells of success. */
function sendWithProgress(
  access: Access,
  call: Call,
  onProgress: (progress: UploadProgress) => void,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const { signal } = call;
    const stop = () => request.abort();
    const ended = (settle: () => void) => () => {
      signal?.removeEventListener("abort", stop);
      settle();
    };
    request.open(call.method ?? "POST", access.baseUrl + call.path);
    for (const [name, value] of Object.entries(headersOf(access, call))) {
      request.setRequestHeader(name, value);
    }
    request.upload.onprogress = ({ loaded, total }) =>
      onProgress({ sentBytes: loaded, totalBytes: total });
    request.onload = ended(() => {
      const { status, responseText } = request;
      if (status >= 200 && status < 300) return resolve(responseText);
      const headers = { get: (name: string) => request.getResponseHeader(name) };
      reject(refusal(access, errorOfAnswer(status, responseText, headers)));
    });
    request.onerror = ended(() => reject(new SonantError("network")));
    request.onabort = ended(() => reject(new SonantError("aborted")));
    if (signal?.aborted) return reject(new SonantError("aborted"));
    signal?.addEventListener("abort", stop);
    request.send(call.form ?? null);
  });
}
