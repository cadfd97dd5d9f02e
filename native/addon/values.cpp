#include "addon/values.h"

#include <cstring>
#include <memory>
#include <utility>

#include "addon/requests.h"

namespace sonant::addon {

namespace {

class Fields {
 public:
  explicit Fields(Napi::Env env) : env_(env), object_(Napi::Object::New(env)) {}
  Fields& add(const char* name, double value) { return add(name, Napi::Number::New(env_, value)); }
  Fields& add(const char* name, const std::string& value) {
    return add(name, Napi::String::New(env_, value));
  }
  Fields& add(const char* name, const Napi::Value& value) {
    object_.Set(name, value);
    return *this;
  }
  Napi::Object object() const { return object_; }

 private:
  Napi::Env env_;
  Napi::Object object_;
};

Napi::Int32Array int32_array(Napi::Env env, const std::vector<int32_t>& values) {
  auto array = Napi::Int32Array::New(env, values.size());
  if (!values.empty()) std::memcpy(array.Data(), values.data(), values.size() * sizeof(int32_t));
  return array;
}

// The values' own memory as a buffer; a copy of it where the runtime allows no memory but its own.
template <typename Element>
Napi::ArrayBuffer take_over(Napi::Env env, std::vector<Element>&& values) {
  const size_t bytes = values.size() * sizeof(Element);
  if (bytes == 0) return Napi::ArrayBuffer::New(env, 0);
  auto held = std::make_unique<std::vector<Element>>(std::move(values));
  napi_value external = nullptr;
  const napi_status status = napi_create_external_arraybuffer(
      env, held->data(), bytes,
      [](napi_env, void*, void* hint) { delete static_cast<std::vector<Element>*>(hint); }, held.get(),
      &external);
  if (status == napi_ok) {
    held.release();
    return Napi::ArrayBuffer(env, external);
  }
  auto copy = Napi::ArrayBuffer::New(env, bytes);
  std::memcpy(copy.Data(), held->data(), bytes);
  return copy;
}

template <typename Element>
Napi::TypedArrayOf<Element> typed_array(Napi::Env env, std::vector<Element>&& values) {
  const size_t count = values.size();
  return Napi::TypedArrayOf<Element>::New(env, count, take_over(env, std::move(values)), 0);
}

const char* kind_name(Event::Kind kind) {
  switch (kind) {
    case Event::Kind::kChunk: return "chunk";
    case Event::Kind::kDone: return "done";
    case Event::Kind::kEncoded: return "encoded";
    case Event::Kind::kDecoded: return "decoded";
  }
  return "unknown";
}

const char* reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kCancelled: return "cancelled";
    case FinishReason::kError: return "error";
  }
  return "unknown";
}

Napi::Object to_js(Napi::Env env, const GenerateStats& stats) {
  return Fields(env)
      .add("queueMs", stats.queue_ms)
      .add("prefillMs", stats.prefill_ms)
      .add("firstAudioMs", stats.first_audio_ms)
      .add("frameMs", stats.frame_ms)
      .add("codecMs", stats.codec_ms)
      .add("firstCodecMs", stats.first_codec_ms)
      .add("totalMs", stats.total_ms)
      .add("pausedMs", stats.paused_ms)
      .add("starvedMs", stats.starved_ms)
      .add("cancelMs", stats.cancel_ms)
      .add("promptRows", stats.prompt_rows)
      .add("cachedRows", stats.cached_rows)
      .add("frames", stats.frames)
      .add("lateFrames", stats.late_frames)
      .object();
}

Napi::Object describe(Napi::Env env, const LmConfig& config) {
  return Fields(env)
      .add("nVq", config.n_vq)
      .add("vocabSize", config.vocab_size)
      .add("codebookSizes", int32_array(env, {config.codebook_sizes.begin(), config.codebook_sizes.end()}))
      .add("maxPositions", config.max_positions)
      .add("audioPadId", config.audio_pad_id)
      .add("padId", config.pad_id)
      .add("imStartId", config.im_start_id)
      .add("imEndId", config.im_end_id)
      .add("audioStartId", config.audio_start_id)
      .add("audioEndId", config.audio_end_id)
      .add("userSlotId", config.user_slot_id)
      .add("assistantSlotId", config.assistant_slot_id)
      .object();
}

Napi::Object describe(Napi::Env env, const CodecConfig& config) {
  return Fields(env)
      .add("sampleRate", config.sample_rate)
      .add("channels", config.channels)
      .add("frameSamples", config.frame_samples)
      .add("nCodebooks", config.n_codebooks)
      .add("codebookSize", config.codebook_size)
      .object();
}

}  // namespace

Napi::Float32Array to_js(Napi::Env env, std::vector<float>&& samples) {
  return typed_array(env, std::move(samples));
}

Napi::Object to_js(Napi::Env env, Event&& event) {
  Fields fields(env);
  fields.add("kind", std::string(kind_name(event.kind)));
  if (event.kind == Event::Kind::kDone) {
    fields.add("reason", std::string(reason_name(event.reason)));
    if (event.reason == FinishReason::kError) {
      fields.add("errorCode", event.error_code).add("errorMessage", event.error_message);
    }
    return fields.add("stats", to_js(env, event.stats)).object();
  }
  fields.add("frames", event.frames).add("firstFrame", event.first_frame);
  if (!event.pcm16.empty()) fields.add("pcm16", typed_array(env, std::move(event.pcm16)));
  else if (event.kind != Event::Kind::kEncoded) fields.add("pcm", to_js(env, std::move(event.pcm)));
  if (!event.codes.empty()) fields.add("codes", int32_array(env, event.codes));
  return fields.object();
}

Napi::Object to_js(Napi::Env env, const EngineStats& stats) {
  const auto count = [](uint64_t value) { return static_cast<double>(value); };
  return Fields(env)
      .add("live", stats.live)
      .add("waiting", stats.waiting)
      .add("leadMsMin", stats.lead_ms_min)
      .add("underruns", count(stats.underruns))
      .add("yields", count(stats.yields))
      .add("tickFixedMs", stats.tick_fixed_ms)
      .add("tickSequenceMs", stats.tick_sequence_ms)
      .add("tickPromptMs", stats.tick_prompt_ms)
      .add("submitted", count(stats.submitted))
      .add("finished", count(stats.finished))
      .add("cancelled", count(stats.cancelled))
      .add("failed", count(stats.failed))
      .add("refused", count(stats.refused))
      .add("frames", count(stats.frames))
      .add("prefillRows", count(stats.prefill_rows))
      .add("steps", count(stats.steps))
      .add("stepMsP50", stats.step_ms_p50)
      .add("stepMsP95", stats.step_ms_p95)
      .add("codecMsP50", stats.codec_ms_p50)
      .add("cancelMsP50", stats.cancel_ms_p50)
      .add("cancelMsP99", stats.cancel_ms_p99)
      .add("cancelMsMax", stats.cancel_ms_max)
      .add("voiceCacheHits", count(stats.voice_cache_hits))
      .add("voiceCacheMisses", count(stats.voice_cache_misses))
      .add("voiceCacheEvictions", count(stats.voice_cache_evictions))
      .add("voiceCacheBytes", count(stats.voice_cache_bytes))
      .add("voiceCacheEntries", stats.voice_cache_entries)
      .add("sequenceBytes", count(stats.sequence_bytes))
      .add("weightBytes", count(stats.weight_bytes))
      .object();
}

Napi::Object to_js(Napi::Env env, const EngineLimits& limits) {
  return Fields(env)
      .add("maxSequences", limits.max_sequences)
      .add("maxParked", limits.max_parked)
      .add("maxWaiting", limits.max_waiting)
      .add("prefillSliceRows", limits.prefill_slice_rows)
      .add("voiceCacheBytes", static_cast<double>(limits.voice_cache_bytes))
      .add("encodeSliceFrames", limits.encode_slice_frames)
      .object();
}

Napi::Object describe_backend(Napi::Env env, const OpenedBackend& opened) {
  const Backend& backend = *opened.backend;
  const Napi::Value absent = env.Null();
  return Fields(env)
      .add("device", backend.device)
      .add("description", backend.description)
      .add("precision", std::string(precision_name(opened.precision)))
      .add("note", opened.note.empty() ? absent : Napi::Value(Napi::String::New(env, opened.note)))
      .add("threads", backend.threads)
      .add("weightBytes", static_cast<double>(backend.weight_bytes))
      .add("lm", backend.lm ? describe(env, backend.lm->config()) : absent)
      .add("codec", backend.codec ? describe(env, backend.codec->config()) : absent)
      .object();
}

}  // namespace sonant::addon
