/** The voices that come with the model, found by name whatever its case, and the default among them. */
import type { Model } from "../models/types.ts";
import type { PresetVoice } from "../protocol/voices.ts";
import { DEFAULT_VOICE, voiceKey } from "./names.ts";

export class PresetVoices {
  readonly #model: Model;
  readonly #names: ReadonlyMap<string, string>;
  /** Keys of all names. */
  readonly keys: ReadonlySet<string>;

  constructor(model: Model) {
    this.#model = model;
    this.#names = new Map([...model.presets.keys()].map((name) => [voiceKey(name), name]));
    this.keys = new Set(this.#names.keys());
  }

  list(): PresetVoice[] {
    return [...this.#model.presets.values()].map(({ name, description, language, pitchHz }) => ({
      name,
      display_name: name.charAt(0).toUpperCase() + name.slice(1),
      description,
      language,
      default: name === this.#model.defaultVoice,
      ...(pitchHz === undefined ? {} : { pitch_hz: pitchHz }),
    }));
  }

  describe(voice: string): PresetVoice | undefined {
    const wanted = this.#names.get(voiceKey(voice));
    return this.list().find(({ name }) => name === wanted);
  }

  /** The preset of that name; for no name, or the word "default", whatever the model speaks with by itself. */
  resolve(voice: string | undefined) {
    const key = voice === undefined ? DEFAULT_VOICE : voiceKey(voice);
    const named = this.#names.get(key);
    if (named === undefined && key !== DEFAULT_VOICE) return undefined;
    const name = named ?? this.#model.defaultVoice;
    const prompt = this.#model.voice(name);
    return name === undefined
      ? ({ kind: "model", prompt, name: null } as const)
      : ({ kind: "preset", prompt, name } as const);
  }
}
