// Draws from a few of the best: the usual case, with one barrier a step.
#pragma once

#include "backend/cuda/draw_all.h"

namespace sonant::cuda {

constexpr int kFew = kWarp;          // candidates that a draw may have here
constexpr int kCandidates = 4 * kFew;  // that may be looked at for them

// Shared memory of a block while it draws.
struct Few {
  uint32_t group[kWarp];              // the best key of the ids that are equal modulo 32
  int count;                          // candidates
  int drawn;
  unsigned long long found[kCandidates];   // keys with ids: the better one is larger
  unsigned long long sorted[kCandidates];  // the best first

  __device__ static unsigned long long with_id(uint32_t key, int id) { return static_cast<unsigned long long>(key) << 32 | ~static_cast<uint32_t>(id); }
  __device__ static uint32_t key_of(unsigned long long entry) { return static_cast<uint32_t>(entry >> 32); }
  __device__ static int id_of(unsigned long long entry) { return static_cast<int>(~static_cast<uint32_t>(entry)); }

  // Once, before keys are noted.
  __device__ void clear() {
    if (threadIdx.x < kWarp) group[threadIdx.x] = 0;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
  }
  // The best key of a thread. The caller has a barrier between this and `draw`.
  __device__ void note(uint32_t most) { atomicMax(&group[threadIdx.x % kWarp], most); }

  // The code that is drawn from the k <= kFew best of `keys` (of ids threadIdx.x, threadIdx.x + kDrawThreads, ...; 0: none) and what equals
  // the last of them; on every thread. -1: there are too many for this way.
  template <int N>
  __device__ int draw(const FrameRef& ref, const uint32_t (&keys)[N], int k, float u) {
    const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
    // As many groups as are asked for have a key of at least `least`, so no smaller one is wanted.
    const uint32_t own = group[lane];
    int rank = 0;
#pragma unroll 8
    for (int l = 0; l < kWarp; l++) {
      const uint32_t other = __shfl_sync(kAllLanes, own, l);
      rank += other > own || (other == own && l < lane);
    }
    const uint32_t least = __shfl_sync(kAllLanes, own, __ffs(__ballot_sync(kAllLanes, rank == k - 1)) - 1);
#pragma unroll
    for (int slot = 0; slot < N; slot++) {
      if (keys[slot] < least || keys[slot] == 0) continue;
      const int place = atomicAdd(&count, 1);
      if (place < kCandidates) found[place] = with_id(keys[slot], static_cast<int>(threadIdx.x) + slot * kDrawThreads);
    }
    __syncthreads();
    const int n = count;
    if (n > kCandidates) return -1;
#pragma unroll 1
    for (int c = warp; c < n; c += kDrawThreads / kWarp) {
      const unsigned long long entry = found[c];
      int better = 0;
#pragma unroll 1
      for (int o = lane; o - lane < n; o += kWarp) better += __popc(__ballot_sync(kAllLanes, o < n && found[o] > entry));
      if (lane == 0) sorted[better] = entry;
    }
    __syncthreads();
    if (warp == 0) {
      const int chosen = choose(ref, n, k, u, lane);
      if (lane == 0) drawn = chosen;
    }
    __syncthreads();
    return drawn;
  }

 private:
  // By one warp, from the n sorted entries.
  __device__ int choose(const FrameRef& ref, int n, int k, float u, int lane) const {
    if (!ref.do_sample) return id_of(sorted[0]);
    const uint32_t threshold = key_of(sorted[k - 1]);
    // The k best and, where others equal the last of them, one entry more tell whether there are too many.
    if (n > kFew && key_of(sorted[kFew]) >= threshold) return -1;
    const uint32_t key = lane < n ? key_of(sorted[lane]) : 0;
    const int candidates = __popc(__ballot_sync(kAllLanes, key >= threshold));
    const double weight = lane < candidates ? exp(static_cast<double>(unordered(key)) - static_cast<double>(unordered(key_of(sorted[0])))) : 0.0;
    double sum = 0, running = 0;  // of all; up to this lane
#pragma unroll 8
    for (int c = 0; c < kFew; c++) {
      sum += __shfl_sync(kAllLanes, weight, c);  // those behind the last add nothing
      if (c == lane) running = sum;
    }
    const auto of_first = [&](int most, double limit) { return __popc(__ballot_sync(kAllLanes, lane < most && running <= limit)); };
    int kept = candidates;
    if (ref.audio_top_p > 0 && ref.audio_top_p < 1) kept = 1 + of_first(candidates - 1, static_cast<double>(ref.audio_top_p) * sum);
    const double mass = __shfl_sync(kAllLanes, running, kept - 1);
    return id_of(sorted[of_first(kept - 1, static_cast<double>(u) * mass)]);
  }
};

}  // namespace sonant::cuda
