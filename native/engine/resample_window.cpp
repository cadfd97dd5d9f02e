#include "engine/resample_window.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/resampler.h"

namespace sonant {

ResampleWindow::ResampleWindow(int from_hz, int to_hz) : from_hz_(from_hz), to_hz_(to_hz) {
  const float nothing = 0;
  resample(&nothing, 0, from_hz, to_hz);  // refuses bad rates
  const int64_t divisor = std::gcd(from_hz, to_hz);
  from_ = from_hz / divisor;
  to_ = to_hz / divisor;
  // The filter reaches 6 zero crossings of the lower rate (roll-off 0.99) to either side.
  const double reach = std::ceil(6.0 * from_ / (std::min(from_, to_) * 0.99));
  margin_ = static_cast<int64_t>(std::ceil((reach + from_) / static_cast<double>(from_))) + 1;
}

int64_t ResampleWindow::output_size(int64_t n) const { return (n * to_ + from_ - 1) / from_; }

void ResampleWindow::read(const float* in, int64_t n, int64_t first, int64_t count,
                          float* out) const {
  if (from_ == to_) {
    std::copy_n(in + first, count, out);
    return;
  }
  // Outputs repeat their phase every `to_` samples, so a window that starts on a whole block sees
  // the same filter; beyond the recording's ends both see zeros.
  const int64_t begin = std::max<int64_t>(0, first / to_ - margin_);
  const int64_t end = std::min(n, ((first + count + to_ - 1) / to_ + margin_) * from_);
  const std::vector<float> window =
      resample(in + begin * from_, static_cast<size_t>(end - begin * from_), from_hz_, to_hz_);
  std::copy_n(window.begin() + (first - begin * to_), count, out);
}

}  // namespace sonant
