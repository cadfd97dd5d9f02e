/** The MOSS-TTS-Nano family: the official checkpoint, our starter, and whatever else was trained on its prompts. */
import { isNano, wasFinetuned } from "./moss-tts-nano-config.ts";
import { loadNanoModel, type NanoFamily } from "./moss-tts-nano-model.ts";
import type { ModelAdapter } from "./types.ts";

/** What the official runtimes use (spec 5.2); their 19 languages (spec 4.1). */
export const RELEASED: NanoFamily = {
  family: "moss_tts_nano",
  settings: {
    description: "MOSS-TTS-Nano",
    languages: "zh en de es fr ja it hu ko ru fa ar pl pt cs da sv el tr".split(" "),
    defaultVoice: undefined,
    sampling: {
      textTemperature: 1,
      textTopK: 50,
      textTopP: 1,
      audioTemperature: 0.8,
      audioTopK: 25,
      audioTopP: 0.95,
      audioRepetitionPenalty: 1.2,
    },
  },
  limits: { segmentTokens: 75, segmentWords: 60, firstSegmentTokens: 24 },
  maxSeconds: 30,
  style: { imEnd: true, references: true, lines: {} },
};

export const mossTtsNano: ModelAdapter = {
  family: RELEASED.family,
  recognises: (folder) => isNano(folder) && !wasFinetuned(folder),
  load: (folder) => loadNanoModel(folder, RELEASED),
};
