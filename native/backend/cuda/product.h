// Products of a weight matrix with a batch of rows.
//
// In bfloat16 the tensor cores multiply 16 outputs by 8 rows at a time. Each output's sum is made of
// kSegments partial sums over fixed stretches of the input, added in order; a small batch gives each
// stretch to a warp of its own, a large one runs through them in turn, and the sums are the same to
// the bit. The matrix lies in the order in which lanes read it (pack.h): 16 bytes a lane and product.
//
// In fp32, for parity and for the encoder, each output is one sum in order.
#pragma once

#include <utility>

#include "backend/cuda/device.h"

namespace sonant::cuda {

constexpr int kSegments = 8;   // partial sums of an output, and warps of a split product
constexpr int kBlockK = 32;    // inputs that one lane's 16 bytes of a row cover together
constexpr int kTileN = 16;     // outputs of a tile
constexpr int kTileRows = 8;   // rows of a tile
constexpr int kSpread = 32;    // values between rows in shared memory, so that two neighbouring rows lie in different banks

struct PackedMatrix {
  const void* data = nullptr;
  int n = 0, k = 0;  // outputs (even), inputs
  __host__ __device__ int tiles() const { return (n + kTileN - 1) / kTileN; }
  __host__ __device__ int blocks() const { return (k + kBlockK - 1) / kBlockK; }
  __host__ __device__ int padded_k() const { return blocks() * kBlockK; }
};

// Layer norm in front of a product; no weights: none.
struct Norm {
  const float *weight = nullptr, *bias = nullptr;
  float eps = 0;
};

// A row of n (even) values, in pairs on the lanes of a warp: lane l has pairs l, l + 32, ... The first
// kHeldValues in registers, all their loads under way at once.
constexpr int kHeldValues = 768;

class HeldPairs {
 public:
  __device__ HeldPairs(const float* from, int n, int lane) : from_(from + 2 * lane), left_(n - 2 * lane) {
#pragma unroll
    for (int slot = 0; slot < kSlots; slot++) held_[slot] = *reinterpret_cast<const float2*>(from_ + min(2 * slot * kWarp, left_ - 2));
  }
  // Calls use(i, pair) for the pairs of values i and i + 1, i counted from the lane's first.
  template <class Use>
  __device__ void each(const Use& use) const {
#pragma unroll
    for (int slot = 0; slot < kSlots; slot++)
      if (2 * slot * kWarp < left_) use(2 * slot * kWarp, held_[slot]);
#pragma unroll 1
    for (int i = kHeldValues; i < left_; i += 2 * kWarp) use(i, *reinterpret_cast<const float2*>(from_ + i));
  }

 private:
  static constexpr int kSlots = kHeldValues / (2 * kWarp);

  const float* from_;
  const int left_;
  float2 held_[kSlots];
};

// Calls use(i, a, b) with the normed values i and i + 1 of a row of n, each on one lane of a warp. `inverse` is 1 / n, which is
// worked out before the row is waited for.
template <class Use>
__device__ inline void each_normed(const float* row, int n, float inverse, const Norm& norm, int lane, const Use& use) {
  const HeldPairs values(row, n, lane);
  float sum = 0;
  values.each([&](int, float2 x) { sum += x.x + x.y; });
  const float mean = warp_sum(sum) * inverse;
  float squares = 0;
  values.each([&](int, float2 x) {
    const float a = x.x - mean, b = x.y - mean;
    squares = fmaf(b, b, fmaf(a, a, squares));
  });
  const float scale = rsqrtf(warp_sum(squares) * inverse + norm.eps);
  const float *weight = norm.weight + 2 * lane, *bias = norm.bias + 2 * lane;
  values.each([&](int i, float2 x) {
    const float2 w = *reinterpret_cast<const float2*>(weight + i), b = *reinterpret_cast<const float2*>(bias + i);
    use(2 * lane + i, fmaf((x.x - mean) * scale, w.x, b.x), fmaf((x.y - mean) * scale, w.y, b.y));
  });
}

// The vectors of a norm of rows of n on their way to shared memory [2][n], by all `threads` threads of a block.
__device__ inline void copy_norm(const Norm& norm, int n, float* to, int threads) {
  if (n % 4 == 0) {
#pragma unroll 1
    for (int i = 4 * static_cast<int>(threadIdx.x); i < 2 * n; i += 4 * threads) copy16(to + i, i < n ? norm.weight + i : norm.bias + (i - n));
  } else {
#pragma unroll 1
    for (int i = threadIdx.x; i < 2 * n; i += threads) to[i] = i < n ? norm.weight[i] : norm.bias[i - n];
  }
  close_copies();
}

struct Fragment {
  uint4 half[2];
};

constexpr int kFragments = 2 * kWarp;  // of 16 bytes, a block of weights

// Where a lane's first 16 bytes of a block lie; the others lie kWarp further on.
__device__ inline const uint4* weights_of(const PackedMatrix& w, int tile, int block, int lane) {
  return static_cast<const uint4*>(w.data) + (static_cast<size_t>(tile) * w.blocks() + block) * kFragments + lane;
}

__device__ inline Fragment load_weights(const PackedMatrix& w, int tile, int block, int lane) {
  const uint4* at = weights_of(w, tile, block, lane);
  return {{at[0], at[kWarp]}};
}

__device__ inline void multiply_block(float (&sum)[4], const Fragment& w, uint4 x) {
  multiply_add(sum, w.half[0].x, w.half[0].y, w.half[0].z, w.half[0].w, x.x, x.y);
  multiply_add(sum, w.half[1].x, w.half[1].y, w.half[1].z, w.half[1].w, x.z, x.w);
}

// Blocks that are under way at once for N tiles of rows.
template <int N>
constexpr int kBatch = N <= 4 ? 4 : 2;

// Adds the product of `count` blocks with N tiles of rows; weights_at(i, b) is the fragment of block i + b, b being
// known when it is compiled.
template <int N, class WeightsAt>
__device__ inline void multiply_blocks(float (&sum)[N][4], const bf16* const (&row)[N], int count, const WeightsAt& weights_at) {
  for (int i = 0; i < count; i += kBatch<N>) {
    uint4 x[kBatch<N>][N];
#pragma unroll
    for (int b = 0; b < kBatch<N>; b++)
#pragma unroll
      for (int j = 0; j < N; j++) x[b][j] = load16(row[j] + min(i + b, count - 1) * kBlockK);
#pragma unroll
    for (int b = 0; b < kBatch<N>; b++) {
      if (i + b >= count) break;
      const Fragment weights = weights_at(i, b);
#pragma unroll
      for (int j = 0; j < N; j++) multiply_block(sum[j], weights, x[b][j]);
    }
  }
}

// The outputs of a tile and N tiles of rows from row0 on, as the threads of a block put them together from the
// segments' sums [segment][N][4][lane]: a pair of outputs of one row each, or a few.
template <int N, class Out>
class Results {
 public:
  __device__ Results(int tile, int row0, int m, int n, const Out& out) {
#pragma unroll
    for (int i = 0; i < kCount; i++) {
      const int e = threadIdx.x + i * kThreads, owner = e % kWarp;
      row_[i] = row0 + e / (2 * kWarp) * kTileRows + 2 * (owner % 4) + e / kWarp % 2, feature_[i] = tile * kTileN + 2 * (owner / 4);
      place_[i] = (e / (2 * kWarp) * 4 + e / kWarp % 2) * kWarp + owner;
      if (e >= N * 2 * kWarp || row_[i] >= m || feature_[i] >= n) row_[i] = -1;
      else early_[i] = out.early(feature_[i], row_[i]);
    }
  }
  __device__ void begin(const Out& out) {
#pragma unroll
    for (int i = 0; i < kCount; i++)
      if (row_[i] >= 0) old_[i] = out.old(feature_[i], row_[i]);
  }
  __device__ void put(const float* partial, const Out& out) const {
#pragma unroll
    for (int i = 0; i < kCount; i++) {
      if (row_[i] < 0) continue;
      float a = 0, b = 0;
#pragma unroll
      for (int s = 0; s < kSegments; s++) {
        a += partial[s * N * 4 * kWarp + place_[i]];
        b += partial[s * N * 4 * kWarp + place_[i] + 2 * kWarp];
      }
      out(feature_[i], row_[i], a, b, early_[i], old_[i]);
    }
  }

 private:
  static constexpr int kThreads = kSegments * kWarp, kCount = (N * 2 * kWarp + kThreads - 1) / kThreads;
  int row_[kCount], feature_[kCount], place_[kCount];
  decltype(std::declval<const Out&>().early(0, 0)) early_[kCount]{};
  decltype(std::declval<const Out&>().old(0, 0)) old_[kCount]{};
};

__device__ inline int segment_begin(const PackedMatrix& w, int segment) { return segment * w.blocks() / kSegments; }

// Where a split product's rows come from: bf16, padded with zeros to whole blocks, where they are;
struct PlainRows {
  static constexpr bool kMade = false;
  const bf16* x;
  int ld;
};

// or made by the block itself, in shared memory: of fp32 rows with a norm in front,
struct NormedRows32 {
  static constexpr bool kMade = true;
  const float* x;
  int ld;
  Norm norm;

  // Bytes of shared memory beside the rows.
  static constexpr size_t extra_bytes(int k) { return size_t{2} * static_cast<size_t>(k) * sizeof(float); }
  // Before what the rows are made of is there.
  __device__ void begin(int k, float* extra) const { copy_norm(norm, k, extra, kSegments * kWarp); }
  // Rows [row0, row0 + count) into rows [count][ld_rows], by all warps of the block.
  __device__ void make(const float* extra, int k, float inverse, int row0, int count, bf16* rows, int ld_rows, int warp, int lane) const {
    await_copies<0>();
    __syncthreads();
    const Norm held{extra, extra + k, norm.eps};
#pragma unroll 1
    for (int r = warp; r < count; r += kSegments)
      each_normed(x + static_cast<size_t>(row0 + r) * ld, k, inverse, held, lane, [&](int i, float a, float b) { store_pair(rows + static_cast<size_t>(r) * ld_rows + i, a, b); });
  }
};

// or likewise as they are: value c of row r is value c * patch + r % patch of row r / patch of x.
struct GatheredRows32 {
  static constexpr bool kMade = true;
  const float* x;
  int ld, patch;
  float inverse_patch;

  static constexpr size_t extra_bytes(int) { return 0; }
  __device__ void begin(int, float*) const {}
  __device__ void make(const float*, int k, float, int row0, int count, bf16* rows, int ld_rows, int warp, int lane) const {
#pragma unroll 1
    for (int r = warp; r < count; r += kSegments) {
      const int row = row0 + r, whole = static_cast<int>((static_cast<float>(row) + 0.5f) * inverse_patch);
      const float* from = x + static_cast<size_t>(whole) * ld + (row - whole * patch);
#pragma unroll 4
      for (int c = 2 * lane; c < k; c += 2 * kWarp) store_pair(rows + static_cast<size_t>(r) * ld_rows + c, from[c * patch], c + 1 < k ? from[(c + 1) * patch] : 0.0f);
    }
  }
};

// Blocks of weights of a warp that do not fit its registers and so go to shared memory, before the rows are waited for.
template <int N>
__host__ __device__ inline int late_blocks(const PackedMatrix& w) {
  const int most = (w.blocks() + kSegments - 1) / kSegments;
  return most > kBatch<N> ? most - kBatch<N> : 0;
}

// Shared memory of a block.
template <int N, class In>
inline size_t split_bytes(const PackedMatrix& w) {
  size_t bytes = size_t{kSegments} * N * 4 * kWarp * sizeof(float) + size_t{kSegments} * late_blocks<N>(w) * kFragments * 16;
  if constexpr (In::kMade) bytes += In::extra_bytes(w.k) + size_t{kTileRows} * N * static_cast<size_t>(w.padded_k() + kSpread) * sizeof(bf16);
  return bytes;
}

// A block of 8 warps makes 16 outputs of up to 8 * N rows: one warp a segment. blockIdx = (tile of outputs, group of rows).
template <int N, class In, class Out>
__global__ void __launch_bounds__(kSegments* kWarp, N == 1 ? 2 : 1) split_product_kernel(PackedMatrix w, In input, int m, Out out) {
  SONANT_DYNAMIC_SHARED(shared);
  auto* partial = reinterpret_cast<float*>(shared);  // [segment][N][4][lane]
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  const int tile = blockIdx.x, row0 = blockIdx.y * kTileRows * N;
  const int begin = segment_begin(w, warp), end = segment_begin(w, warp + 1);
  Fragment weights[kBatch<N>];  // of the blocks that come next
#pragma unroll
  for (int i = 0; i < kBatch<N>; i++) weights[i] = load_weights(w, tile, min(begin + i, w.blocks() - 1), lane);
  auto* late = reinterpret_cast<uint4*>(partial + kSegments * N * 4 * kWarp) + warp * late_blocks<N>(w) * kFragments + lane;
#pragma unroll 1
  for (int i = begin + kBatch<N>; i < end; i++) {
    const uint4* at = weights_of(w, tile, i, lane);
    uint4* to = late + (i - begin - kBatch<N>) * kFragments;
    copy16(to, at), copy16(to + kWarp, at + kWarp);
  }
  close_copies();
  Results<N, Out> results(tile, row0, m, w.n, out);

  const bf16* in;
  int ld;
  if constexpr (In::kMade) {
    auto* rows = reinterpret_cast<bf16*>(partial + kSegments * N * 4 * kWarp + kSegments * late_blocks<N>(w) * kFragments * 4);
    const int count = min(kTileRows * N, m - row0);
    ld = w.padded_k() + kSpread;
    auto* extra = reinterpret_cast<float*>(rows + kTileRows * N * ld);
    input.begin(w.k, extra);
#pragma unroll 1
    for (int r = warp; r < count; r += kSegments)
#pragma unroll 1
      for (int i = w.k + 2 * lane; i < w.padded_k(); i += 2 * kWarp) store_pair(rows + static_cast<size_t>(r) * ld + i, 0, 0);
    const float inverse = 1.0f / static_cast<float>(w.k);
    await_previous();
    results.begin(out);
    input.make(extra, w.k, inverse, row0, count, rows, ld, warp, lane);
    __syncthreads();
    in = rows;
  } else {
    await_previous();
    results.begin(out);
    in = input.x + static_cast<size_t>(row0) * input.ld;
    ld = input.ld;
  }
  const bf16* row[N];  // places past the last row repeat it
#pragma unroll
  for (int j = 0; j < N; j++) row[j] = in + static_cast<size_t>(min(j * kTileRows + g, m - 1 - row0)) * ld + begin * kBlockK + 8 * t;

  float sum[N][4] = {};
  await_copies<0>();  // each lane's own
  multiply_blocks<N>(sum, row, end - begin, [&](int i, int b) {
    const Fragment now = weights[b];
    if (begin + i + b + kBatch<N> < end) weights[b] = {{late[(i + b) * kFragments], late[(i + b) * kFragments + kWarp]}};
    return now;
  });
#pragma unroll
  for (int j = 0; j < N; j++)
#pragma unroll
    for (int i = 0; i < 4; i++) partial[((warp * N + j) * 4 + i) * kWarp + lane] = sum[j][i];
  __syncthreads();
  results.put(partial, out);
}

// A block of 4 warps makes 64 outputs of 64 rows: a warp 32 outputs of 32 rows, all segments in turn. Weights and rows
// come through shared memory, the next stages on their way while one is multiplied. blockIdx = (4 tiles
// of outputs, group of rows). `x` is bf16 as above.
constexpr int kLargeTiles = 4;   // of outputs
constexpr int kLargeRows = 64;
constexpr int kLargeWarps = 4;
constexpr int kLargeStages = 3;
constexpr int kLargeBlocks = 2;  // blocks of inputs a stage
constexpr int kLargeLd = kLargeBlocks * kBlockK + kSpread;
constexpr int kLargeWeights = kLargeTiles * kLargeBlocks * 2 * kWarp;                                     // of a stage, in 16 bytes
constexpr int kLargeStage = kLargeWeights + kLargeRows * kLargeLd / 8;                                    // likewise, rows included
constexpr size_t kLargeBytes = size_t{kLargeStages} * kLargeStage * 16;

template <class Out>
__global__ void __launch_bounds__(kLargeWarps* kWarp, 3) large_product_kernel(PackedMatrix w, const bf16* x, int ld, int m, Out out) {
  SONANT_DYNAMIC_SHARED(shared);
  constexpr int kThreads = kLargeWarps * kWarp, kTiles = 2, kColumns = 4;  // of a warp
  constexpr int kVectors = kLargeBlocks * kBlockK / 8, kCopies = kLargeRows * kVectors / kThreads, kWeightCopies = kLargeWeights / kThreads;
  auto* stages = reinterpret_cast<uint4*>(shared);  // each: weights [tile][block][half][lane], rows [kLargeRows][kLargeLd]
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  const int tile0 = blockIdx.x * kLargeTiles, row0 = blockIdx.y * kLargeRows, half = warp / 2 * kColumns * kTileRows;
  const int blocks = w.blocks(), n_stages = (blocks + kLargeBlocks - 1) / kLargeBlocks;

  // Tiles past the last one repeat it, rows likewise; what they give is dropped.
  const uint4* weights[kWeightCopies];
#pragma unroll
  for (int c = 0; c < kWeightCopies; c++) {
    const int e = threadIdx.x + c * kThreads, within = e % (kLargeBlocks * 2 * kWarp);
    weights[c] = static_cast<const uint4*>(w.data) + static_cast<size_t>(min(tile0 + e / (kLargeBlocks * 2 * kWarp), w.tiles() - 1)) * blocks * 2 * kWarp + within;
  }
  const bf16* rows[kCopies];
  int place[kCopies];
#pragma unroll
  for (int c = 0; c < kCopies; c++) {
    const int e = threadIdx.x + c * kThreads, r = e / kVectors, v = e % kVectors;
    rows[c] = x + static_cast<size_t>(min(row0 + r, m - 1)) * ld + 8 * v;
    place[c] = kLargeWeights + r * (kLargeLd / 8) + v;
  }
  // The last stage may have a block less than there is room for.
  const auto fetch_weights = [&](int stage) {
    uint4* to = stages + stage % kLargeStages * kLargeStage;
    if (stage < n_stages)
#pragma unroll
      for (int c = 0; c < kWeightCopies; c++)
        if ((stage + 1) * kLargeBlocks <= blocks || (threadIdx.x + c * kThreads) % (kLargeBlocks * 2 * kWarp) < 2 * kWarp)
          copy16(to + threadIdx.x + c * kThreads, weights[c] + stage * kLargeBlocks * 2 * kWarp);
  };
  const auto fetch_rows = [&](int stage) {
    uint4* to = stages + stage % kLargeStages * kLargeStage;
    if (stage < n_stages)
#pragma unroll
      for (int c = 0; c < kCopies; c++)
        if ((stage + 1) * kLargeBlocks <= blocks || threadIdx.x % kVectors < kVectors / kLargeBlocks) copy16(to + place[c], rows[c] + stage * kLargeBlocks * kBlockK);
    close_copies();
  };
#pragma unroll
  for (int stage = 0; stage + 1 < kLargeStages; stage++) fetch_weights(stage);
  await_previous();
#pragma unroll
  for (int stage = 0; stage + 1 < kLargeStages; stage++) fetch_rows(stage);

  float total[kTiles][kColumns][4] = {}, sum[kTiles][kColumns][4] = {};
  int segment = 0, boundary = segment_begin(w, 1);
  for (int stage = 0; stage < n_stages; stage++) {
    await_copies<kLargeStages - 2>();
    __syncthreads();  // this stage is there, and nobody reads the one before any more
    fetch_weights(stage + kLargeStages - 1);
    fetch_rows(stage + kLargeStages - 1);
    const uint4* here = stages + stage % kLargeStages * kLargeStage;
    const uint4* own = here + warp % 2 * kTiles * kLargeBlocks * 2 * kWarp + lane;
    const auto* in = reinterpret_cast<const bf16*>(here + kLargeWeights) + (half + g) * kLargeLd + 8 * t;
#pragma unroll
    for (int b = 0; b < kLargeBlocks; b++) {
      const int block = stage * kLargeBlocks + b;
      if (b > 0 && block >= blocks) break;
      uint4 column[kColumns];
#pragma unroll
      for (int j = 0; j < kColumns; j++) column[j] = load16(in + j * kTileRows * kLargeLd + b * kBlockK);
      for (; block == boundary; boundary = segment_begin(w, ++segment + 1))
#pragma unroll
        for (int i = 0; i < kTiles; i++)
#pragma unroll
          for (int j = 0; j < kColumns; j++)
#pragma unroll
            for (int c = 0; c < 4; c++) total[i][j][c] += sum[i][j][c], sum[i][j][c] = 0;
#pragma unroll
      for (int i = 0; i < kTiles; i++) {
        const uint4* at = own + (i * kLargeBlocks + b) * 2 * kWarp;
        const Fragment fragment{{at[0], at[kWarp]}};
#pragma unroll
        for (int j = 0; j < kColumns; j++) multiply_block(sum[i][j], fragment, column[j]);
      }
    }
  }
  // What the results need is read for all rows of a tile before the first of them is stored, so that the loads wait together.
#pragma unroll
  for (int i = 0; i < kTiles; i++) {
    const int feature = (tile0 + warp % 2 * kTiles + i) * kTileN + 2 * g;
    if (feature >= w.n) break;
    decltype(out.early(0, 0)) early[kColumns][2];
    decltype(out.old(0, 0)) old[kColumns][2];
#pragma unroll
    for (int j = 0; j < kColumns; j++)
#pragma unroll
      for (int c = 0; c < 2; c++) {
        const int row = min(row0 + half + j * kTileRows + 2 * t + c, m - 1);
        early[j][c] = out.early(feature, row), old[j][c] = out.old(feature, row);
      }
#pragma unroll
    for (int j = 0; j < kColumns; j++)
#pragma unroll
      for (int c = 0; c < 2; c++) {
        const int row = row0 + half + j * kTileRows + 2 * t + c;
        if (row < m) out(feature, row, total[i][j][c] + sum[i][j][c], total[i][j][c + 2] + sum[i][j][c + 2], early[j][c], old[j][c]);
      }
  }
}

// fp32: a block makes 32 outputs of 32 rows. The matrix is [n][k]. blockIdx = (outputs / 32, rows / 32).
constexpr int kFloatTile = 32;
constexpr int kFloatThreads = 256;

template <class Out>
__global__ void __launch_bounds__(kFloatThreads) float_product_kernel(PackedMatrix w, const float* x, int ld, int m, Out out) {
  SONANT_DYNAMIC_SHARED(shared);
  constexpr int kLd = kFloatTile + 1;
  auto* weights = reinterpret_cast<float*>(shared);     // [input][output]
  auto* rows = weights + kFloatTile * kLd;              // [input][row]
  const int pair = threadIdx.x % 16, column = threadIdx.x / 16;
  const int n0 = blockIdx.x * kFloatTile, row0 = blockIdx.y * kFloatTile;
  await_previous();
  float sum[2][2] = {};
  for (int k0 = 0; k0 < w.k; k0 += kFloatTile) {
    for (int e = threadIdx.x; e < kFloatTile * kFloatTile; e += kFloatThreads) {
      const int k = e % kFloatTile, i = e / kFloatTile;
      const bool inside = k0 + k < w.k;
      weights[k * kLd + i] = inside && n0 + i < w.n ? static_cast<const float*>(w.data)[static_cast<size_t>(n0 + i) * w.k + k0 + k] : 0.0f;
      rows[k * kLd + i] = inside && row0 + i < m ? x[static_cast<size_t>(row0 + i) * ld + k0 + k] : 0.0f;
    }
    __syncthreads();
    for (int k = 0; k < min(kFloatTile, w.k - k0); k++)
#pragma unroll
      for (int r = 0; r < 2; r++)
#pragma unroll
        for (int i = 0; i < 2; i++) sum[r][i] = fmaf(weights[k * kLd + 2 * pair + i], rows[k * kLd + column + 16 * r], sum[r][i]);
    __syncthreads();
  }
  for (int r = 0; r < 2; r++) {
    const int row = row0 + column + 16 * r, feature = n0 + 2 * pair;
    if (row < m && feature < w.n) out(feature, row, sum[r][0], sum[r][1], out.early(feature, row), out.old(feature, row));
  }
}

// One warp a row. `places` sends row i to row places[i] of the output, or nowhere when
// it is negative; absent: to row i.
constexpr int kNormWarps = 4;  // a block

template <class T>
__global__ void __launch_bounds__(kNormWarps* kWarp) norm_rows_kernel(const float* x, int ld, int m, int n, Norm norm, T* out, int ld_out, const int* places) {
  const int row = blockIdx.x * kNormWarps + threadIdx.x / kWarp;
  SONANT_DYNAMIC_SHARED(shared);
  auto* vectors = reinterpret_cast<float*>(shared);  // [2][n]
  copy_norm(norm, n, vectors, kNormWarps * kWarp);
  await_copies<0>();
  __syncthreads();
  const float inverse = 1.0f / static_cast<float>(n);
  await_previous();
  if (row >= m) return;
  const int place = places ? places[row] : row;
  if (place < 0) return;
  T* to = out + static_cast<size_t>(place) * ld_out;
  each_normed(x + static_cast<size_t>(row) * ld, n, inverse, Norm{vectors, vectors + n, norm.eps}, threadIdx.x % kWarp, [&](int i, float a, float b) { store_pair(to + i, a, b); });
}

}  // namespace sonant::cuda
