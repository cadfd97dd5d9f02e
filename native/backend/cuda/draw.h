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
  each_normed(row, args.d, args.norm, lane, [&](int i, float a, float b) {
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

constexpr int kDrawThreads = 512;

// Orders floats as unsigned numbers.
__device__ inline uint32_t ordered(float x) {
  const uint32_t bits = __float_as_uint(x);
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}
__device__ inline float unordered(uint32_t key) { return __uint_as_float(key & 0x80000000u ? key & 0x7fffffffu : ~key); }

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

// Draws from a few of the best as one warp finds them, its keys in registers: lane l has those of ids l, l + 32, ...
constexpr int kFew = kWarp;

// The best of `keys` in the order of draws, with their ids, into [2 kFew] places each: at least k <= kFew of them, and more where
// others equal the last. Returns how many, or -1 if they are too many for this way. `ids` and `best` are scratch [2 kFew].
__device__ inline int find_few(const uint32_t (&keys)[kWarp], int k, int* ids, uint32_t* best, int* sorted_ids, uint32_t* sorted, int lane) {
  // As many lanes as are asked for have a key of at least `least`, so no smaller one is wanted.
  uint32_t most = 0;
#pragma unroll
  for (int j = 0; j < kWarp; j++) most = max(most, keys[j]);
  int rank = 0;
#pragma unroll
  for (int l = 0; l < kWarp; l++) {
    const uint32_t other = __shfl_sync(kAllLanes, most, l);
    rank += other > most || (other == most && l < lane);
  }
  const uint32_t least = __shfl_sync(kAllLanes, most, __ffs(__ballot_sync(kAllLanes, rank == k - 1)) - 1);
  int mine = 0;
#pragma unroll
  for (int j = 0; j < kWarp; j++) mine += keys[j] >= least;
  int before = mine;  // of the lanes up to this one, then without it
#pragma unroll
  for (int step = 1; step < kWarp; step *= 2) {
    const int other = __shfl_up_sync(kAllLanes, before, step);
    if (lane >= step) before += other;
  }
  const int count = __shfl_sync(kAllLanes, before, kWarp - 1);
  if (count > 2 * kFew) return -1;
  before -= mine;
#pragma unroll
  for (int j = 0; j < kWarp; j++)
    if (keys[j] >= least) ids[before] = j * kWarp + lane, best[before++] = keys[j];
  __syncwarp();
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int own = half * kWarp + lane;
    if (own >= count) continue;
    const uint32_t key = best[own];
    const int id = ids[own];
    int place = 0;
#pragma unroll 8
    for (int o = 0; o < count; o++) place += best[o] > key || (best[o] == key && ids[o] < id);
    sorted_ids[place] = id, sorted[place] = key;
  }
  __syncwarp();
  const uint32_t threshold = sorted[k - 1];
  int found = 0;
#pragma unroll
  for (int half = 0; half < 2; half++) {
    const int own = half * kWarp + lane;
    found += __popc(__ballot_sync(kAllLanes, own < count && sorted[own] >= threshold));
  }
  return found <= kFew ? found : -1;
}

// What one warp draws from `count` <= kFew candidates, the best first; on every lane.
__device__ inline int draw_few(const FrameRef& ref, uint32_t head, const int* ids, const uint32_t* keys, int count, int lane) {
  if (!ref.do_sample) return ids[0];
  const double top = static_cast<double>(unordered(keys[0]));
  const double weight = lane < count ? exp(static_cast<double>(unordered(keys[lane])) - top) : 0.0;
  double sum = 0, running = 0;  // of all; up to this lane
#pragma unroll
  for (int c = 0; c < kFew; c++) {
    const double next = __shfl_sync(kAllLanes, weight, c);
    if (c < count) sum += next;
    if (c <= lane) running = sum;
  }
  const auto of_first = [&](int n, double limit) { return __popc(__ballot_sync(kAllLanes, lane < n && running <= limit)); };
  int kept = count;
  if (ref.audio_top_p > 0 && ref.audio_top_p < 1) kept = 1 + of_first(count - 1, static_cast<double>(ref.audio_top_p) * sum);
  const double mass = __shfl_sync(kAllLanes, running, kept - 1);
  return ids[of_first(kept - 1, static_cast<double>(philox_uniform(ref, head)) * mass)];
}

// Pairs of `count` values over a block, a few loads of a thread under way at once.
template <class Load, class Put>
__device__ inline void spread(int count, const Load& load, const Put& put) {
  constexpr int kAtOnce = 5, kStep = 2 * kDrawThreads;
  for (int first = 2 * static_cast<int>(threadIdx.x); first < count; first += kAtOnce * kStep) {
    float2 pairs[kAtOnce];
#pragma unroll
    for (int j = 0; j < kAtOnce; j++) pairs[j] = load(min(first + j * kStep, count - 2));
#pragma unroll
    for (int j = 0; j < kAtOnce; j++)
      if (first + j * kStep < count) put(first + j * kStep, pairs[j]);
  }
}

// Bytes of shared memory for a codebook of `size`: weights, keys, candidates, their order; how many there are, what counts
// need, and the few.
__host__ __device__ constexpr size_t draw_bytes(int size) {
  return static_cast<size_t>(size) * (8 + 4 + 4 + 4) + sizeof(int) * (1 + BlockCount::kSlots + 4 * 2 * kFew);
}

// A block an item; `shared` has draw_bytes(size).
template <class T>
__global__ void __launch_bounds__(kDrawThreads) draw_kernel(DrawArgs args) {
  SONANT_DYNAMIC_SHARED(shared);
  constexpr int kHeld = 1024 / kDrawThreads;  // scores of a thread that are under way at once
  const int item = blockIdx.x, size = args.size;
  auto* weights = reinterpret_cast<double*>(shared);          // [size], in order; then their running sums
  auto* keys = reinterpret_cast<uint32_t*>(weights + size);   // [size]: scores as ordered numbers
  auto* candidates = reinterpret_cast<int*>(keys + size);     // [size]: ids, as found
  auto* sorted = candidates + size;                           // [size]: ids, in order
  auto* found = sorted + size;                                // how many candidates there are
  BlockCount counts(found + 1);
  // What the sequence is and has drawn is older than the kernel before this one, whose scores are waited for.
  const FrameRef ref = args.items[item];
  FrameState& state = args.states[item];
  const bool active = state.active;
  uint32_t* seen = args.history + (static_cast<size_t>(ref.slot) * args.n_vq + args.book) * args.words;
  uint32_t held_seen[kHeld];
#pragma unroll
  for (int slot = 0; slot < kHeld; slot++) held_seen[slot] = seen[min(static_cast<int>(threadIdx.x) + slot * kDrawThreads, size - 1) / 32];
  await_previous();
  const float* logits = args.logits + static_cast<size_t>(item) * args.ld;
  float held[kHeld];
#pragma unroll
  for (int slot = 0; slot < kHeld; slot++) held[slot] = logits[min(static_cast<int>(threadIdx.x) + slot * kDrawThreads, size - 1)];
  int code = args.pad;
  if (active && args.book < ref.n_vq) {
    const float temperature = ref.do_sample ? ref.audio_temperature : 1.0f;
    int bad = 0;
    uint32_t mine = 0;
    const auto put_key = [&](int i, float score, uint32_t word) {
      if (word >> (i % 32) & 1) score = score < 0 ? score * ref.repetition_penalty : score / ref.repetition_penalty;
      score = score / temperature;
      bad |= !finite(score);
      keys[i] = ordered(score);
      mine = max(mine, keys[i]);
    };
#pragma unroll
    for (int slot = 0; slot < kHeld; slot++)
      if (const int i = static_cast<int>(threadIdx.x) + slot * kDrawThreads; i < size) put_key(i, held[slot], held_seen[slot]);
    for (int i = static_cast<int>(threadIdx.x) + kHeld * kDrawThreads; i < size; i += kDrawThreads) put_key(i, logits[i], seen[i / 32]);
    if (__syncthreads_or(bad)) {
      if (threadIdx.x == 0) state.active = 0, state.failed = 1;
    } else {
      const int k = !ref.do_sample ? 1 : ref.audio_top_k > 0 && ref.audio_top_k < size ? ref.audio_top_k : size;
      const bool few = k <= kFew && size >= kWarp && size <= kWarp * kWarp;
      if (few && threadIdx.x < kWarp) {
        const int lane = threadIdx.x;
        int* scratch = found + 1 + BlockCount::kSlots;  // 4 times [2 kFew]
        uint32_t own[kWarp];
#pragma unroll
        for (int j = 0; j < kWarp; j++) own[j] = j * kWarp + lane < size ? keys[j * kWarp + lane] : 0;
        auto* best = reinterpret_cast<uint32_t*>(scratch + 2 * kFew);
        auto* best_keys = reinterpret_cast<uint32_t*>(scratch + 6 * kFew);
        const int count = find_few(own, k, scratch, best, scratch + 4 * kFew, best_keys, lane);
        const int drawn = count < 0 ? -1 : draw_few(ref, static_cast<uint32_t>(args.book + 1), scratch + 4 * kFew, best_keys, count, lane);
        if (lane == 0) *found = drawn;
      }
      __syncthreads();
      code = few ? *found : -1;
      __syncthreads();
      if (code < 0) {
        if (threadIdx.x == 0) *found = 0;
        __syncthreads();
        const uint32_t threshold = k < size ? threshold_of(counts, keys, size, k, counts.largest(mine)) : 0;
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
          place = pick(counts, weights, count, ref.audio_top_p, philox_uniform(ref, static_cast<uint32_t>(args.book + 1)));
        }
        code = sorted[place];
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
