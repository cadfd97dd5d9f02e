/**
 * What a place for uploaded voices has to offer; contracts only. The server keeps voices in a folder (file-store.ts) or,
 * where several servers share them, in an object service (s3-store.ts).
 */
import type { VoiceCodes } from "../models/types.ts";
import type { VoiceEdit } from "../protocol/voice-upload.ts";
import type { CodesKey } from "./encode-reference.ts";

/** How a recording came to the server. */
export type VoiceOrigin = "upload" | "recording";

/** What is known of an uploaded voice. All fields are final, except those of a `VoiceEdit`. */
export interface StoredVoice {
  /** `voice_` and a random part: one upload. Another upload under the same name has another id. */
  readonly id: string;
  /** Display name, in any script. */
  readonly name: string;
  readonly consent: string;
  /** What the recording says. */
  readonly refText?: string | undefined;
  readonly speakerDescription?: string | undefined;
  /** Two-letter code of the language spoken. */
  readonly language?: string | undefined;
  readonly origin: VoiceOrigin;
  /** Unix time in seconds; larger than that of every earlier upload. */
  readonly createdAt: number;
  readonly durationSeconds: number;
  /** Hz, as stored in the file. */
  readonly sampleRate: number;
  /** Integrated loudness; null if the recording is too short to be measured. */
  readonly loudnessLufs: number | null;
  /** Size of the recording, in bytes. */
  readonly fileSize: number;
  readonly mimeType: string;
  /** SHA-256 of the recording, in hex. */
  readonly sha256: string;
}

/** A voice to be stored: checked completely, since it replaces a voice of the same name. */
export interface VoiceDraft extends Omit<StoredVoice, "id" | "createdAt" | "fileSize"> {
  /** The recording as it was uploaded. */
  readonly sample: Uint8Array;
  readonly codes: VoiceCodes;
  readonly codesKey: CodesKey;
}

/**
 * Names are compared by `voiceKey`; where a name or an id is asked for, the name is tried first. Everything may fail with
 * an ApiError `voices_unavailable` where the voices are kept elsewhere.
 */
export interface VoiceStore {
  /** All voices, the oldest first. */
  list(): Promise<readonly StoredVoice[]>;
  find(nameOrId: string): Promise<StoredVoice | undefined>;
  /**
   * Stores a voice; one of the same name is replaced in the same instant. On failure nothing changes.
   * @throws ApiError `voice_limit_reached`
   */
  put(draft: VoiceDraft): Promise<StoredVoice>;
  /**
   * Changes what people say of a voice; its id, age, recording and codes stay. All of it or nothing.
   * @throws ApiError `voice_not_found`, or `voice_name_taken` if another voice has the name
   */
  update(nameOrId: string, edit: VoiceEdit): Promise<StoredVoice>;
  /** Deletes a voice; undefined if there is none. Codes that were handed out stay good. */
  delete(nameOrId: string): Promise<StoredVoice | undefined>;
  /**
   * The recording as it was uploaded.
   * @throws ApiError `voice_not_found`, or `invalid_voice` if it was damaged
   */
  sample(id: string): Promise<Uint8Array>;
  /** Codes made with that key; undefined if there are none or they were damaged. */
  codes(id: string, key: CodesKey): Promise<VoiceCodes | undefined>;
  /** Keeps codes beside those of other keys. Without effect if the voice is gone. */
  putCodes(id: string, key: CodesKey, codes: VoiceCodes): Promise<void>;
}
