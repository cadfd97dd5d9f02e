// The engine's running totals. Written by the scheduler and by submitting threads, read by
// anyone; one mutex, held for a few instructions.
#pragma once

#include <array>
#include <mutex>

#include "engine/engine.h"

namespace sonant {

// The last 512 durations, in milliseconds.
class Durations {
 public:
  void add(double ms);
  double percentile(double share) const;  // share in [0, 1]; 0 while empty

 private:
  std::array<double, 512> ms_{};
  size_t next_ = 0, count_ = 0;
};

// Counts a request that ended.
void count_end(EngineStats& stats, FinishReason reason);

class StatsBook {
 public:
  // Changes totals and gauges; `change` must not call back into the engine.
  template <typename Change>
  void update(Change&& change) {
    const std::lock_guard lock(mutex_);
    change(stats_);
  }
  void step_took(double ms, int frames, int yielded);
  void codec_took(double ms);
  void cancel_took(double ms);
  EngineStats read() const;

 private:
  mutable std::mutex mutex_;
  EngineStats stats_;  // percentiles are filled in by read()
  Durations step_, codec_, cancel_;
};

}  // namespace sonant
