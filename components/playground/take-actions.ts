/** What can be done with a take, by its card, by keys and by menus alike. */
"use client";
import { client } from "../api/client.ts";
import { PageError } from "../api/trouble.ts";
import { buildWav } from "../audio/wav.ts";
import { forgetTake, loadSound, storeTake } from "../store/history.ts";
import { chosenModel, isKnownModel, requestedModel } from "../store/models.ts";
import { changeSettings, drawSeed, useSettings } from "../store/settings.ts";
import {
  changeTake,
  dropSound,
  isFinished,
  selectTake,
  type Take,
  type TakeRequest,
  takeById,
  useTakes,
} from "../store/takes.ts";
import { chooseModel, useVoiceChoice, voiceById } from "../store/voices.ts";
import { save } from "../ui/save-file.ts";
import { bodyOf } from "./snippets.ts";
import { dropFrameLog, speak } from "./speaking.ts";

/** What the controls ask for now. */
export function currentRequest(): TakeRequest {
  const { text, seed, seedLocked, speed, temperature, audioTemperature, normalise } =
    useSettings.getState();
  const voice = useVoiceChoice.getState().chosen;
  const model = requestedModel();
  return {
    text,
    ...(model === undefined ? {} : { model, modelName: chosenModel()?.name }),
    voice,
    voiceName: voiceById(voice)?.name ?? voice,
    seed: seedLocked ? seed : drawSeed(),
    speed,
    temperature,
    audioTemperature,
    normalise,
  };
}

/** The same take once more: by its seed it has to have the same bytes. */
export function again({ request }: Take): string {
  return speak(request);
}

/** Three takes with seeds of their own; the first is heard, the others are made beside it. */
export function freshSeeds({ request }: Take): void {
  const askedAt = performance.now();
  for (const isHeard of [false, false, true]) {
    speak({ ...request, seed: drawSeed() }, { isHeard, askedAt });
  }
}

export function retakeSentence({ request }: Take, text: string): string {
  return speak({ ...request, text });
}

export function toggleStar(take: Take): void {
  change(take.id, { isStarred: !take.isStarred });
}

/** Changes what the visitor wrote on a take, and stores it. */
export function change(id: string, what: Partial<Take>): void {
  changeTake(id, what);
  const take = takeById(id);
  if (take !== undefined && isFinished(take)) void storeTake(take, false);
}

export function addMark({ id, marks }: Take, atMs: number, text: string): void {
  const all = [...marks, { atMs, text }].sort((a, b) => a.atMs - b.atMs);
  change(id, { marks: all });
}

export function removeTake(take: Take): void {
  useTakes.setState(({ takes, selected }) => {
    const at = takes.findIndex(({ id }) => id === take.id);
    const left = takes.filter(({ id }) => id !== take.id);
    const next = left[Math.min(at, left.length - 1)]?.id;
    return { takes: left, selected: selected === take.id ? next : selected };
  });
}

/** Puts a removed take back where it was. */
export function restoreTake(take: Take): void {
  useTakes.setState(({ takes }) => ({
    takes: [...takes, take].sort((a, b) => b.createdAt - a.createdAt),
    selected: take.id,
  }));
}

/** Makes a removal final. */
export function buryTake(take: Take): void {
  dropSound(take.id);
  dropFrameLog(take.id);
  void forgetTake(take.id);
}

/** Selects the take above (-1) or below (1). */
export function stepSelection(step: -1 | 1): void {
  const { takes, selected } = useTakes.getState();
  const at = takes.findIndex(({ id }) => id === selected);
  const next = takes[Math.min(takes.length - 1, Math.max(0, at + step))];
  if (next !== undefined) selectTake(next.id);
}

/** Brings a take's set-up back into the controls. */
export function reuse({ request }: Take): void {
  const { text, model, voice, seed, speed, temperature, audioTemperature, normalise } = request;
  changeSettings({ text, seed, seedLocked: true, speed, temperature, audioTemperature, normalise });
  if (model !== undefined && isKnownModel(model)) chooseModel(model, voice);
  else if (voiceById(voice) !== undefined) useVoiceChoice.setState({ chosen: voice });
}

export const DOWNLOADS = ["wav", "flac", "mp3", "opus", "aac"] as const;
export type Download = (typeof DOWNLOADS)[number];

/**
 * Saves a take as a file. WAV is written here, from the very samples; the server encodes the others, from the same seed
 * and so from the same sound.
 * @throws SonantError, PageError
 */
export async function download(take: Take, format: Download): Promise<void> {
  const name = `${take.request.voiceName}-${take.request.seed}.${format}`.replace(
    /[^\p{L}\p{N}.-]+/gu,
    "-",
  );
  save(await fileOf(take, format), name);
}

async function fileOf(take: Take, format: Download): Promise<Blob> {
  if (format === "wav") {
    const sound = await loadSound(take);
    if (sound === undefined) throw new PageError("sound_gone", "The take's sound is gone.");
    return buildWav(sound.read(0, sound.frames), sound.sampleRate, sound.channels);
  }
  const { bytes } = await client().speech({
    ...bodyOf(take.request),
    input: take.request.text,
    channels: take.channels,
    sample_rate: take.sampleRate,
    response_format: format,
  });
  return new Blob([bytes as Uint8Array<ArrayBuffer>]);
}
