// Number format conversions.
#include "model/convert.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "model/tensor.h"

namespace sonant {
namespace {

template <typename T>
T load(const std::byte* in) {
  T value;
  std::memcpy(&value, in, sizeof value);
  return value;
}

// Adding and taking away 1.5 * 2^23 rounds a small float to the nearest integer, ties to even,
// in two vectorisable operations.
float round_small(float x) {
  constexpr float magic = 12582912.0f;
  return (x + magic) - magic;
}

float quantise_value(float x, float inverse) { return std::clamp(round_small(x * inverse), -127.0f, 127.0f); }

float squared_error(const float* in, size_t n, float scale) {
  const float inverse = 1.0f / scale;
  float lane[8] = {};  // independent sums, so that the loop vectorises
  for (size_t i = 0; i < n; ++i) {
    const float d = in[i] - scale * quantise_value(in[i], inverse);
    lane[i % 8] += d * d;
  }
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

// Tries clipping the largest values a little, then fits the scale to the rounded integers.
float best_scale(const float* in, size_t n) {
  float peak = 0;
  for (size_t i = 0; i < n; ++i) peak = std::max(peak, std::fabs(in[i]));
  // A group whose reciprocal scale would overflow holds nothing worth keeping.
  if (!(peak > 1e-30f) || !std::isfinite(peak)) return 0;
  float scale = peak / 127.0f, error = squared_error(in, n, scale);
  const auto consider = [&](float candidate) {
    const float e = squared_error(in, n, candidate);
    if (e < error) {
      error = e;
      scale = candidate;
    }
  };
  for (int step = 1; step <= 6; ++step) consider(peak / (127.0f + 0.75f * static_cast<float>(step)));
  double cross = 0, square = 0;
  const float inverse = 1.0f / scale;
  for (size_t i = 0; i < n; ++i) {
    const float q = quantise_value(in[i], inverse);
    cross += static_cast<double>(q) * in[i];
    square += static_cast<double>(q) * q;
  }
  if (square > 0) consider(static_cast<float>(cross / square));
  return scale;
}

}  // namespace

void bf16_to_f32(const std::byte* in, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) {
    const uint32_t bits = static_cast<uint32_t>(load<uint16_t>(in + 2 * i)) << 16;
    out[i] = std::bit_cast<float>(bits);
  }
}

void f16_to_f32(const std::byte* in, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) {
    const uint32_t half = load<uint16_t>(in + 2 * i);
    // Scaling by 2^112 moves the exponent bias from 15 to 127 and normalises subnormals.
    const float magnitude = std::bit_cast<float>((half & 0x7fffu) << 13) * 0x1p112f;
    const uint32_t special = (half & 0x7c00u) == 0x7c00u ? 0x7f800000u : 0u;  // infinity and NaN
    out[i] = std::bit_cast<float>(std::bit_cast<uint32_t>(magnitude) | special | ((half & 0x8000u) << 16));
  }
}

void i8_to_f32(const std::byte* in, const std::byte* scales, size_t n, float* out) {
  for (size_t start = 0; start < n; start += kInt8Group) {
    const float scale = load<float>(scales + start / kInt8Group * sizeof(float));
    const size_t end = std::min(n, start + kInt8Group);
    for (size_t i = start; i < end; ++i) out[i] = scale * static_cast<float>(static_cast<int8_t>(in[i]));
  }
}

void f32_to_bf16(const float* in, size_t n, std::byte* out) {
  for (size_t i = 0; i < n; ++i) {
    const auto bits = std::bit_cast<uint32_t>(in[i]);
    const uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    const auto half = static_cast<uint16_t>(nan ? (bits >> 16) | 0x40u : rounded >> 16);
    std::memcpy(out + 2 * i, &half, sizeof half);
  }
}

void f32_to_i8(const float* in, size_t n, std::byte* out, float* scales) {
  for (size_t start = 0; start < n; start += kInt8Group) {
    const size_t count = std::min<size_t>(kInt8Group, n - start);
    const float scale = best_scale(in + start, count);
    scales[start / kInt8Group] = scale;
    const float inverse = scale > 0 ? 1.0f / scale : 0;
    for (size_t i = 0; i < count; ++i) {
      out[start + i] = static_cast<std::byte>(static_cast<int8_t>(quantise_value(in[start + i], inverse)));
    }
  }
}

}  // namespace sonant
