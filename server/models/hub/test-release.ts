/** A release in the official layout, for tests: the starter's configs, tokenizer and voices, with weights of any size. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { MOSS_TTS_NANO } from "./known-models.ts";
import type { SourceName } from "./source.ts";
import type { TestHub } from "./test-hub.ts";

const STARTER = join(import.meta.dirname, "../../../native/models/starter");
export const starterFile = (path: string): Buffer => readFileSync(join(STARTER, path));

export interface ReleaseWeights {
  readonly lm: Buffer;
  /** Left out: model.safetensors */
  readonly lmName?: string;
  /** Kept as a shard with its index. */
  readonly codec: Buffer;
  /** Folder with lm/config.json and codec/config.json; left out: the starter's. */
  readonly configs?: string;
}

export const SHARD = "model-00001-of-00001.safetensors";

/** The starter's voices under names of the official list, and one that imitates somebody. */
function voiceList(): string {
  const files = readdirSync(join(STARTER, "voices"));
  const names = ["Junhao", "Ava", "Trump"];
  const groups = ["Chinese Male", "English Female", "English Male"];
  return JSON.stringify({
    format_version: 1,
    builtin_voices: names.map((voice, index) => ({
      voice,
      display_name: voice,
      group: groups[index],
      audio_file: `${["zh_1", "en_2", "en_1"][index]}.wav`,
      prompt_audio_codes: JSON.parse(starterFile(`voices/${files[index]}`).toString()).codes,
    })),
    model_files: {},
  });
}

/** Puts the release there, with files beside it that nobody needs. */
export function putRelease(
  hub: TestHub,
  weights: ReleaseWeights,
  source: SourceName = "huggingface",
): void {
  const { lm, codec, voices } = MOSS_TTS_NANO.repositories;
  const { configs = STARTER, lmName = "model.safetensors" } = weights;
  hub.put(lm[source], ".gitattributes", "*.bin filter=lfs");
  hub.put(lm[source], "modeling_moss_tts_nano.py", "raise SystemExit");
  hub.put(lm[source], "config.json", readFileSync(join(configs, "lm/config.json")));
  hub.put(lm[source], "tokenizer.model", starterFile("lm/tokenizer.model"), true);
  hub.put(lm[source], lmName, weights.lm, true);
  hub.put(codec[source], "config.json", readFileSync(join(configs, "codec/config.json")));
  const index = { metadata: {}, weight_map: { "quantizer.input_proj.bias": SHARD } };
  hub.put(codec[source], "model.safetensors.index.json", JSON.stringify(index));
  hub.put(codec[source], SHARD, weights.codec, true);
  hub.put(voices[source], "browser_poc_manifest.json", voiceList(), true);
  hub.put(voices[source], "moss_tts_prefill.onnx", "not needed", true);
}
