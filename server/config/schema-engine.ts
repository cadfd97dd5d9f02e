/** The part of the deploy file that shapes the engine: its two stages and the chunks between them. */
import { z } from "zod";
import { ignored } from "./schema-fields.ts";

const DEVICE = /^(auto|cpu|cuda(:\d+(,\d+)*)?|\d+(,\d+)*)$/;
const DEVICES =
  "devices should be 'auto', 'cpu', 'cuda', 'cuda:N' or, for several GPUs, 'cuda:N,N'";

/** Keys of GPU servers with nothing to set here. */
const gpuOnly = {
  gpu_memory_utilization: ignored("memory follows from the number of sequences"),
  enforce_eager: ignored("the engine has no graph compiler to switch off"),
  enable_prefix_caching: ignored("voices are always cached"),
  max_num_batched_tokens: ignored("prefill is sliced by prefill_slice_rows"),
  max_model_len: ignored("it follows from the model"),
  skip_mm_profiling: ignored("nothing is profiled"),
  tensor_parallel_size: ignored("the model fits on one device"),
  async_scheduling: ignored("scheduling is always asynchronous"),
  kv_cache_memory_bytes: ignored("memory follows from the number of sequences"),
  compilation_config: ignored("kernels are compiled ahead of time"),
  load_format: ignored("it is found out from the files"),
  tokenizer_mode: ignored("there is one tokenizer"),
  engine_extras: ignored("it belongs to another engine"),
  input_connectors: ignored("the stages are always connected"),
  output_connectors: ignored("the stages are always connected"),
  subtalker_sampling_params: ignored("the model has no such part"),
  env: ignored("set the environment of the process"),
};

const temperature = z.number().min(0.01).max(5).optional();
const share = z.number().min(0.01).max(1).optional();
const candidates = z.int().min(0).max(16384).optional();

const sampling = z.strictObject({
  text_temperature: temperature.describe("Text temperature"),
  text_top_p: share.describe("Text nucleus; 1 switches it off"),
  text_top_k: candidates.describe("Text candidates; 0 switches the limit off"),
  audio_temperature: temperature.describe("Audio temperature"),
  audio_top_p: share.describe("Audio nucleus; 1 switches it off"),
  audio_top_k: candidates.describe("Audio candidates; 0 switches the limit off"),
  audio_repetition_penalty: z
    .number()
    .min(0.5)
    .max(3)
    .optional()
    .describe("Above 1: codes that were used lately become less likely"),
  max_new_frames: z
    .int()
    .min(1)
    .max(4096)
    .optional()
    .describe("Most frames of one generation; 12.5 are a second"),
  seed: z
    .int()
    .nullable()
    .default(null)
    .describe("Seed of requests that have none; null: a random one each time"),
  temperature: temperature.describe("Another name for text_temperature"),
  top_p: share.describe("Another name for text_top_p"),
  top_k: candidates.describe("Another name for text_top_k"),
  max_tokens: ignored("use max_new_frames"),
});

const devices = z
  .string()
  .regex(DEVICE, DEVICES)
  .default("auto")
  .describe(
    "auto: the first GPU, or the processor where none can be used; cpu, cuda, cuda:N or, for several GPUs, cuda:N,N",
  );
const dtype = z
  .enum(["auto", "float32", "int8", "bfloat16"])
  .default("auto")
  .describe(
    "Precision of the weights; auto: int8 on the processor, bfloat16 on a GPU, which has no int8",
  );

export const frameStage = z.strictObject({
  stage_id: z.literal(0).describe("0: the language model, which makes frames"),
  devices,
  dtype,
  num_replicas: z.literal(1).default(1).describe("One engine a server; start more servers instead"),
  max_num_seqs: z
    .int()
    .min(0)
    .max(4000)
    .default(0)
    .describe(
      "Requests that are spoken side by side, on all devices together; 0: 512 on each GPU, 32 on a processor, or 16 of a large model",
    ),
  max_queue: z
    .int()
    .min(0)
    .max(100_000)
    .default(32)
    .describe("Requests that may wait; more are refused with 503"),
  max_queue_wait_s: z
    .number()
    .min(0)
    .default(30)
    .describe("Requests that would have to wait longer are refused with 503"),
  realtime_share: z
    .number()
    .min(0)
    .max(1)
    .default(0.8)
    .describe(
      "Share of real time that all who are spoken to may need together, as measured; others wait. 0: only max_num_seqs counts",
    ),
  max_parked_seqs: z
    .int()
    .min(0)
    .max(1024)
    .default(4)
    .describe(
      "Requests paused for slow readers that give their places to others and keep their state",
    ),
  threads: z
    .int()
    .min(0)
    .max(1024)
    .default(0)
    .describe("Threads of the engine; 0: one for each core"),
  prefill_slice_rows: z
    .int()
    .min(0)
    .max(1 << 20)
    .default(0)
    .describe(
      "Prompt rows that are computed between two frames of the others; 0: 2048 on a GPU, 64 on a processor",
    ),
  encode_slice_frames: z
    .int()
    .min(0)
    .max(4096)
    .default(0)
    .describe(
      "Reference frames that are encoded between two frames of the others; 0: 32 on a GPU, 8 on a processor",
    ),
  voice_cache_mib: z.int().min(0).default(256).describe("Memory for voices that were used, MiB"),
  default_sampling_params: sampling
    .prefault({})
    .describe("Sampling of requests that do not say; what is left out follows the model"),
  ...gpuOnly,
});

export const codecStage = z.strictObject({
  stage_id: z.literal(1).describe("1: the codec, which turns frames into sound"),
  devices: z
    .string()
    .regex(DEVICE, DEVICES)
    .optional()
    .describe("As for stage 0, which it has to be equal to; left out, it follows stage 0"),
  dtype,
  num_replicas: ignored("set it for stage 0"),
  max_num_seqs: ignored("it follows stage 0"),
  max_queue: ignored("it follows stage 0"),
  max_queue_wait_s: ignored("it follows stage 0"),
  realtime_share: ignored("it follows stage 0"),
  max_parked_seqs: ignored("it follows stage 0"),
  threads: ignored("it follows stage 0"),
  default_sampling_params: ignored("the codec does not sample"),
  ...gpuOnly,
});

const ramp = z
  .union([z.array(z.int().min(1)).min(2), z.string().regex(/^\s*\d+(\s*,\s*\d+)+\s*$/)])
  .nullable()
  .default(null)
  .describe("Sizes of the first chunks in frames, as a list or `2,4,8,15`; null: no ramp");

const extra = z.strictObject({
  codec_chunk_frames: z.int().min(1).default(15).describe("Frames of a chunk in the long run"),
  initial_codec_chunk_frames: z
    .int()
    .min(0)
    .default(1)
    .describe("Frames of the first chunk; 0: as the load allows, from 2 on"),
  codec_chunk_ramp: ramp,
  codec_chunk_adaptive: z
    .boolean()
    .default(true)
    .describe("Let chunks grow with the listener's buffer; goes before the ramp"),
  codec_chunk_min_frames: z.int().min(1).default(1).describe("Least frames of a chunk"),
  codec_chunk_safety_margin_ms: z
    .number()
    .min(0)
    .default(50)
    .describe("Audio that stays in the listener's buffer"),
  codec_chunk_ramp_divisor: z
    .int()
    .min(1)
    .default(15)
    .describe("Milliseconds a frame that let chunks grow by one frame"),
  codec_chunk_ramp_delta_min: z.int().min(1).default(2).describe("Least growth, in frames"),
  codec_streaming: ignored("sound is always streamed"),
  codec_left_context_frames: ignored("the codec keeps its state; nothing is decoded twice"),
  ref_code_context_frames: ignored("the codec keeps its state; nothing is decoded twice"),
  shm_threshold_bytes: ignored("nothing is copied between processes"),
  connector_get_sleep_s: ignored("nothing polls"),
  connector_get_max_wait_first_chunk: ignored("nothing polls"),
  connector_get_max_wait: ignored("nothing polls"),
  decode_cudagraph_capture_sizes: ignored("the engine chooses them"),
});

export const connector = z.strictObject({
  name: z.string().default("InProcessConnector").describe("Kind; there is only one"),
  extra: extra.prefault({}).describe("How frames become chunks"),
});

export const platform = z.strictObject({
  stages: z
    .array(z.looseObject({ stage_id: z.int().min(0).max(1).describe("The stage it is about") }))
    .default([])
    .describe("Keys of stages that differ on this platform"),
});
