// The decisions of a frame on the device: whether there is one, and its codes. The same rules, in the
// same order and with the same counter-based generator as model/sampler.h; scores are fp32 and
// probabilities fp64, so that a draw differs from the CPU's only where two scores do.
#pragma once

#include "backend/cuda/draw_all.h"
#include "backend/cuda/draw_few.h"
#include "backend/cuda/outputs.h"
#include "backend/cuda/product.h"

namespace sonant::cuda {

__device__ inline bool choose_continue(float go_logit, float stop_logit, const FrameRef& item, float u, bool& failed) {
  if (!item.do_sample) return go_logit >= stop_logit;
  const float go = go_logit / item.text_temperature, stop = stop_logit / item.text_temperature;
  failed = !finite(go) || !finite(stop);
  const double p = 1.0 / (1.0 + exp(static_cast<double>(stop) - static_cast<double>(go)));
  const bool only_best = (item.text_top_k == 1 && go != stop) ||
                         (item.text_top_p > 0 && item.text_top_p < 1 && fmax(p, 1.0 - p) > item.text_top_p);
  return only_best ? go >= stop : static_cast<double>(u) < p;
}

// One warp an item: the first local row [item * stride] through the final norm and the
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

constexpr int kDecisions = 8;  // a block

// By a block of kDecisions warps. What is the same for all items is copied to `held` [4][d], shared memory, before the rows are
// waited for: the norm's vectors, then the two rows of the head.
__device__ inline void decide_items(const DecideArgs& args, float* held) {
  const int item = blockIdx.x * kDecisions + threadIdx.x / kWarp, lane = threadIdx.x % kWarp, d = args.d;
  copy_norm(args.norm, d, held, kDecisions * kWarp);
  copy_norm({args.continue_row, args.stop_row, 0}, d, held + 2 * d, kDecisions * kWarp);
  const FrameRef ref = args.items[min(item, args.n - 1)];
  const float u = philox_uniform(ref, 0), inverse = 1.0f / static_cast<float>(d);
  await_copies<0>();
  __syncthreads();
  await_previous();
  if (item >= args.n) return;
  float go = 0, stop = 0;
  each_normed(args.x + static_cast<size_t>(item) * args.stride * args.ld, d, inverse, {held, held + d, args.norm.eps}, lane, [&](int i, float a, float b) {
    go = fmaf(b, held[2 * d + i + 1], fmaf(a, held[2 * d + i], go));
    stop = fmaf(b, held[3 * d + i + 1], fmaf(a, held[3 * d + i], stop));
  });
  go = warp_sum(go), stop = warp_sum(stop);
  for (int k = lane; k < args.n_vq; k += kWarp) args.codes[item * args.n_vq + k] = args.pad;
  if (lane != 0) return;
  args.text_logits[2 * item] = go, args.text_logits[2 * item + 1] = stop;
  bool failed = !finite(go) || !finite(stop), stopped = false;
  if (!failed && !ref.force_continue) stopped = !choose_continue(go, stop, ref, u, failed);
  args.states[item] = {!failed && !stopped, !failed && stopped, failed};
}

// Draws the code of one codebook from its scores, and puts the code's
// embedding where the local transformer takes its next row from. If that has one layer, a code's query, key and
// value depend on nothing else; then they come from a table, and go where the projection would have put them.
struct DrawArgs {
  float* logits;        // [n][ld]
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

// Pairs of `count` values over a block, a few loads of a thread under way at once.
template <class Load, class Put>
__device__ inline void spread(int count, const Load& load, const Put& put) {
  constexpr int kAtOnce = 3, kStep = 2 * kDrawThreads;
#pragma unroll 1
  for (int first = 2 * static_cast<int>(threadIdx.x); first < count; first += kAtOnce * kStep) {
    float2 pairs[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) pairs[j] = load(min(first + j * kStep, count - 2));
#pragma unroll
    for (int j = 0; j < kAtOnce; j++)
      if (first + j * kStep < count) put(first + j * kStep, pairs[j]);
  }
}

// Bytes of shared memory for a codebook of `size`: keys, and what either way to draw needs.
__host__ __device__ constexpr size_t draw_bytes(int size) {
  const size_t all = draw_all_bytes(size), few = sizeof(Few);
  return (static_cast<size_t>(size) * 4 + 7) / 8 * 8 + (all > few ? all : few);
}

// A block an item; `shared` has draw_bytes(size). What is run here comes from the instruction cache of whichever
// multiprocessor takes the block, mostly for the first time, so it is kept short.
template <class T>
__global__ void __launch_bounds__(kDrawThreads) draw_kernel(DrawArgs args) {
  SONANT_DYNAMIC_SHARED(shared);
  constexpr int kHeld = 1024 / kDrawThreads;  // scores of a thread that are under way at once
  const int item = blockIdx.x, size = args.size;
  auto* keys = reinterpret_cast<uint32_t*>(shared);  // [size]: scores as ordered numbers
  unsigned char* scratch = shared + (static_cast<size_t>(size) * 4 + 7) / 8 * 8;
  auto* few = reinterpret_cast<Few*>(scratch);
  // What the sequence is and has drawn is older than the kernel before this one, whose scores are waited for.
  const FrameRef ref = args.items[item];
  FrameState& state = args.states[item];
  const bool active = state.active && args.book < ref.n_vq;
  uint32_t* seen = args.history + (static_cast<size_t>(ref.slot) * args.n_vq + args.book) * args.words;
  const float u = philox_uniform(ref, static_cast<uint32_t>(args.book + 1));
  const float temperature = ref.do_sample ? ref.audio_temperature : 1.0f;
  uint32_t held_seen[kHeld];
#pragma unroll
  for (int slot = 0; slot < kHeld; slot++) {
    const int i = min(static_cast<int>(threadIdx.x) + slot * kDrawThreads, size - 1);
    held_seen[slot] = seen[i / 32] >> (i % 32) & 1;
  }
  few->clear();
  await_previous();
  int code = args.pad;
  if (active) {
    const float* logits = args.logits + static_cast<size_t>(item) * args.ld;
    float held[kHeld];
#pragma unroll
    for (int slot = 0; slot < kHeld; slot++) held[slot] = logits[min(static_cast<int>(threadIdx.x) + slot * kDrawThreads, size - 1)];
    int bad = 0;
    uint32_t mine[kHeld] = {};
    const auto put_key = [&](int i, float score, uint32_t is_seen, uint32_t& key) {
      if (is_seen) score = score < 0 ? score * ref.repetition_penalty : score / ref.repetition_penalty;
      score = score / temperature;
      bad |= !finite(score);
      keys[i] = key = ordered(score);
    };
#pragma unroll
    for (int slot = 0; slot < kHeld; slot++)
      if (const int i = static_cast<int>(threadIdx.x) + slot * kDrawThreads; i < size) put_key(i, held[slot], held_seen[slot], mine[slot]);
    uint32_t most = max(mine[0], mine[kHeld - 1]);
#pragma unroll 1
    for (int i = static_cast<int>(threadIdx.x) + kHeld * kDrawThreads; i < size; i += kDrawThreads) {
      uint32_t key;
      put_key(i, logits[i], seen[i / 32] >> (i % 32) & 1, key);
      most = max(most, key);
    }
    few->note(most);
    if (__syncthreads_or(bad)) {
      if (threadIdx.x == 0) state.active = 0, state.failed = 1;
    } else {
      const int k = !ref.do_sample ? 1 : ref.audio_top_k > 0 && ref.audio_top_k < size ? ref.audio_top_k : size;
      code = k <= kFew && size <= kHeld * kDrawThreads ? few->draw(ref, mine, k, u) : -1;
      if (code < 0) {
        __syncthreads();
        code = draw_all(ref.do_sample, ref.audio_top_p, keys, size, k, most, u, scratch);
      }
      if (threadIdx.x == 0) {
        seen[code / 32] |= 1u << (code % 32);
        args.codes[item * args.n_vq + args.book] = code;
      }
    }
  }
  if (!args.x) return;
  // A frame that is over keeps its place in the batch; nobody reads what becomes of it.
  const auto* row = static_cast<const T*>(args.embedding) + static_cast<size_t>(code == args.pad ? 0 : code) * args.d;
  float* x = args.x + static_cast<size_t>(item) * args.ldx;
  const float keep = code == args.pad ? 0.0f : 1.0f;
  const float* from = args.qkv ? args.qkv + static_cast<size_t>(code == args.pad ? 0 : code) * 3 * args.d : nullptr;
  T* page = static_cast<T*>(args.pages[item]);
  // The embedding and what the projection makes of it, as one row of d and 3 d values.
  spread(
      from ? 4 * args.d : args.d,
      [&](int i) { return i < args.d ? make_float2(to_float(row[i]), to_float(row[i + 1])) : *reinterpret_cast<const float2*>(from + i - args.d); },
      [&](int i, float2 pair) {
        if (i < args.d) return store_pair(x + i, pair.x * keep, pair.y * keep);
        store_qkv(QkvPlace(i - args.d, args.layout), args.layout, 0, args.position, args.q + static_cast<size_t>(item) * args.d, page, pair.x, pair.y);
      });
}

}  // namespace sonant::cuda
