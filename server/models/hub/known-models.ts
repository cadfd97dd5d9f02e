/** The models that can be pulled: where they are kept, which of their files are needed, and what their voices are. */
import { HubError } from "./errors.ts";
import type { RemoteFile, Snapshot, SourceName } from "./source.ts";

export const PARTS = ["lm", "codec", "voices"] as const;
export type Part = (typeof PARTS)[number];

export interface KnownModel {
  /** Name on the command line, and of its folder. */
  readonly id: string;
  readonly name: string;
  readonly description: string;
  /** Shown where a source states no licence. */
  readonly licence: string;
  /** OWNER/NAME of each part in each place. */
  readonly repositories: Readonly<Record<Part, Readonly<Record<SourceName, string>>>>;
  /** The file with the codes of its voices. */
  readonly voicesFile: string;
  /** Preferred default voice. */
  readonly defaultVoice: string;
}

export const MOSS_TTS_NANO: KnownModel = {
  id: "moss-tts-nano",
  name: "MOSS-TTS-Nano",
  description: "MOSS-TTS-Nano by OpenMOSS: 19 languages, 48 kHz stereo, voices from a few seconds.",
  licence: "apache-2.0",
  repositories: {
    lm: {
      huggingface: "OpenMOSS-Team/MOSS-TTS-Nano",
      modelscope: "openmoss/MOSS-TTS-Nano",
    },
    codec: {
      huggingface: "OpenMOSS-Team/MOSS-Audio-Tokenizer-Nano",
      modelscope: "openmoss/MOSS-Audio-Tokenizer-Nano",
    },
    // The codes of the voices are only published with this export; none of its weights are fetched.
    voices: {
      huggingface: "OpenMOSS-Team/MOSS-TTS-Nano-100M-ONNX",
      modelscope: "openmoss/MOSS-TTS-Nano-100M-ONNX",
    },
  },
  voicesFile: "browser_poc_manifest.json",
  defaultVoice: "Junhao",
};

export const KNOWN_MODELS: readonly KnownModel[] = [MOSS_TTS_NANO];

/** @throws HubError `model_unknown` naming those that are known */
export function knownModel(id: string): KnownModel {
  const model = KNOWN_MODELS.find((candidate) => candidate.id === id);
  if (model !== undefined) return model;
  const ids = KNOWN_MODELS.map((candidate) => candidate.id).join(", ");
  throw new HubError("model_unknown", `there is no model '${id}' to pull; known: ${ids}`);
}

/** Weights that the engine maps as they are. */
export const MAPPED_WEIGHTS = "model.safetensors";

/** Weights in the order in which they are preferred: one file, or an index with its shards. */
const WEIGHTS = [
  { single: MAPPED_WEIGHTS, index: "model.safetensors.index.json", shard: "safetensors" },
  { single: "pytorch_model.bin", index: "pytorch_model.bin.index.json", shard: "bin" },
] as const;

const LICENCE = /^licen[cs]e(\.txt|\.md)?$/i;

/**
 * The files of a part that a model folder is made from; everything else, code above all, stays where it is.
 * @throws HubError `listing_invalid` naming what is missing
 */
export function neededFiles(model: KnownModel, part: Part, snapshot: Snapshot): RemoteFile[] {
  const byPath = new Map(snapshot.files.map((file) => [file.path, file]));
  const need = (path: string): RemoteFile => {
    const file = byPath.get(path);
    if (file !== undefined) return file;
    throw new HubError("listing_invalid", `${snapshot.repository} has no ${path}`);
  };
  if (part === "voices") return [need(model.voicesFile)];
  const names = part === "lm" ? ["config.json", "tokenizer.model"] : ["config.json"];
  const licence = snapshot.files.filter(({ path }) => LICENCE.test(path)).slice(0, 1);
  return [...names.map(need), ...licence, ...weights(snapshot, byPath)];
}

function weights(snapshot: Snapshot, byPath: ReadonlyMap<string, RemoteFile>): RemoteFile[] {
  for (const { single, index, shard } of WEIGHTS) {
    const whole = byPath.get(single);
    if (whole !== undefined) return [whole];
    const listed = byPath.get(index);
    if (listed !== undefined) return [listed, ...shards(snapshot, shard)];
  }
  const allowed = WEIGHTS.flatMap(({ single, index }) => [single, index]).join(", ");
  throw new HubError("listing_invalid", `${snapshot.repository} has no weights; any of ${allowed}`);
}

/** Shards say how many they are, so that a missing one is found before anything is fetched. */
function shards({ repository, files }: Snapshot, ending: string): RemoteFile[] {
  const pattern = new RegExp(`^(?:pytorch_)?model-(\\d{5})-of-(\\d{5})\\.${ending}$`);
  const found = files.filter(({ path }) => pattern.test(path));
  const count = Number(pattern.exec(found[0]?.path ?? "")?.[2] ?? 0);
  if (found.length === 0 || found.length !== count) {
    throw new HubError(
      "listing_invalid",
      `${repository} has ${found.length} of ${count || "its"} shards of weights`,
    );
  }
  return found;
}
