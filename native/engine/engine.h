// The engine: owns a backend, one scheduler thread, and all live generations. Callers submit
// requests from any thread and receive events on the scheduler thread through a sink; nothing
// here knows of Node.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "model/sampler.h"

namespace sonant {

using RequestId = uint64_t;

// Where 0 is the default, it means what suits the device: the backend says it.
struct EngineLimits {
  int max_sequences = 0;         // decoded side by side; more wait in line
  int max_parked = 0;            // more that may hold state, for callers who count those paused for their readers apart
  int max_waiting = 256;         // further requests are refused with "overloaded"; also for encode and decode
  int prefill_slice_rows = 0;    // prompt rows computed between two frames of the others
  size_t voice_cache_bytes = 256u << 20;  // least recently used prefixes go first
  int encode_slice_frames = 0;   // reference frames encoded between two frames of the others

  int places() const { return max_sequences + max_parked; }
};

// How frames are gathered into chunks. The first chunk leaves after `first_frames`; then each
// chunk is `growth` times the last, up to `max_frames`. All 1: every frame leaves at once. With `hold_ms`,
// no frame behind the first chunk waits longer than that for company: a chunk leaves in time, full or not.
struct ChunkPolicy {
  int first_frames = 1;
  float growth = 1.0f;
  int max_frames = 1;
  double hold_ms = 0;  // 0: until the chunk is full
};

struct GenerateRequest {
  std::string prefix_key;            // names the shared prefix; empty: no sharing
  std::vector<int32_t> prefix_rows;  // [n][1 + n_vq]; computed once per key, then taken from the cache
  std::vector<int32_t> text_rows;    // [n][1 + n_vq], at least one row
  SamplingParams sampling;
  int max_frames = 375;
  int buffer_frames = 125;  // frames the reader may lag behind before generation pauses
  double lead_ms = 0;     // what the listener has to hear already when this is submitted
  double reserve_ms = 0;  // sound that may be held back on its way to him, at most
  ChunkPolicy chunks;
  bool want_codes = false;  // deliver codes with each chunk
  bool want_audio = true;   // false: codes only, no codec work
  int channels = 0;         // of the audio handed out: 1 is the mean of all, 0 is what the codec makes
  bool pcm16 = false;       // hand the audio out as 16-bit integers instead
  bool ignore_stop = false;  // speak max_frames whatever the model decides (load tests)
};

enum class FinishReason { kStop, kLength, kCancelled, kError };

struct GenerateStats {
  double queue_ms = 0;      // from submission to the first prefill slice
  double prefill_ms = 0;    // compute time of the prefill slices it took part in
  double first_audio_ms = 0;  // from submission to the first chunk handed to the sink
  double frame_ms = 0;      // sum over frames of the step time it took part in
  double codec_ms = 0;
  double first_codec_ms = 0;  // of it, until the first chunk was handed to the sink
  double total_ms = 0;      // from submission to the end
  double paused_ms = 0;     // waiting for a slow reader
  double starved_ms = 0;    // the listener waited after his first chunk, if he plays in real time
  double cancel_ms = 0;     // from the call of cancel() until all of its state was released
  int prompt_rows = 0;      // all rows of the prompt
  int cached_rows = 0;      // of them, taken from the voice cache
  int frames = 0;
  int late_frames = 0;      // of them, drawn after cancel() was called; counted up to 4
};

struct Event {
  enum class Kind { kChunk, kDone, kEncoded, kDecoded };
  Kind kind = Kind::kChunk;
  RequestId id = 0;
  // kChunk, kDecoded
  std::vector<float> pcm;      // [samples][channels], interleaved; as many channels as were asked for
  std::vector<int16_t> pcm16;  // kChunk, where it was asked for: what to_pcm16() makes of the samples, and no pcm
  std::vector<int32_t> codes;  // [frames][codebooks drawn]; kEncoded: [frames][n_codebooks]
  int first_frame = 0, frames = 0;
  // kDone (the last event of every request, exactly once: generate, encode and decode)
  FinishReason reason = FinishReason::kStop;
  std::string error_code, error_message;
  GenerateStats stats;
};

struct EngineStats {
  int live = 0;              // sequences that hold state
  int waiting = 0;           // requests in line
  double lead_ms_min = 0;    // least that a listener who reads has to hear; 0 if there is none
  uint64_t underruns = 0;    // chunks that came more than 100 ms after their listener had run dry
  uint64_t yields = 0;       // frames put off by sequences that were ahead, for others who were not
  // What a tick costs, learned from the last ones: this much, and so much more for each sequence in it.
  double tick_fixed_ms = 0, tick_sequence_ms = 0;
  double tick_prompt_ms = 0;  // what prompts and recordings took, for each frame that was made
  uint64_t submitted = 0, finished = 0, cancelled = 0, failed = 0, refused = 0;
  uint64_t frames = 0, prefill_rows = 0;
  uint64_t steps = 0;        // batches stepped; frames / steps is the mean batch size
  double step_ms_p50 = 0, step_ms_p95 = 0;  // over the last 512 steps
  double codec_ms_p50 = 0;
  // From a call of cancel() to the release: over the last 512 cancelled generations, and the longest ever.
  double cancel_ms_p50 = 0, cancel_ms_p99 = 0, cancel_ms_max = 0;
  // A miss is a prefix computed; waiting for one that is being computed is a hit.
  uint64_t voice_cache_hits = 0, voice_cache_misses = 0, voice_cache_evictions = 0;
  size_t voice_cache_bytes = 0;
  int voice_cache_entries = 0;
  size_t sequence_bytes = 0;  // caches and rings of live sequences
  size_t weight_bytes = 0;
};

class Engine {
 public:
  // Called on the scheduler thread, a few times a tick at most; must not block, throw or close the engine.
  using Sink = std::function<void(std::vector<Event>&&)>;

  // Throws Error("bad_request") for limits that make no sense and Error("model_invalid") for models that do not fit together.
  Engine(std::unique_ptr<Backend> backend, const EngineLimits& limits, Sink sink);
  ~Engine();  // same as close()
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // All of these may be called from any thread. The first three throw
  // Error("bad_request" | "unsupported" | "overloaded" | "closed"); the others never do.
  RequestId generate(GenerateRequest request);
  // Interleaved pcm at sample_rate, 1 or 2 channels; resampled, mono is copied to both channels.
  // The last, incomplete frame is dropped.
  RequestId encode(std::vector<float> pcm, int channels, int sample_rate);
  RequestId decode(std::vector<int32_t> codes, int n_books);  // whole sequence of codes to audio
  // Both are harmless for a request that has ended.
  void cancel(RequestId id);  // takes effect within one frame; the request still gets its kDone
  void consumed(RequestId id, int frames);  // the reader took that many more frames
  EngineStats stats() const;
  const Backend& backend() const;
  const EngineLimits& limits() const;  // with what suits the device in place of 0
  void close();  // cancels everything, joins the scheduler thread; no event after it returns

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace sonant
