// Gathers the frames of one sequence into chunks by its ChunkPolicy. Audio is decoded straight
// into the chunk's buffer and the buffer is moved out, so no sample is copied.
#pragma once

#include <vector>

#include "engine/clock.h"
#include "engine/engine.h"

namespace sonant {

class Chunker {
 public:
  Chunker() = default;
  // `samples` is the size of a frame's audio (samples x channels), 0 for none; `books` the size
  // of a frame's codes, 0 when they are not delivered.
  Chunker(const ChunkPolicy& policy, int samples, int books);

  // Where the audio of the next frame goes; stays in place until the call after that of add().
  float* next_pcm();
  // Counts the next frame, which is there at `now`. `codes` [books] is not read when codes are not delivered. Its
  // audio may still be on its way: whoever decodes it waits for the end of that before next_pcm() and take().
  void add(const int32_t* codes, Time now);
  bool full() const { return frames_ >= target_; }
  bool empty() const { return frames_ == 0; }
  // Whether its frames would be held too long if they were looked at again at `next`.
  bool held_past(Time next) const {
    return policy_.hold_ms > 0 && first_frame_ > 0 && !empty() && ms_between(since_, next) > policy_.hold_ms;
  }
  int frames() const { return frames_; }
  // Moves the gathered frames into an event of kind kChunk and grows the next chunk.
  Event take(RequestId id);

 private:
  ChunkPolicy policy_;
  int samples_ = 0, books_ = 0;
  double size_ = 1;  // of the current chunk before rounding, so that growth below 2 adds up
  int target_ = 1;
  int first_frame_ = 0, frames_ = 0;
  Time since_{};  // when the first of the gathered frames was there
  std::vector<float> pcm_;
  std::vector<int32_t> codes_;
};

}  // namespace sonant
