#include "engine/stats_book.h"

#include <algorithm>
#include <vector>

namespace sonant {

void Durations::add(double ms) {
  ms_[next_] = ms;
  next_ = (next_ + 1) % ms_.size();
  count_ = std::min(count_ + 1, ms_.size());
}

double Durations::percentile(double share) const {
  if (count_ == 0) return 0;
  std::vector<double> sorted(ms_.begin(), ms_.begin() + static_cast<long>(count_));
  const auto nth = sorted.begin() + static_cast<long>(share * static_cast<double>(count_ - 1) + 0.5);
  std::nth_element(sorted.begin(), nth, sorted.end());
  return *nth;
}

void count_end(EngineStats& stats, FinishReason reason) {
  switch (reason) {
    case FinishReason::kCancelled: ++stats.cancelled; break;
    case FinishReason::kError: ++stats.failed; break;
    case FinishReason::kStop:
    case FinishReason::kLength: ++stats.finished; break;
  }
}

void StatsBook::step_took(double ms, int frames, int yielded) {
  const std::lock_guard lock(mutex_);
  step_.add(ms);
  ++stats_.steps;
  stats_.frames += static_cast<uint64_t>(frames);
  stats_.yields += static_cast<uint64_t>(yielded);
}

void StatsBook::codec_took(double ms) {
  const std::lock_guard lock(mutex_);
  codec_.add(ms);
}

void StatsBook::cancel_took(double ms) {
  const std::lock_guard lock(mutex_);
  cancel_.add(ms);
  stats_.cancel_ms_max = std::max(stats_.cancel_ms_max, ms);
}

EngineStats StatsBook::read() const {
  EngineStats stats;
  Durations step, codec, cancel;
  {
    const std::lock_guard lock(mutex_);
    stats = stats_;
    step = step_;
    codec = codec_;
    cancel = cancel_;
  }
  stats.step_ms_p50 = step.percentile(0.5);
  stats.step_ms_p95 = step.percentile(0.95);
  stats.codec_ms_p50 = codec.percentile(0.5);
  stats.cancel_ms_p50 = cancel.percentile(0.5);
  stats.cancel_ms_p99 = cancel.percentile(0.99);
  return stats;
}

}  // namespace sonant
