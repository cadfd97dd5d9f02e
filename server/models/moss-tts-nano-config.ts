/**
 * Reads and checks the two configs of a MOSS-TTS-Nano folder (spec 2.2 and 2.4). Only what inference
 * depends on is looked at; everything else in the files is ignored, as upstream does.
 */
import { join } from "node:path";
import { Fields } from "./fields.ts";
import type { SpecialIds } from "./moss-tts-nano-prompt.ts";
import type { AudioFormat, FolderFacts } from "./types.ts";

const LM_MODEL_TYPE = "moss_tts_nano";
const CODEC_MODEL_TYPE = "moss-audio-tokenizer";

/** Written by upstream's finetuning beside the weights, and by PEFT beside the weights of an adapter. */
const FINETUNE_FILE = "finetune_config.json";
export const LORA_FILE = "adapter_config.json";

/** The `model_type` of a parsed config, whatever it is. */
const modelType = (config: unknown): unknown =>
  typeof config === "object" && config !== null
    ? (config as { model_type?: unknown }).model_type
    : undefined;

/** Whether a folder has this architecture. */
export const isNano = ({ lm, codec }: FolderFacts): boolean =>
  modelType(lm) === LM_MODEL_TYPE && modelType(codec) === CODEC_MODEL_TYPE;

/** Whether upstream's finetuning wrote the language model of a folder. */
export const wasFinetuned = ({ lmFiles }: FolderFacts): boolean =>
  lmFiles.has(FINETUNE_FILE) || lmFiles.has(LORA_FILE);

export interface NanoConfig {
  readonly books: number;
  readonly codebookSize: number;
  readonly vocabularySize: number;
  readonly ids: SpecialIds;
  readonly audio: AudioFormat;
}

function readLm(lm: Fields): Omit<NanoConfig, "audio"> {
  lm.expect("model_type", LM_MODEL_TYPE);
  lm.expect("model_architecture", "global_local_transformer");
  const books = lm.integer("n_vq", 1, 64);
  const codebookSize = lm.integer("audio_vocab_size", 2, 65_535);
  const sizes = lm.raw("audio_codebook_sizes");
  if (sizes !== undefined) {
    const fits =
      Array.isArray(sizes) && sizes.length === books && sizes.every((s) => s === codebookSize);
    if (!fits) lm.fail("audio_codebook_sizes", `${books} times ${codebookSize}`);
  }
  lm.integer("local_transformer_layers", 1, 16);

  const gpt = lm.object("gpt2_config");
  const width = gpt.integer("n_embd", 8, 65_536);
  const heads = gpt.integer("n_head", 1, 1024);
  if (width % heads !== 0 || (width / heads) % 2 !== 0) {
    gpt.fail("n_head", `a divisor of n_embd (${width}) that leaves heads of even width`);
  }
  gpt.integer("n_layer", 1, 256);
  gpt.expect("activation_function", "gelu_new");
  gpt.expect("position_embedding_type", "rope");
  gpt.expect("scale_attn_weights", true);
  gpt.expect("scale_attn_by_inverse_layer_idx", false);
  gpt.expect("reorder_and_upcast_attn", false);
  const vocabularySize = gpt.integer("vocab_size", 16, 10_000_000);

  const id = (key: string) => lm.integer(key, 0, vocabularySize - 1);
  return {
    books,
    codebookSize,
    vocabularySize,
    ids: {
      imStart: id("im_start_token_id"),
      imEnd: id("im_end_token_id"),
      audioStart: id("audio_start_token_id"),
      audioEnd: id("audio_end_token_id"),
      userSlot: id("audio_user_slot_token_id"),
      assistantSlot: id("audio_assistant_slot_token_id"),
      // A pad code inside a codebook would be a sound.
      padCode: lm.integer("audio_pad_token_id", codebookSize, 65_535),
    },
  };
}

function readCodec(codec: Fields, books: number, codebookSize: number): AudioFormat {
  codec.expect("model_type", CODEC_MODEL_TYPE);
  codec.expect("quantizer_type", "rlfq");
  const sampleRate = codec.integer("sampling_rate", 8000, 192_000);
  const samplesPerFrame = codec.integer("downsample_rate", 1, sampleRate);
  const channels = codec.integer("number_channels", 1, 2);
  const quantizer = codec.object("quantizer_kwargs");
  quantizer.integer("num_quantizers", books, 1024);
  quantizer.expect("codebook_size", codebookSize);
  return { sampleRate, channels, samplesPerFrame, framesPerSecond: sampleRate / samplesPerFrame };
}

/** @throws ModelError `model_invalid` naming the file and the field */
export async function readNanoConfig(folder: string): Promise<NanoConfig> {
  const read = (name: string) => Fields.fromFile(join(folder, name), name, "model_invalid");
  const lmFields = await read("lm/config.json");
  const codecFields = await read("codec/config.json");
  const lm = readLm(lmFields);
  const audio = readCodec(codecFields, lm.books, lm.codebookSize);
  lmFields.expect("audio_tokenizer_sample_rate", audio.sampleRate);
  return { ...lm, audio };
}
