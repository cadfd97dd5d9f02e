/**
 * Listening to voices one after the other: a short sample of each, made once by the server, kept in the browser, and played
 * at the same loudness. The newest wish wins; a sample that comes late for an older one is kept and not played.
 */
"use client";
import { create } from "zustand";
import { client } from "../api/client.ts";
import { type Trouble, troubleOf } from "../api/trouble.ts";
import type { Playback } from "../audio/playback.ts";
import { sharedPlayer } from "../audio/player.ts";
import { TakeAudio } from "../audio/take-audio.ts";
import { forgetSamples, readSample, storeSample } from "../store/history.ts";
import { useServer } from "../store/server.ts";
import { useVoices, type Voice, voiceHeard } from "../store/voices.ts";
import { pitchOf } from "./pitch.ts";
import { gainToMatch } from "./voiced-level.ts";

/** What every voice says, by its language: a greeting, a question, a number that is said. */
const LINES: Readonly<Record<string, string>> = {
  en: "Good morning. I could read this to you all day, would you like that?",
  zh: "早上好。我可以整天为您朗读，您愿意听吗？",
  ja: "おはようございます。一日中でも読んで差し上げます。いかがですか？",
  de: "Guten Morgen. Das könnte ich Ihnen den ganzen Tag vorlesen, möchten Sie?",
  fr: "Bonjour. Je pourrais vous lire cela toute la journée, vous voulez bien ?",
  es: "Buenos días. Podría leerle esto todo el día, ¿le gustaría?",
};
const SAMPLE_RATE = 48_000;
const SEED = 1;

export interface Sample {
  readonly sound: TakeAudio;
  /** Middle pitch in hertz; undefined if none was found. */
  readonly pitch: number | undefined;
  /** Pitch every 20 ms in hertz, 0 where there is none. */
  readonly trace: readonly number[];
  /** Change of level that brings it to the loudness of the others, in dB. */
  readonly gainDb: number;
}

interface AuditionState {
  readonly samples: Readonly<Record<string, Sample>>;
  /** Voice whose sample is asked for and not there yet. */
  readonly loading: string | undefined;
  /** Voice that is heard now. */
  readonly playing: string | undefined;
  readonly isPlayingAll: boolean;
  readonly trouble: { readonly voice: string; readonly trouble: Trouble } | undefined;
}

export const useAudition = create<AuditionState>()(() => ({
  samples: {},
  loading: undefined,
  playing: undefined,
  isPlayingAll: false,
  trouble: undefined,
}));

/** Samples belong to the model that made them: another model's voices have others, whatever they are called. */
useVoices.subscribe(({ model }, before) => {
  if (model === before.model) return;
  stopAudition();
  making.clear();
  useAudition.setState({ samples: {} });
});

const making = new Map<string, Promise<Sample>>();
let wish = 0;
let playback: Playback | undefined;

/** Plays a voice's sample. Call it inside a gesture. Resolves when it has ended or something else is wished. */
export async function audition(voice: Voice): Promise<void> {
  const own = ++wish;
  sharedPlayer().unlock(SAMPLE_RATE);
  useAudition.setState({ loading: voice.id, trouble: undefined });
  let sample: Sample;
  try {
    sample = await sampleOf(voice);
  } catch (error) {
    if (own === wish) {
      useAudition.setState({
        loading: undefined,
        trouble: { voice: voice.id, trouble: troubleOf(error) },
      });
    }
    return;
  }
  if (own !== wish) return;
  const started = sharedPlayer().play(sample.sound, { gainDb: sample.gainDb });
  playback = started;
  useAudition.setState({ loading: undefined, playing: voice.id });
  voiceHeard(voice.id);
  await new Promise<void>((resolve) => {
    started.on("state", (state) => {
      if (["ended", "stopped", "failed"].includes(state)) resolve();
    });
  });
  if (own === wish) useAudition.setState({ playing: undefined });
}

export function stopAudition(): void {
  wish++;
  playback?.stop();
  useAudition.setState({ loading: undefined, playing: undefined, isPlayingAll: false });
}

/** A breath between two voices, in milliseconds. */
const BEAT_MS = 320;

/** Plays all voices in order, telling which one is next. Ends when it is stopped or another voice is wished. */
export async function auditionAll(voices: readonly Voice[], onNext: (voice: Voice) => void) {
  useAudition.setState({ isPlayingAll: true });
  for (const voice of voices) {
    if (!useAudition.getState().isPlayingAll) return;
    onNext(voice);
    const expected = wish + 1;
    await audition(voice);
    if (wish !== expected) break;
    await new Promise((resolve) => setTimeout(resolve, BEAT_MS));
    if (wish !== expected) break;
  }
  useAudition.setState({ isPlayingAll: false });
}

/** Makes the samples of all voices while the server has nothing else to do, so that the first press is heard at once. */
export async function prepareSamples(): Promise<void> {
  const { voices, model } = useVoices.getState();
  for (const voice of voices) {
    const { state, tick } = useServer.getState();
    if (state !== "ready" || (tick?.active ?? 0) > 0) return;
    // Nobody has asked for a model that is not loaded, and another one might have to make room for it.
    const stage = tick?.models.find(({ id }) => id === model)?.stage ?? "ready";
    if (stage !== "ready" || useVoices.getState().model !== model) return;
    await sampleOf(voice).catch(() => undefined);
  }
}

/** Forgets what was kept of a voice that is gone, here and in the browser's store. */
export async function forgetVoice(id: string): Promise<void> {
  if (useAudition.getState().playing === id) stopAudition();
  useAudition.setState(({ samples }) => {
    const { [id]: _, ...others } = samples;
    return { samples: others };
  });
  await forgetSamples(id);
}

function sampleOf(voice: Voice): Promise<Sample> {
  const known = useAudition.getState().samples[voice.id];
  if (known !== undefined) return Promise.resolve(known);
  const started =
    making.get(voice.id) ??
    fetchSample(voice).finally(() => {
      making.delete(voice.id);
    });
  making.set(voice.id, started);
  return started;
}

async function fetchSample(voice: Voice): Promise<Sample> {
  const line = LINES[voice.language] ?? LINES.en ?? "";
  const { version = "", device = "" } = useServer.getState();
  const { model } = useVoices.getState();
  const key = [version, device, model ?? "", voice.id, voice.createdAt, line].join("|");
  let pcm = await readSample(key);
  if (pcm === undefined) {
    const { bytes } = await client().speech({
      ...(model === undefined ? {} : { model }),
      input: line,
      voice: voice.id,
      seed: SEED,
      response_format: "pcm",
      channels: 1,
      sample_rate: SAMPLE_RATE,
    });
    pcm = bytes.slice().buffer;
    void storeSample(key, pcm);
  }
  const samples = new Int16Array(pcm);
  const mono = Float32Array.from(samples, (sample) => sample / 32768);
  const { median, trace } = pitchOf(mono, SAMPLE_RATE);
  const sample: Sample = {
    sound: TakeAudio.of(samples, SAMPLE_RATE, 1),
    pitch: median,
    trace,
    gainDb: gainToMatch(mono, SAMPLE_RATE),
  };
  if (useVoices.getState().model === model) {
    useAudition.setState(({ samples }) => ({ samples: { ...samples, [voice.id]: sample } }));
  }
  return sample;
}
