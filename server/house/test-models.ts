/** One model that is always there, for tests of the doors: over whatever service they bring. */
import { ApiError } from "../protocol/envelope.ts";
import { isAlias } from "../protocol/formats.ts";
import { checkModel } from "../protocol/speech-rules.ts";
import type { SpeechService } from "../speech/types.ts";
import type { Models, ServedModel, Speaker } from "./types.ts";

export interface OneModel extends Omit<Speaker, "id"> {
  readonly engine?: () => ServedModel["engine"];
}

export function oneModel({ engine, ...speaker }: OneModel): Models {
  const { config, service, voices, abilities } = speaker;
  const id = config.servedModelNames[0] ?? "";
  const first: ServedModel = {
    id,
    isDefault: true,
    config,
    voices,
    abilities,
    model: service.model,
    failure: new ApiError("model_failed"),
    device: "cpu",
    get engine() {
      return engine?.();
    },
    reading: undefined,
    get state() {
      return service.state;
    },
    get load() {
      return service.load;
    },
  };
  const named = (name: string | undefined) => {
    const { servedModelNames, openaiAliases } = config;
    checkModel(name, (known) => servedModelNames.includes(known) || isAlias(known, openaiAliases));
    return first;
  };
  return {
    all: [first],
    first,
    get state(): SpeechService["state"] {
      return service.state;
    },
    get load() {
      return service.load;
    },
    named,
    hold: async (name) => ({ ...speaker, id: named(name).id, release() {} }),
    loadNow: async (name) => named(name),
    unload: async (name) => named(name),
    onVoices: (watcher) => voices.onChange(watcher),
  };
}
