// Whole recordings to codes and whole code sequences to audio, a few frames a tick, first come
// first served: one job at a time holds codec state. Input is resampled piece by piece with it,
// so that a long recording never holds up a stream.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/attempt.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/resample_window.h"
#include "engine/stats_book.h"

namespace sonant {

struct AudioJob {
  RequestId id = 0;
  bool encodes = false;
  bool cancelled = false;
  int frames = 0;  // in all
  int done = 0;
  std::vector<float> pcm;      // encode: input, one channel after another; decode: output, interleaved
  std::vector<int32_t> codes;  // encode: output [frames][n_codebooks]; decode: input [frames][n_books]
  int channels = 0;            // encode: of the input
  int n_books = 0;             // decode
  std::optional<ResampleWindow> resampling;  // encode: from the input's rate to the codec's
  std::unique_ptr<CodecStream> stream;
  GenerateStats stats;
  Time submitted;
};

// A job from the arguments of Engine::encode. Throws Error("bad_request").
std::unique_ptr<AudioJob> make_encode_job(const CodecConfig& config, std::vector<float> pcm,
                                          int channels, int sample_rate);
// A job from the arguments of Engine::decode. Throws Error("bad_request").
std::unique_ptr<AudioJob> make_decode_job(const CodecConfig& config, std::vector<int32_t> codes,
                                          int n_books);

class AudioJobs {
 public:
  // `codec` may be null if no job ever comes. `slice_frames` is the bound for one advance().
  AudioJobs(Codec* codec, StatsBook& book, int slice_frames);

  void submit(std::unique_ptr<AudioJob> job);
  void cancel(RequestId id);
  bool idle() const { return jobs_.empty(); }
  int count() const { return static_cast<int>(jobs_.size()); }
  // Ends cancelled jobs, then one slice of the first in line.
  void advance(std::vector<Event>& events);
  void cancel_all(std::vector<Event>& events);

 private:
  void work(AudioJob& job);
  void encode_slice(AudioJob& job, int frames);
  void decode_slice(AudioJob& job, int frames);
  // Appends the result, if there is one, and the kDone.
  void finish(AudioJob& job, FinishReason reason, const std::optional<Failure>& failure,
              std::vector<Event>& events);

  Codec* codec_;
  StatsBook& book_;
  const int slice_frames_;
  std::deque<std::unique_ptr<AudioJob>> jobs_;
  std::vector<float> slice_;  // scratch: audio of an encode slice
};

}  // namespace sonant
