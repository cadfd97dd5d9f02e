// The border between the scheduler and what computes. A backend owns weights and threads or
// a device; a sequence owns everything that one generation carries from step to step.
//
// Contract shared by all backends:
//  - One thread at a time calls into a backend (the scheduler's).
//  - Results for a sequence never depend on what else is in the batch, on how a prompt was cut
//    into slices, or on the number of threads.
//  - Destroying a sequence or stream releases all it held; it may outlive no backend.
//  - Failures throw. Of the call's own sequences, those whose rows() and frames() have not moved may
//    be tried again, and so may streams after Error("bad_request"), which comes before any work;
//    the rest of the call is unusable. Everything outside of the call is unaffected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "model/config.h"
#include "model/sampler.h"

namespace sonant {

enum class Precision { kFp32, kBf16, kInt8 };

// Keys and values of a prompt's first rows, immutable and shared by the sequences that start with it.
class LmPrefix {
 public:
  virtual ~LmPrefix() = default;
  virtual int rows() const = 0;
  virtual size_t bytes() const = 0;
};

// One generation: key/value cache, last hidden state, drawn codes, frame counter.
class LmSequence {
 public:
  virtual ~LmSequence() = default;
  virtual int rows() const = 0;    // rows in the cache, shared prefix included
  virtual int frames() const = 0;  // frames drawn so far
  virtual size_t bytes() const = 0;
};

struct PrefillItem {
  LmSequence* sequence = nullptr;
  const int32_t* rows = nullptr;  // [n_rows][1 + n_vq]: text id, codes
  int n_rows = 0;
  float* hidden = nullptr;        // optional [n_rows][d_model]: after the final norm
};

struct FrameItem {
  LmSequence* sequence = nullptr;  // must have been prefilled
  const SamplingParams* sampling = nullptr;
  bool force_continue = false;     // parity tests: ignore the text decision
  int32_t* codes = nullptr;        // out [n_vq]; books beyond sampling->n_vq hold the pad id
  bool stopped = false;            // out: the model ended; codes are not written
  bool failed = false;             // out: its numbers stopped being finite; only this sequence is unusable
  float* hidden = nullptr;         // optional out [d_model]: the global hidden before this frame
  float* text_logits = nullptr;    // optional out [2]: continue, stop
  float* audio_logits = nullptr;   // optional out [n_vq][max_codebook]
};

class LanguageModel {
 public:
  virtual ~LanguageModel() = default;
  virtual const LmConfig& config() const = 0;

  // `prefix` may be null. `max_rows` bounds the rows it will ever hold (prompt plus frames).
  virtual std::unique_ptr<LmSequence> create_sequence(std::shared_ptr<const LmPrefix> prefix,
                                                      int max_rows) = 0;
  // Appends prompt rows. May be called several times for one sequence; each sequence at most once a call.
  virtual void prefill(std::span<PrefillItem> items) = 0;
  // The rows so far as a shared prefix; the sequence stays usable.
  virtual std::shared_ptr<const LmPrefix> freeze(LmSequence& sequence) = 0;
  // One frame for each item: first the row of the previous frame goes through the global
  // transformer (nothing to do right after prefill), then the local one decides and draws.
  virtual void step(std::span<FrameItem> items) = 0;
};

class CodecStream {
 public:
  virtual ~CodecStream() = default;
  virtual size_t bytes() const = 0;
};

struct DecodeItem {
  CodecStream* stream = nullptr;   // from create_decoder
  const int32_t* codes = nullptr;  // [n_frames][n_books]
  int n_frames = 0;
  int n_books = 0;                 // 1 .. n_codebooks; the rest is left out
  float* pcm = nullptr;            // out [n_frames * frame_samples][channels], not clipped
};

struct EncodeItem {
  CodecStream* stream = nullptr;   // from create_encoder
  const float* pcm = nullptr;      // [n_frames * frame_samples][channels] at the codec's rate
  int n_frames = 0;
  int32_t* codes = nullptr;        // out [n_frames][n_codebooks]
  float* hidden = nullptr;         // optional out [n_frames][code_dim]
};

class Codec {
 public:
  virtual ~Codec() = default;
  virtual const CodecConfig& config() const = 0;
  virtual std::unique_ptr<CodecStream> create_decoder() = 0;
  virtual std::unique_ptr<CodecStream> create_encoder() = 0;
  virtual void decode(std::span<DecodeItem> items) = 0;
  // decode() in two halves, so that a device can decode while the language model makes the next frame.
  // One is under way at a time, and nothing else is decoded, encoded or dequantized meanwhile; streams
  // that take no part may be created and destroyed.
  virtual bool decodes_beside() const { return false; }  // begin_decode() returns before its work is done
  // The codes may change once it returns; the streams and the pcm must live until finish_decode() has
  // returned or thrown, and only then is the pcm complete. After either has thrown, nothing is under way.
  virtual void begin_decode(std::span<DecodeItem> items) { decode(items); }
  virtual void finish_decode() {}  // waits; throws if the work failed: then all of its items have
  virtual void encode(std::span<EncodeItem> items) = 0;
  // The quantizer's latent of codes [n_frames][n_books] -> [n_frames][code_dim] (parity tests).
  virtual void dequantize(const int32_t* codes, int n_frames, int n_books, float* latent) = 0;
};

struct Backend {
  virtual ~Backend() = default;
  std::string device;       // "cpu" or "cuda"
  std::string description;  // e.g. "AVX-512 VNNI, 2 threads"
  std::unique_ptr<LanguageModel> lm;  // either may be null when its folder was not given
  std::unique_ptr<Codec> codec;
  int threads = 0;
  size_t weight_bytes = 0;
  // What suits the device, for limits that nobody has set (see EngineLimits).
  int sequences = 0;      // spoken side by side
  int prefill_rows = 0;   // prompt rows between two frames of the others
  int encode_frames = 0;  // reference frames between two frames of the others
};

struct BackendOptions {
  std::string lm_folder;     // holds config.json and model.safetensors; empty: no language model
  std::string codec_folder;  // likewise
  Precision precision = Precision::kInt8;
  int threads = 0;           // 0: from the machine
  std::string isa;           // "" best; "avx512", "avx2", "neon", "generic" to force (tests, benchmarks)
  int gpu = 0;               // CUDA: which device, counted from 0
};

// Throws Error. Loading takes seconds for a full-size model; call it off the main thread.
std::unique_ptr<Backend> create_cpu_backend(const BackendOptions& options);

}  // namespace sonant
