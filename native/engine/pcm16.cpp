#include "engine/pcm16.h"

#include <bit>
#include <type_traits>

namespace sonant {

std::vector<int16_t> to_pcm16(std::span<const float> samples) {
  std::vector<int16_t> integers(samples.size());
  for (size_t i = 0; i < samples.size(); ++i) {
    const float sample = samples[i];
    const float at_most = sample < 1 ? sample : 1;
    const float in_range = at_most > -1 ? at_most : -1;
    const float clipped = sample == sample ? in_range : 0;
    const double scaled = static_cast<double>(clipped) * 0x7fffffff + 0.5;
    // Rounds down by the sign of what truncation left: std::floor() and comparisons of doubles keep the
    // loop from being vectorised where the instruction set has no rounding.
    const int32_t whole = static_cast<int32_t>(scaled);
    const int32_t is_above = static_cast<int32_t>(std::bit_cast<uint64_t>(scaled - whole) >> 63);
    integers[i] = static_cast<int16_t>((whole - is_above) >> 16);
  }
  return integers;
}

namespace {

// `channels` is a number or, for a loop that can be vectorised, a constant.
template <class Channels>
std::vector<float> mean(std::span<const float> samples, Channels channels) {
  const size_t n = samples.size() / static_cast<size_t>(channels);
  std::vector<float> means(n);
  for (size_t i = 0; i < n; ++i) {
    float sum = 0;
    for (size_t c = 0; c < static_cast<size_t>(channels); ++c) sum += samples[i * static_cast<size_t>(channels) + c];
    means[i] = sum / static_cast<float>(channels);
  }
  return means;
}

}  // namespace

std::vector<float> to_mono(std::span<const float> samples, int channels) {
  if (channels == 2) return mean(samples, std::integral_constant<int, 2>{});
  return mean(samples, channels);
}

}  // namespace sonant
