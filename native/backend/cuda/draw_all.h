// Draws from any number of candidates, by all threads of a block: what the quick way (draw_few.h) leaves over.
#pragma once

#include "backend/cuda/frame_items.h"

namespace sonant::cuda {

constexpr int kDrawThreads = 512;

// Counts over a block, one barrier each: two sets of numbers take turns, so that none is
// overwritten before all have read it.
class BlockCount {
 public:
  static constexpr int kSlots = 2 * kDrawThreads / kWarp;

  __device__ explicit BlockCount(int* slots) : slots_(slots) {}  // [kSlots]
  // The sum of `mine`; every thread gets it.
  __device__ int sum(int mine) {
    int* set = next();
    const int of_warp = __reduce_add_sync(kAllLanes, mine);
    if (threadIdx.x % kWarp == 0) set[threadIdx.x / kWarp] = of_warp;
    __syncthreads();
    int all = 0;
#pragma unroll
    for (int w = 0; w < kDrawThreads / kWarp; w++) all += set[w];
    return all;
  }
  // The largest of `mine`; every thread gets it.
  __device__ uint32_t largest(uint32_t mine) {
    int* set = next();
    const uint32_t of_warp = __reduce_max_sync(kAllLanes, mine);
    if (threadIdx.x % kWarp == 0) set[threadIdx.x / kWarp] = static_cast<int>(of_warp);
    __syncthreads();
    uint32_t most = 0;
#pragma unroll
    for (int w = 0; w < kDrawThreads / kWarp; w++) most = max(most, static_cast<uint32_t>(set[w]));
    return most;
  }
  // How many of `count` places fulfil something.
  template <class Holds>
  __device__ int of(int count, const Holds& holds) {
    int mine = 0;
    for (int i = threadIdx.x; i < count; i += kDrawThreads) mine += holds(i) ? 1 : 0;
    return sum(mine);
  }

 private:
  __device__ int* next() {
    turn_ ^= 1;
    return slots_ + turn_ * kDrawThreads / kWarp;
  }
  int* slots_;
  int turn_ = 0;
};

// A key that exactly `k` keys reach, or, if equal ones prevent that, the k-th largest. Bits are settled from the top; what is
// more than the largest key needs no count.
__device__ inline uint32_t threshold_of(BlockCount& counts, const uint32_t* keys, int size, int k, uint32_t largest) {
  uint32_t threshold = 0;
  for (int bit = 31; bit >= 0; bit--) {
    const uint32_t candidate = threshold | 1u << bit;
    if (candidate > largest) continue;
    const int count = counts.of(size, [&](int i) { return keys[i] >= candidate; });
    if (count >= k) threshold = candidate;
    if (count == k) break;
  }
  return threshold;
}

// Which of the candidates `u` falls on; `sums` are their weights' running sums.
__device__ inline int pick(BlockCount& counts, const double* sums, int count, float top_p, float u) {
  int kept = count;
  if (top_p > 0 && top_p < 1) {
    const double limit = static_cast<double>(top_p) * sums[count - 1];
    kept = 1 + counts.of(count - 1, [&](int i) { return sums[i] <= limit; });
  }
  const double target = static_cast<double>(u) * sums[kept - 1];
  return counts.of(kept - 1, [&](int i) { return sums[i] <= target; });
}

// Bytes of shared memory for a codebook of `size`: weights, candidates and their order, how many there are, what counts need.
__host__ __device__ constexpr size_t draw_all_bytes(int size) { return static_cast<size_t>(size) * (8 + 4 + 4) + sizeof(int) * (1 + BlockCount::kSlots); }

// The code that is drawn from keys [size], of which those that reach the k-th best count; `u` is
// the random number; on every thread. `mine`: the best key of this thread. `shared` has draw_all_bytes(size), 8 bytes aligned.
__device__ __noinline__ inline int draw_all(bool do_sample, float top_p, const uint32_t* keys, int size, int k, uint32_t mine, float u, unsigned char* shared) {
  auto* weights = reinterpret_cast<double*>(shared);         // [size], in order; then their running sums
  auto* candidates = reinterpret_cast<int*>(weights + size);  // [size]: ids, as found
  auto* sorted = candidates + size;                          // [size]: ids, in order
  auto* found = sorted + size;                               // how many candidates there are
  BlockCount counts(found + 1);
  if (threadIdx.x == 0) *found = 0;
  const uint32_t threshold = k < size ? threshold_of(counts, keys, size, k, counts.largest(mine)) : 0;
  __syncthreads();
  for (int i = threadIdx.x; i < size; i += kDrawThreads)
    if (keys[i] >= threshold) candidates[atomicAdd(found, 1)] = i;
  __syncthreads();
  const int count = *found;
  for (int c = threadIdx.x; c < count; c += kDrawThreads) {
    const int id = candidates[c];
    int rank = 0;
    for (int o = 0; o < count; o++) {
      const int other = candidates[o];
      rank += keys[other] > keys[id] || (keys[other] == keys[id] && other < id);
    }
    sorted[rank] = id;
  }
  __syncthreads();
  if (!do_sample) return sorted[0];
  const double top = static_cast<double>(unordered(keys[sorted[0]]));
  for (int c = threadIdx.x; c < count; c += kDrawThreads) weights[c] = exp(static_cast<double>(unordered(keys[sorted[c]])) - top);
  __syncthreads();
  if (threadIdx.x == 0) {
    double sum = 0;
    for (int c = 0; c < count; c++) weights[c] = sum += weights[c];
  }
  __syncthreads();
  return sorted[pick(counts, weights, count, top_p, u)];
}

}  // namespace sonant::cuda
