// What every kernel leans on: the CUDA runtime or its emulation on the CPU, bfloat16, operations
// of a warp, and the tensor cores' product. A warp's sums go in one fixed order, so that a result
// depends neither on the batch nor on the card.
#pragma once

#ifdef SONANT_CUDA_EMULATION
#include "backend/cuda/emulation/emulation.h"
#else
#include <cuda_runtime.h>
#define SONANT_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#endif

#include <cstdint>

namespace sonant::cuda {

constexpr int kWarp = 32;
constexpr unsigned kAllLanes = 0xffffffffu;

struct bf16 {
  uint16_t bits;
};

__device__ inline float to_float(float x) { return x; }
__device__ inline float to_float(bf16 x) { return __uint_as_float(static_cast<uint32_t>(x.bits) << 16); }
// The two halves of a 32-bit word that holds a pair, the first one low.
__device__ inline float low_float(uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ inline float high_float(uint32_t pair) { return __uint_as_float(pair & 0xffff0000u); }

// Rounds to nearest even.
__device__ inline uint32_t pack_bf16(float low, float high) {
#ifdef SONANT_CUDA_EMULATION
  const auto round = [](float x) {
    const uint32_t bits = __float_as_uint(x);
    return x != x ? 0x7fffu : (bits + 0x7fffu + ((bits >> 16) & 1)) >> 16;  // rounding up would make a number of some that are none
  };
  return round(low) | round(high) << 16;
#else
  uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
#endif
}

// Two neighbouring values, the address even.
__device__ inline void store_pair(float* to, float a, float b) { *reinterpret_cast<float2*>(to) = make_float2(a, b); }
__device__ inline void store_pair(bf16* to, float a, float b) { *reinterpret_cast<uint32_t*>(to) = pack_bf16(a, b); }

// 16 bytes of values as floats.
__device__ inline void unpack(const float* from, float (&out)[4]) {
  const float4 v = *reinterpret_cast<const float4*>(from);
  out[0] = v.x, out[1] = v.y, out[2] = v.z, out[3] = v.w;
}
__device__ inline void unpack(const bf16* from, float (&out)[8]) {
  const uint4 v = *reinterpret_cast<const uint4*>(from);
  const uint32_t words[4] = {v.x, v.y, v.z, v.w};
#pragma unroll
  for (int i = 0; i < 4; i++) out[2 * i] = low_float(words[i]), out[2 * i + 1] = high_float(words[i]);
}
template <class T>
constexpr int kVector = 16 / static_cast<int>(sizeof(T));  // values in 16 bytes

__device__ inline uint4 load16(const void* from) { return *static_cast<const uint4*>(from); }

// Copies of 16 bytes to shared memory that go on beside the work. Those that a thread has begun since the last call of
// close_copies() make a group; await_copies<N>() waits until no more than N of its groups are under way.
__device__ inline void copy16(void* to, const void* from) {
#ifdef SONANT_CUDA_EMULATION
  std::memcpy(to, from, 16);
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(static_cast<uint32_t>(__cvta_generic_to_shared(to))), "l"(from));
#endif
}
__device__ inline void close_copies() {
#ifndef SONANT_CUDA_EMULATION
  asm volatile("cp.async.commit_group;");
#endif
}
template <int N>
__device__ inline void await_copies() {
#ifndef SONANT_CUDA_EMULATION
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
#endif
}

// A kernel may be started while the one before it still runs, as soon as that one has returned from this call; what it
// needs of that one is there once this returns. What comes before may read all that is older.
__device__ inline void await_previous() {
#if !defined(SONANT_CUDA_EMULATION) && defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

__device__ inline float warp_sum(float x) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) x += __shfl_xor_sync(kAllLanes, x, step);
  return x;
}
__device__ inline float warp_max(float x) {
#pragma unroll
  for (int step = kWarp / 2; step > 0; step /= 2) x = fmaxf(x, __shfl_xor_sync(kAllLanes, x, step));
  return x;
}

// c += a b for a 16x16 tile a and a 16x8 tile b, fp32 sums. Lane l = 4 g + t holds, in the tiles' own order,
// a0 = (g, 2t..), a1 = (g + 8, 2t..), a2 = (g, 2t + 8..), a3 = (g + 8, 2t + 8..); b0 = (2t.., g), b1 = (2t + 8.., g);
// c0, c1 = (g, 2t), (g, 2t + 1); c2, c3 = (g + 8, 2t), (g + 8, 2t + 1).
__device__ inline void multiply_add(float (&c)[4], uint32_t a0, uint32_t a1, uint32_t a2, uint32_t a3, uint32_t b0, uint32_t b1) {
#ifdef SONANT_CUDA_EMULATION
  emulation::multiply_add(c, {a0, a1, a2, a3}, {b0, b1});
#else
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a0), "r"(a1), "r"(a2), "r"(a3), "r"(b0), "r"(b1));
#endif
}

}  // namespace sonant::cuda
