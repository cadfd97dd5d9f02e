#include "engine/chunker.h"

#include <algorithm>
#include <utility>

namespace sonant {

Chunker::Chunker(const ChunkPolicy& policy, int samples, int books)
    : policy_(policy), samples_(samples), books_(books), size_(policy.first_frames) {
  target_ = std::min(policy.first_frames, policy.max_frames);
}

float* Chunker::next_pcm() {
  const size_t used = static_cast<size_t>(frames_) * samples_;
  if (pcm_.empty()) pcm_.reserve(static_cast<size_t>(target_) * samples_);
  pcm_.resize(used + samples_);
  return pcm_.data() + used;
}

void Chunker::add(const int32_t* codes, Time now) {
  if (empty()) since_ = now;
  if (books_ > 0) codes_.insert(codes_.end(), codes, codes + books_);
  ++frames_;
}

Event Chunker::take(RequestId id) {
  Event event;
  event.kind = Event::Kind::kChunk;
  event.id = id;
  event.pcm = std::exchange(pcm_, {});
  event.codes = std::exchange(codes_, {});
  event.first_frame = first_frame_;
  event.frames = frames_;
  first_frame_ += std::exchange(frames_, 0);
  size_ = std::min<double>(size_ * policy_.growth, policy_.max_frames);
  target_ = std::max(1, static_cast<int>(size_));
  return event;
}

}  // namespace sonant
