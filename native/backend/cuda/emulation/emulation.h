// CUDA on the CPU, for tests: the part of the language and of the runtime that the kernels use.
// Every thread of a block is a fiber, two blocks run at a time, and what a warp or a block does
// together waits until all have come, so that a forgotten barrier shows as a wrong result. Slow; it
// proves indices, barriers and arithmetic, not speed.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
  dim3(unsigned x_ = 1, unsigned y_ = 1, unsigned z_ = 1) : x(x_), y(y_), z(z_) {}
};
struct int2 {
  int x, y;
};
struct float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(16) uint4 {
  uint32_t x, y, z, w;
};
inline float2 make_float2(float x, float y) { return {x, y}; }

namespace sonant::cuda::emulation {

struct Place {
  dim3 thread, block, block_size, grid;
  unsigned char* shared = nullptr;
};
Place& place();

// Runs `body` once for each thread of each block. A thread's stack has 64 KB.
void run(dim3 grid, int threads, size_t shared_bytes, const std::function<void()>& body);

void block_barrier();
int block_or(int predicate);
int block_count(int predicate);
// The value that each lane of the caller's warp has given; all lanes take part.
// They stay as they are until the second exchange from here.
const std::array<uint64_t, 32>& exchange(uint64_t mine);
void multiply_add(float (&c)[4], std::array<uint32_t, 4> a, std::array<uint32_t, 2> b);

// Bytes of "device" memory in use, and how much may be; tests make it run out.
size_t allocated_bytes();
void limit_bytes(size_t bytes);

}  // namespace sonant::cuda::emulation

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __noinline__
#define __launch_bounds__(...)
#define __restrict__
#define threadIdx (::sonant::cuda::emulation::place().thread)
#define blockIdx (::sonant::cuda::emulation::place().block)
#define blockDim (::sonant::cuda::emulation::place().block_size)
#define gridDim (::sonant::cuda::emulation::place().grid)
#define SONANT_DYNAMIC_SHARED(name) unsigned char* name = ::sonant::cuda::emulation::place().shared

using std::max;
using std::min;
inline float rsqrtf(float x) { return 1.0f / std::sqrt(x); }
inline float __uint_as_float(uint32_t x) {
  float f;
  std::memcpy(&f, &x, 4);
  return f;
}
inline uint32_t __float_as_uint(float f) {
  uint32_t x;
  std::memcpy(&x, &f, 4);
  return x;
}
inline void __syncthreads() { sonant::cuda::emulation::block_barrier(); }
inline int __syncthreads_or(int predicate) { return sonant::cuda::emulation::block_or(predicate); }
inline int __syncthreads_count(int predicate) { return sonant::cuda::emulation::block_count(predicate); }
inline void __syncwarp() { sonant::cuda::emulation::exchange(0); }
inline float __shfl_xor_sync(unsigned, float x, int mask) {
  const auto& all = sonant::cuda::emulation::exchange(__float_as_uint(x));
  return __uint_as_float(static_cast<uint32_t>(all[(threadIdx.x % 32) ^ static_cast<unsigned>(mask)]));
}
inline float __shfl_sync(unsigned, float x, int lane) {
  return __uint_as_float(static_cast<uint32_t>(sonant::cuda::emulation::exchange(__float_as_uint(x))[static_cast<unsigned>(lane)]));
}
inline double __shfl_sync(unsigned, double x, int lane) {
  uint64_t bits;
  std::memcpy(&bits, &x, 8);
  bits = sonant::cuda::emulation::exchange(bits)[static_cast<unsigned>(lane)];
  std::memcpy(&x, &bits, 8);
  return x;
}
inline uint32_t __shfl_sync(unsigned, uint32_t x, int lane) { return static_cast<uint32_t>(sonant::cuda::emulation::exchange(x)[static_cast<unsigned>(lane)]); }
inline int __shfl_sync(unsigned, int x, int lane) { return static_cast<int>(__shfl_sync(0u, static_cast<uint32_t>(x), lane)); }
inline int __ffs(unsigned x) { return __builtin_ffs(static_cast<int>(x)); }
inline int __shfl_up_sync(unsigned, int x, int by) {
  const auto& all = sonant::cuda::emulation::exchange(static_cast<uint32_t>(x));
  const unsigned lane = threadIdx.x % 32;
  return lane < static_cast<unsigned>(by) ? x : static_cast<int>(static_cast<uint32_t>(all[lane - static_cast<unsigned>(by)]));
}
inline unsigned __ballot_sync(unsigned, int predicate) {
  unsigned bits = 0;
  const auto& all = sonant::cuda::emulation::exchange(predicate != 0);
  for (unsigned lane = 0; lane < 32; lane++) bits |= static_cast<unsigned>(all[lane]) << lane;
  return bits;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __reduce_add_sync(unsigned, int x) {
  int sum = 0;
  for (const uint64_t one : sonant::cuda::emulation::exchange(static_cast<uint32_t>(x))) sum += static_cast<int>(static_cast<uint32_t>(one));
  return sum;
}
inline uint32_t __reduce_max_sync(unsigned, uint32_t x) {
  uint32_t most = 0;
  for (const uint64_t one : sonant::cuda::emulation::exchange(x)) most = std::max(most, static_cast<uint32_t>(one));
  return most;
}
inline int atomicAdd(int* at, int by) { return __atomic_fetch_add(at, by, __ATOMIC_ACQ_REL); }
inline uint32_t atomicMax(uint32_t* at, uint32_t by) {
  uint32_t old = __atomic_load_n(at, __ATOMIC_ACQUIRE);
  while (old < by && !__atomic_compare_exchange_n(at, &old, by, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
  }
  return old;
}
inline uint32_t __umulhi(uint32_t a, uint32_t b) { return static_cast<uint32_t>((static_cast<uint64_t>(a) * b) >> 32); }

// The runtime. A device pointer is a host pointer, and everything has happened when a call returns.
enum cudaError_t { cudaSuccess = 0, cudaErrorMemoryAllocation = 2, cudaErrorNoDevice = 100 };
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDeviceToDevice = 3 };
using cudaStream_t = struct EmulatedStream*;
inline const char* cudaGetErrorString(cudaError_t error) { return error == cudaErrorMemoryAllocation ? "out of memory" : "no error"; }
// The last failure on this thread, which this call forgets.
cudaError_t cudaGetLastError();
cudaError_t cudaMalloc(void** pointer, size_t bytes);
cudaError_t cudaFree(void* pointer);
inline cudaError_t cudaMallocHost(void** pointer, size_t bytes) { return *pointer = std::malloc(bytes), cudaSuccess; }
inline cudaError_t cudaFreeHost(void* pointer) { return std::free(pointer), cudaSuccess; }
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t) { return std::memcpy(to, from, bytes), cudaSuccess; }
inline cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t) { return std::memset(to, value, bytes), cudaSuccess; }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
