/** What can be done with a stored voice: changing what is said of it, deleting, exporting and importing it. */
"use client";
import { create } from "zustand";
import { client } from "../api/client.ts";
import { type Trouble, troubleOf } from "../api/trouble.ts";
import { forgetVoice } from "../playground/audition.ts";
import { requestedModel } from "../store/models.ts";
import { loadVoices, useVoices, type Voice } from "../store/voices.ts";
import { save } from "../ui/save-file.ts";
import { nameChars } from "./draft.ts";
import { readVoiceFile, voiceFileName, writeVoiceFile } from "./voice-file.ts";
import { freeName } from "./voice-names.ts";

export interface VoiceWords {
  readonly name: string;
  readonly description: string;
  readonly language: string;
}

/** @throws SonantError */
export async function changeVoice(voice: Voice, words: VoiceWords): Promise<void> {
  const name = words.name.trim();
  await client().updateVoice(voice.id, {
    ...(name === voice.name ? {} : { name }),
    speaker_description: words.description.trim(),
    language: words.language,
  });
  // Its sample was spoken in the language that it had.
  if (words.language !== voice.language) await forgetVoice(voice.id);
  await loadVoices();
}

/** @throws SonantError */
export async function deleteVoice(voice: Voice): Promise<void> {
  await client().deleteVoice(voice.id);
  await Promise.all([forgetVoice(voice.id), loadVoices()]);
}

/** Saves a voice as a file. @throws SonantError */
export async function exportVoice({ id }: Voice): Promise<void> {
  const [detail, recording] = await Promise.all([client().voice(id), client().voiceAudio(id)]);
  if (detail.kind !== "uploaded") throw new Error("Only voices of one's own can be exported.");
  const text = writeVoiceFile(detail, recording, Date.now());
  save(new Blob([text], { type: "application/json" }), voiceFileName(detail.name));
}

interface ImportState {
  readonly phase: "idle" | "importing" | "done" | "failed";
  /** Name under which the voice was added. */
  readonly name: string;
  readonly trouble: Trouble | undefined;
}

const NO_IMPORT: ImportState = { phase: "idle", name: "", trouble: undefined };

export const useImport = create<ImportState>()(() => NO_IMPORT);

export function dismissImport(): void {
  useImport.setState(NO_IMPORT);
}

/** Adds the voice of a file; under a name with a number if its own is taken. */
export async function importVoice(file: File): Promise<void> {
  useImport.setState({ ...NO_IMPORT, phase: "importing" });
  try {
    const parcel = readVoiceFile(await file.text());
    const { bytes, mimeType } = parcel.recording;
    const clip = new Blob([bytes as Uint8Array<ArrayBuffer>], { type: mimeType });
    const voice = {
      name: freeName(parcel.name, useVoices.getState().voices, nameChars()),
      consent: parcel.consent,
      audio: { file: clip, filename: "reference" },
      refText: parcel.refText,
      description: parcel.description,
      language: parcel.language,
    };
    const { name } = await client().uploadVoice(voice, { model: requestedModel() });
    await loadVoices();
    useImport.setState({ phase: "done", name });
  } catch (error) {
    useImport.setState({ phase: "failed", trouble: troubleOf(error) });
  }
}
