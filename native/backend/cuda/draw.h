// The decisions of a frame on the device: whether there is one, and its codes. The same rules, in the
// same order and with the same counter-based generator as model/sampler.h; scores are fp32 and
// probabilities fp64, so that a draw differs from the CPU's only where two scores do.
#pragma once

#include "backend/cuda/outputs.h"
#include "backend/cuda/product.h"

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

__device__ inline bool choose_continue(float go_logit, float stop_logit, const FrameRef& item, float u, bool& failed) {
  if (!item.do_sample) return go_logit >= stop_logit;
  const float go = go_logit / item.text_temperature, stop = stop_logit / item.text_temperature;
  failed = !finite(go) || !finite(stop);
  const double p = 1.0 / (1.0 + exp(static_cast<double>(stop) - static_cast<double>(go)));
  const bool only_best = (item.text_top_k == 1 && go != stop) ||
                         (item.text_top_p > 0 && item.text_top_p < 1 && fmax(p, 1.0 - p) > item.text_top_p);
  return only_best ? go >= stop : static_cast<double>(u) < p;
}

// One warp an item, 8 items a block: the first local row [item * stride] through the final norm and the
// two rows of the text head. Sets the states, fills the codes with padding.
struct DecideArgs {
  const float* x;
  int ld, stride, n, d;
  Norm norm;
  const float *continue_row, *stop_row;  // [d]
  const FrameRef* items;
  FrameState* states;
  float* text_logits;  // [n][2]
  int* codes;          // [n][n_vq]
  int n_vq, pad;
};

__device__ inline void decide_item(const DecideArgs& args, int item, int lane) {
  const float* row = args.x + static_cast<size_t>(item) * args.stride * args.ld;
  float go = 0, stop = 0;
  NormedRow(row, args.d, args.norm.eps, lane).values(args.norm, [&](int i, float a, float b) {
    go = fmaf(b, args.continue_row[i + 1], fmaf(a, args.continue_row[i], go));
    stop = fmaf(b, args.stop_row[i + 1], fmaf(a, args.stop_row[i], stop));
  });
  go = warp_sum(go), stop = warp_sum(stop);
  for (int k = lane; k < args.n_vq; k += kWarp) args.codes[item * args.n_vq + k] = args.pad;
  if (lane != 0) return;
  const FrameRef& ref = args.items[item];
  args.text_logits[2 * item] = go, args.text_logits[2 * item + 1] = stop;
  bool failed = !finite(go) || !finite(stop), stopped = false;
  if (!failed && !ref.force_continue) stopped = !choose_continue(go, stop, ref, philox_uniform(ref, 0), failed);
  args.states[item] = {!failed && !stopped, !failed && stopped, failed};
}

// A block an item: draws the code of one codebook from its scores, and puts the code's
// embedding where the local transformer takes its next row from. If that has one layer, a code's query, key and
// value depend on nothing else; then they come from a table, and go where the projection would have put them.
struct DrawArgs {
  const float* logits;  // [n][ld]
  int ld, size, book, n_vq, pad;
  const FrameRef* items;
  FrameState* states;
  uint32_t* history;    // [slot][n_vq][words]: the codes that each sequence has drawn
  int words;
  int* codes;           // [n][n_vq]
  const void* embedding;  // [size][d] of this codebook
  float* x;             // [n][ldx]; null after the last book
  int ldx, d;
  const float* qkv;     // [size][3 d]; null: there is no table
  float* q;             // [n][d]
  void* const* pages;   // [n]: of the local cache
  CacheLayout layout;
  int position;         // of the next row
};

constexpr int kDrawThreads = 512;

// Orders floats as unsigned numbers.
__device__ inline uint32_t ordered(float x) {
  const uint32_t bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ inline float unordered(uint32_t key) { return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key); }

// Bytes of shared memory for a codebook of `size`.
__host__ __device__ constexpr size_t draw_bytes(int size) { return static_cast<size_t>(size) * (8 + 4 + 4 + 4 + 4) + 64; }

// How many of `count` places fulfil something; every thread gets it.
template <class Holds>
__device__ inline int count_of(int count, const Holds& holds) {
  int found = 0;
  for (int i = 0; i < count; i += kDrawThreads) {
    const int at = i + static_cast<int>(threadIdx.x);
    found += __syncthreads_count(at < count && holds(at));
  }
  return found;
}

// A key that exactly `k` keys reach, or, if equal ones prevent that, the k-th largest. Bits are settled from the top.
__device__ inline uint32_t threshold_of(const uint32_t* keys, int size, int k) {
  uint32_t threshold = 0;
  for (int bit = 31; bit >= 0; bit--) {
    const uint32_t candidate = threshold | 1u << bit;
    const int count = count_of(size, [&](int i) { return keys[i] >= candidate; });
    if (count >= k) threshold = candidate;
    if (count == k) break;
  }
  return threshold;
}

// Which of the candidates `u` falls on; `sums` are their weights' running sums.
__device__ inline int pick(const double* sums, int count, float top_p, float u) {
  int kept = count;
  if (top_p > 0 && top_p < 1) {
    const double limit = static_cast<double>(top_p) * sums[count - 1];
    kept = 1 + count_of(count - 1, [&](int i) { return sums[i] <= limit; });
  }
  const double target = static_cast<double>(u) * sums[kept - 1];
  return count_of(kept - 1, [&](int i) { return sums[i] <= target; });
}

template <class T>
__global__ void __launch_bounds__(kDrawThreads) draw_kernel(DrawArgs args) {
  SONANT_DYNAMIC_SHARED(shared);
  const int item = blockIdx.x, size = args.size;
  auto* weights = reinterpret_cast<double*>(shared);          // [size], in order; then their running sums
  auto* keys = reinterpret_cast<uint32_t*>(weights + size);   // [size]: scores as ordered numbers
  auto* candidates = reinterpret_cast<int*>(keys + size);     // [size]: ids, as found
  auto* sorted = candidates + size;                           // [size]: ids, in order
  auto* found = sorted + size;                                // how many candidates there are
  await_previous();
  const FrameRef ref = args.items[item];
  FrameState& state = args.states[item];
  const bool active = state.active;
  int code = args.pad;
  if (active && args.book < ref.n_vq) {
    uint32_t* seen = args.history + (static_cast<size_t>(ref.slot) * args.n_vq + args.book) * args.words;
    const float temperature = ref.do_sample ? ref.audio_temperature : 1.0f;
    int bad = 0;
    for (int i = threadIdx.x; i < size; i += kDrawThreads) {
      float score = args.logits[static_cast<size_t>(item) * args.ld + i];
      if (seen[i / 32] >> (i % 32) & 1) score = score < 0 ? score * ref.repetition_penalty : score / ref.repetition_penalty;
      score = score / temperature;
      bad |= !finite(score);
      keys[i] = ordered(score);
    }
    if (threadIdx.x == 0) *found = 0;
    if (__syncthreads_or(bad)) {
      if (threadIdx.x == 0) state.active = 0, state.failed = 1;
    } else {
      const int k = !ref.do_sample ? 1 : ref.audio_top_k > 0 && ref.audio_top_k < size ? ref.audio_top_k : size;
      const uint32_t threshold = k < size ? threshold_of(keys, size, k) : 0;
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
      int place = 0;
      if (ref.do_sample) {
        const double top = static_cast<double>(unordered(keys[sorted[0]]));
        for (int c = threadIdx.x; c < count; c += kDrawThreads) weights[c] = exp(static_cast<double>(unordered(keys[sorted[c]])) - top);
        __syncthreads();
        if (threadIdx.x == 0) {
          double sum = 0;
          for (int c = 0; c < count; c++) weights[c] = sum += weights[c];
        }
        __syncthreads();
        place = pick(weights, count, ref.audio_top_p, philox_uniform(ref, static_cast<uint32_t>(args.book + 1)));
      }
      code = sorted[place];
      if (threadIdx.x == 0) {
        seen[code / 32] |= 1u << (code % 32);
        args.codes[item * args.n_vq + args.book] = code;
      }
    }
  }
  if (!args.x) return;
  // A frame that is over keeps its place in the batch; nobody reads what becomes of it.
  const auto* row = static_cast<const T*>(args.embedding) + static_cast<size_t>(code == args.pad ? 0 : code) * args.d;
  for (int i = threadIdx.x; i < args.d; i += kDrawThreads) args.x[static_cast<size_t>(item) * args.ldx + i] = code == args.pad ? 0.0f : to_float(row[i]);
  if (!args.qkv) return;
  const float* from = args.qkv + static_cast<size_t>(code == args.pad ? 0 : code) * 3 * args.d;
  T* page = static_cast<T*>(args.pages[item]);
  for (int feature = 2 * threadIdx.x; feature < 3 * args.d; feature += 2 * kDrawThreads)
    store_qkv(QkvPlace(feature, args.layout), args.layout, 0, args.position, args.q + static_cast<size_t>(item) * args.d, page, from[feature], from[feature + 1]);
}

}  // namespace sonant::cuda
