/** Models over engines that make tones, for tests of what comes and goes: real folders and voices, no weights. */
import type { Config } from "../config/config.ts";
import { Metrics } from "../metrics/metrics.ts";
import { ToneEngine, toneEngine } from "../speech/test-engine.ts";
import { ReferenceEncoder } from "../voices/encode-reference.ts";
import { FileVoiceStore } from "../voices/file-store.ts";
import { VoiceLibrary } from "../voices/library.ts";
import { VoicePrompts } from "../voices/prompts.ts";
import { ReferenceSource } from "../voices/reference-source.ts";
import { HouseModels } from "./models.ts";

export interface LoadedTone {
  /** Main name of the model. */
  readonly model: string;
  readonly native: ToneEngine;
}

export interface ToneModels {
  readonly models: HouseModels;
  readonly metrics: Metrics;
  readonly store: FileVoiceStore;
  /** Engines that were loaded, in order. */
  readonly loaded: readonly LoadedTone[];
  readonly log: readonly string[];
  close(): Promise<void>;
}

export interface ToneOptions {
  /** Folder of uploaded voices. */
  readonly voices: string;
  /** Holds up the loading of an engine, or fails it. */
  readonly beforeLoad?: ((config: Config) => Promise<void>) | undefined;
}

/** Folders are read and nothing is loaded yet. */
export async function toneModels(
  config: Config,
  { voices, beforeLoad = async () => {} }: ToneOptions,
): Promise<ToneModels> {
  const metrics = new Metrics();
  const store = await FileVoiceStore.open(voices, { maxVoices: 10 });
  const loaded: LoadedTone[] = [];
  const log: string[] = [];
  const models = new HouseModels(config, {
    metrics,
    async loadEngine(own) {
      await beforeLoad(own);
      const native = new ToneEngine();
      loaded.push({ model: own.servedModelNames[0] ?? "", native });
      return toneEngine(native);
    },
    openVoices: async (model, codec) =>
      new VoiceLibrary({
        model,
        store,
        encoder: new ReferenceEncoder(codec, model, "codec"),
        source: new ReferenceSource(),
        prompts: new VoicePrompts(),
      }),
    log: (_, sentence) => log.push(sentence),
  });
  await models.read();
  return {
    models,
    metrics,
    store,
    loaded,
    log,
    async close() {
      await models.close();
      metrics.close();
    },
  };
}
