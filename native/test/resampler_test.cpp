// The resampler against a direct evaluation of its definition in double precision.
#include "model/resampler.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <random>

#include "test/check.h"

using namespace sonant;

namespace {

// Sum over all taps of the definition, nothing cut and nothing tabulated.
double definition(const std::vector<float>& in, int64_t index, int64_t o, int64_t n) {
  constexpr double pi = std::numbers::pi;
  const double b = static_cast<double>(std::min(o, n)) * 0.99;
  const auto w = static_cast<int64_t>(std::ceil(6 * static_cast<double>(o) / b));
  const int64_t phase = index % n, start = index / n * o;
  double sum = 0;
  for (int64_t m = 0; m < 2 * w + o; ++m) {
    const int64_t position = start + m - w;
    if (position < 0 || position >= static_cast<int64_t>(in.size())) continue;
    const double x = -static_cast<double>(phase) / static_cast<double>(n) + static_cast<double>(m - w) / static_cast<double>(o);
    const double t = std::clamp(x * b, -6.0, 6.0);
    const double window = std::pow(std::cos(pi * t / 12), 2);
    const double sinc = t == 0 ? 1 : std::sin(pi * t) / (pi * t);
    sum += static_cast<double>(in[static_cast<size_t>(position)]) * sinc * window * b / static_cast<double>(o);
  }
  return sum;
}

std::vector<float> noise(size_t n, uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-1, 1);
  std::vector<float> out(n);
  for (float& x : out) x = value(random);
  return out;
}

}  // namespace

TEST(resampler_matches_definition) {
  for (const int rate : {8000, 11025, 16000, 22050, 24000, 32000, 37800, 44100, 88200, 96000, 176400, 192000, 384000}) {
    for (const auto& [from, to] : {std::pair<int, int>{rate, 48000}, {48000, rate}}) {
      for (const size_t n : {size_t{1}, size_t{7}, size_t{1000}}) {
        const std::vector<float> in = noise(n);
        const int64_t divisor = std::gcd(from, to), o = from / divisor, p = to / divisor;
        const std::vector<float> out = resample(in.data(), n, from, to);
        CHECK_EQUAL(static_cast<int64_t>(out.size()), (p * static_cast<int64_t>(n) + o - 1) / o);
        for (size_t i = 0; i < out.size(); i += 1 + out.size() / 400) CHECK_NEAR(out[i], definition(in, static_cast<int64_t>(i), o, p), 2e-4);
      }
    }
  }
}

TEST(resampler_copes_with_odd_rates) {
  // The definition rounds its positions to fp32, which costs precision as the period grows.
  const std::vector<float> in = noise(3000);
  for (const auto& [from, to] : {std::pair<int, int>{47999, 48000}, {48000, 47999}, {44101, 48000}, {12347, 48000}}) {
    const int64_t divisor = std::gcd(from, to), o = from / divisor, p = to / divisor;
    const std::vector<float> out = resample(in.data(), in.size(), from, to);
    CHECK_EQUAL(static_cast<int64_t>(out.size()), (p * 3000 + o - 1) / o);
    for (size_t i = 0; i < out.size(); i += 97) CHECK_NEAR(out[i], definition(in, static_cast<int64_t>(i), o, p), 2e-2);
  }
  const std::vector<float> most = noise(2000);
  CHECK_EQUAL(resample(most.data(), most.size(), 1000, 767999).size(), 1535998u);
  CHECK_EQUAL(resample(most.data(), most.size(), 767999, 1001).size(), 3u);
}

TEST(resampler_keeps_a_tone) {
  std::vector<float> in(44100);
  for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(0.5 * std::sin(2 * std::numbers::pi * 440 * static_cast<double>(i) / 44100));
  const std::vector<float> out = resample(in.data(), in.size(), 44100, 48000);
  CHECK_EQUAL(out.size(), 48000u);
  for (size_t i = 100; i + 100 < out.size(); i += 13) {
    CHECK_NEAR(out[i], 0.5 * std::sin(2 * std::numbers::pi * 440 * static_cast<double>(i) / 48000), 1e-3);
  }
}

TEST(resampler_edges) {
  const std::vector<float> in{1, 2, 3};
  CHECK(resample(in.data(), 3, 48000, 48000) == in);
  CHECK(resample(nullptr, 0, 44100, 48000).empty());
  CHECK_EQUAL(resample(in.data(), 1, 44100, 48000).size(), 2u);
  CHECK_EQUAL(resample(in.data(), 3, 48000, 8000).size(), 1u);
  CHECK_THROWS_SAYING(resample(in.data(), 3, 999, 48000), "bad_request", "999");
  CHECK_THROWS_SAYING(resample(in.data(), 3, 48000, 768001), "bad_request", "768001");
  CHECK_THROWS_CODE(resample(in.data(), 3, 0, 48000), "bad_request");
  CHECK_THROWS_CODE(resample(in.data(), 3, -48000, 48000), "bad_request");
}
