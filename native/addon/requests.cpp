#include "addon/requests.h"

#include <limits>

#include "addon/options.h"

namespace sonant::addon {

namespace {

constexpr int kMost = std::numeric_limits<int>::max();

EngineLimits read_limits(const Napi::Value& value) {
  EngineLimits limits;
  if (value.IsUndefined()) return limits;
  const Options options(value, "limits", true);
  limits.max_sequences = options.integer("maxSequences", limits.max_sequences, 0, 4096);
  limits.max_parked = options.integer("maxParked", limits.max_parked, 0, 4096);
  limits.max_waiting = options.integer("maxWaiting", limits.max_waiting, 0, 1 << 20);
  limits.prefill_slice_rows = options.integer("prefillSliceRows", limits.prefill_slice_rows, 0, 1 << 20);
  limits.voice_cache_bytes = options.size("voiceCacheBytes", limits.voice_cache_bytes);
  limits.encode_slice_frames = options.integer("encodeSliceFrames", limits.encode_slice_frames, 0, 4096);
  return limits;
}

SamplingParams read_sampling(const Napi::Value& value) {
  SamplingParams params;
  if (value.IsUndefined()) return params;
  const Options options(value, "sampling", true);
  const auto number = [&](const char* field, float& target) {
    target = static_cast<float>(options.number(field, target));
  };
  params.do_sample = options.boolean("doSample", params.do_sample);
  number("textTemperature", params.text_temperature);
  number("textTopP", params.text_top_p);
  params.text_top_k = options.integer("textTopK", params.text_top_k, 0, kMost);
  number("audioTemperature", params.audio_temperature);
  number("audioTopP", params.audio_top_p);
  params.audio_top_k = options.integer("audioTopK", params.audio_top_k, 0, kMost);
  number("repetitionPenalty", params.repetition_penalty);
  params.seed = options.seed("seed");
  params.segment = static_cast<uint32_t>(options.integer("segment", 0, 0, kMost));
  params.n_vq = options.integer("nVq", params.n_vq, 0, 4096);
  return params;
}

ChunkPolicy read_chunks(const Napi::Value& value) {
  ChunkPolicy chunks;
  if (value.IsUndefined()) return chunks;
  const Options options(value, "chunks", true);
  chunks.first_frames = options.integer("firstFrames", chunks.first_frames, 1, 4096);
  chunks.growth = static_cast<float>(options.number("growth", chunks.growth));
  chunks.max_frames = options.integer("maxFrames", chunks.max_frames, 1, 4096);
  chunks.hold_ms = options.number("holdMs", chunks.hold_ms);
  return chunks;
}

}  // namespace

const char* precision_name(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return "fp32";
    case Precision::kBf16: return "bf16";
    case Precision::kInt8: return "int8";
  }
  return "unknown";
}

LoadOptions read_load_options(const Napi::Value& value) {
  const Options options(value, "options");
  LoadOptions load;
  load.device = options.text("device");
  if (load.device.empty()) load.device = "auto";
  load.backend.lm_folder = options.text("lmFolder");
  load.backend.codec_folder = options.text("codecFolder");
  if (options.has("precision")) {
    const std::string precision = options.choice("precision", {"int8", "fp32", "bf16"});
    for (const Precision one : {Precision::kInt8, Precision::kFp32, Precision::kBf16}) {
      if (precision == precision_name(one)) load.precision = one;
    }
  }
  load.backend.threads = options.integer("threads", 0, 0, 1024);
  load.backend.isa = options.text("isa");
  load.limits = read_limits(options.get("limits"));
  return load;
}

GenerateRequest read_generate_options(const Napi::Value& value) {
  const Options options(value, "options");
  GenerateRequest request;
  request.prefix_key = options.text("prefixKey");
  request.prefix_rows = options.int32s("prefixRows");
  request.text_rows = options.int32s("textRows");
  request.sampling = read_sampling(options.get("sampling"));
  request.max_frames = options.integer("maxFrames", request.max_frames, 1, 1 << 20);
  request.buffer_frames = options.integer("bufferFrames", request.buffer_frames, 1, 1 << 20);
  request.channels = options.integer("channels", request.channels, 0, 2);
  request.lead_ms = options.number("leadMs", request.lead_ms);
  request.reserve_ms = options.number("reserveMs", request.reserve_ms);
  request.chunks = read_chunks(options.get("chunks"));
  request.want_codes = options.boolean("wantCodes", request.want_codes);
  request.want_audio = options.boolean("wantAudio", request.want_audio);
  request.pcm16 = options.boolean("pcm16", request.pcm16);
  return request;
}

}  // namespace sonant::addon
