// Windowed-sinc resampling. One kernel for each output phase, cut to the taps inside the
// window: outside them the definition's kernel is zero, and for rates with a small common
// divisor the full one would take gigabytes. What is kept is at most about 12 max(o, n) floats.
#include "model/resampler.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>
#include <string>

#include "model/error.h"

namespace sonant {
namespace {

constexpr int kZeroCrossings = 6;
constexpr double kRollOff = 0.99;
constexpr int kMinRate = 1000, kMaxRate = 768000;

// Both rates over their greatest common divisor, and what the definition derives from them.
struct Plan {
  int64_t o, n;   // input and output steps of one period
  double cutoff;  // b: the lower of both rates, rolled off, in steps per period
  int64_t width;  // w: padding on the left
  int64_t taps;   // kept for each phase

  Plan(int from_hz, int to_hz) {
    const int64_t divisor = std::gcd(static_cast<int64_t>(from_hz), static_cast<int64_t>(to_hz));
    o = from_hz / divisor;
    n = to_hz / divisor;
    cutoff = static_cast<double>(std::min(o, n)) * kRollOff;
    width = static_cast<int64_t>(std::ceil(kZeroCrossings * static_cast<double>(o) / cutoff));
    // The window spans 12 o / b taps; one more on each side absorbs rounding.
    taps = std::min(2 * width + o, static_cast<int64_t>(std::ceil(2 * kZeroCrossings * static_cast<double>(o) / cutoff)) + 3);
  }

  // First kept tap of phase p: the window is centred on tap w + p o / n of the definition.
  int64_t first_tap(int64_t phase) const {
    const double centre = static_cast<double>(width) + static_cast<double>(phase) * static_cast<double>(o) / static_cast<double>(n);
    const int64_t first = static_cast<int64_t>(std::floor(centre)) - taps / 2 + 1;
    return std::clamp<int64_t>(first, 0, 2 * width + o - taps);
  }
};

// Value of the kernel at tap m of phase p, rounding to fp32 after each step as the definition does.
float kernel_value(const Plan& plan, int64_t phase, int64_t tap) {
  constexpr float pi = std::numbers::pi_v<float>;
  const float offset = static_cast<float>(tap - plan.width) / static_cast<float>(plan.o);
  float t = static_cast<float>(-phase) / static_cast<float>(plan.n) + offset;
  t *= static_cast<float>(plan.cutoff);
  t = std::clamp(t, -static_cast<float>(kZeroCrossings), static_cast<float>(kZeroCrossings));
  const float cosine = std::cos(t * pi / static_cast<float>(kZeroCrossings) / 2.0f);
  const float window = cosine * cosine;
  const float x = t * pi;
  const float sinc = x == 0 ? 1.0f : std::sin(x) / x;
  return sinc * (window * static_cast<float>(plan.cutoff / static_cast<double>(plan.o)));
}

float dot(const float* a, const float* b, int64_t n) {
  float s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  int64_t i = 0;
  for (; i + 4 <= n; i += 4) {
    s0 += a[i] * b[i];
    s1 += a[i + 1] * b[i + 1];
    s2 += a[i + 2] * b[i + 2];
    s3 += a[i + 3] * b[i + 3];
  }
  for (; i < n; ++i) s0 += a[i] * b[i];
  return (s0 + s1) + (s2 + s3);
}

}  // namespace

std::vector<float> resample(const float* in, size_t n, int from_hz, int to_hz) {
  for (const int rate : {from_hz, to_hz}) {
    if (rate < kMinRate || rate > kMaxRate) {
      throw Error("bad_request", "The sample rate " + std::to_string(rate) + " Hz is outside " + std::to_string(kMinRate) + " to " +
                                     std::to_string(kMaxRate) + " Hz.");
    }
  }
  if (from_hz == to_hz) return std::vector<float>(in, in + n);
  if (n == 0) return {};

  const Plan plan(from_hz, to_hz);
  const auto length = static_cast<int64_t>(n);
  // ceil(n len / o) without forming n x len, which could overflow for absurd lengths.
  const int64_t out_length = length / plan.o * plan.n + (length % plan.o * plan.n + plan.o - 1) / plan.o;
  const int64_t phases = std::min(plan.n, out_length);

  std::vector<float> kernels(static_cast<size_t>(phases * plan.taps));
  std::vector<int64_t> first(static_cast<size_t>(phases));
  for (int64_t phase = 0; phase < phases; ++phase) {
    first[static_cast<size_t>(phase)] = plan.first_tap(phase);
    for (int64_t i = 0; i < plan.taps; ++i) {
      kernels[static_cast<size_t>(phase * plan.taps + i)] = kernel_value(plan, phase, first[static_cast<size_t>(phase)] + i);
    }
  }

  std::vector<float> padded(static_cast<size_t>(plan.width + length + plan.width + plan.o), 0.0f);
  std::copy(in, in + n, padded.begin() + static_cast<std::ptrdiff_t>(plan.width));
  std::vector<float> out(static_cast<size_t>(out_length));
  int64_t phase = 0, start = 0;  // start of the current period in the padded input
  for (int64_t i = 0; i < out_length; ++i) {
    out[static_cast<size_t>(i)] = dot(padded.data() + start + first[static_cast<size_t>(phase)], kernels.data() + phase * plan.taps, plan.taps);
    if (++phase == plan.n) {
      phase = 0;
      start += plan.o;
    }
  }
  return out;
}

}  // namespace sonant
