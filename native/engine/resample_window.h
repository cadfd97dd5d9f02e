// Resamples any stretch of a recording on its own, with exactly the samples that resampling
// the whole recording would give there.
#pragma once

#include <cstdint>
#include <vector>

namespace sonant {

class ResampleWindow {
 public:
  // Throws Error("bad_request") for rates that the resampler refuses.
  ResampleWindow(int from_hz, int to_hz);

  // Samples that `n` input samples become.
  int64_t output_size(int64_t n) const;
  // Output samples [first, first + count) of the channel `in` [n]; they must exist.
  void read(const float* in, int64_t n, int64_t first, int64_t count, float* out) const;

 private:
  int from_hz_, to_hz_;
  int64_t from_, to_;  // the rates without their common divisor: `from_` samples become `to_`
  int64_t margin_;     // blocks of `from_` samples on either side that a sample may depend on
};

}  // namespace sonant
