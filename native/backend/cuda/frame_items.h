// The items of a step as the device sees them, their random numbers, and scores as numbers that can be compared.
#pragma once

#include "backend/cuda/device.h"

namespace sonant::cuda {

// One item of a step, as the host describes it.
struct FrameRef {
  int slot;      // of the sequence
  uint32_t frame, segment, seed_low, seed_high;
  int n_vq;      // codebooks to draw
  int do_sample, force_continue;
  float text_temperature, text_top_p;
  int text_top_k;
  float audio_temperature, audio_top_p;
  int audio_top_k;
  float repetition_penalty;
};

// What became of an item.
struct FrameState {
  int active;   // still drawing
  int stopped;  // the decision was to end
  int failed;   // a number was not finite
};

__device__ inline float philox_uniform(const FrameRef& item, uint32_t head) {
  uint32_t c0 = item.frame, c1 = head, c2 = item.segment, c3 = 0, k0 = item.seed_low, k1 = item.seed_high;
#pragma unroll
  for (int round = 0; round < 10; round++) {
    const uint32_t a_high = __umulhi(0xd2511f53u, c0), a_low = 0xd2511f53u * c0;
    const uint32_t b_high = __umulhi(0xcd9e8d57u, c2), b_low = 0xcd9e8d57u * c2;
    c0 = b_high ^ c1 ^ k0, c1 = b_low, c2 = a_high ^ c3 ^ k1, c3 = a_low;
    k0 += 0x9e3779b9u, k1 += 0xbb67ae85u;
  }
  return static_cast<float>(c0 >> 8) * 5.9604644775390625e-8f;  // 2^-24
}

__device__ inline bool finite(float x) { return (__float_as_uint(x) & 0x7f800000u) != 0x7f800000u; }

// Orders floats as unsigned numbers; none is 0.
__device__ inline uint32_t ordered(float x) {
  const uint32_t bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ inline float unordered(uint32_t key) { return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key); }

}  // namespace sonant::cuda
