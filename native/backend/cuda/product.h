// Products of a weight matrix with a batch of rows.
//
// In bfloat16 the tensor cores multiply 16 outputs by 8 rows at a time. Each output's sum is made of
// kSegments partial sums over fixed stretches of the input, added in order; a small batch gives each
// stretch to a warp of its own, a large one runs through them in turn, and the sums are the same to
// the bit. The matrix lies in the order in which lanes read it (pack.h): 16 bytes a lane and product.
//
// In fp32, for parity and for the encoder, each output is one sum in order.
#pragma once

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

// A row of n (even) values, in pairs: lane l has pairs l, l + 32, ... Up to kHeldValues stay in registers.
constexpr int kHeldValues = 1024;

class NormedRow {
 public:
  __device__ NormedRow(const float* row, int n, float eps, int lane) : row_(row), n_(n), lane_(lane) {
    float sum = 0;
    each([&](int slot, int i) {
      const float2 pair = *reinterpret_cast<const float2*>(row + i);
      if (slot < kHeld) held_[slot] = pair;
      sum += pair.x + pair.y;
    });
    mean_ = warp_sum(sum) / static_cast<float>(n);
    float squares = 0;
    each([&](int slot, int i) {
      const float2 pair = at(slot, i);
      squares += (pair.x - mean_) * (pair.x - mean_) + (pair.y - mean_) * (pair.y - mean_);
    });
    scale_ = rsqrtf(warp_sum(squares) / static_cast<float>(n) + eps);
  }
  // Calls use(i, a, b) with the normed values i and i + 1 of this lane's pairs.
  template <class Use>
  __device__ void values(const Norm& norm, const Use& use) const {
    each([&](int slot, int i) {
      const float2 pair = at(slot, i), weight = *reinterpret_cast<const float2*>(norm.weight + i), bias = *reinterpret_cast<const float2*>(norm.bias + i);
      use(i, (pair.x - mean_) * scale_ * weight.x + bias.x, (pair.y - mean_) * scale_ * weight.y + bias.y);
    });
  }

 private:
  static constexpr int kHeld = kHeldValues / (2 * kWarp);

  template <class Use>
  __device__ void each(const Use& use) const {
#pragma unroll
    for (int slot = 0; slot < kHeld; slot++)
      if (const int i = 2 * (slot * kWarp + lane_); i < n_) use(slot, i);
    for (int i = kHeldValues + 2 * lane_; i < n_; i += 2 * kWarp) use(kHeld, i);
  }
  __device__ float2 at(int slot, int i) const { return slot < kHeld ? held_[slot] : *reinterpret_cast<const float2*>(row_ + i); }

  const float* row_;
  const int n_, lane_;
  float mean_, scale_;
  float2 held_[kHeld];
};

// One warp a row.
template <class T>
__device__ inline void norm_row(const float* row, int n, const Norm& norm, T* out, int lane) {
  NormedRow(row, n, norm.eps, lane).values(norm, [&](int i, float a, float b) { store_pair(out + i, a, b); });
}

struct Fragment {
  uint4 half[2];
};

__device__ inline Fragment load_weights(const PackedMatrix& w, int tile, int block, int lane) {
  const auto* at = static_cast<const uint4*>(w.data) + (static_cast<size_t>(tile) * w.blocks() + block) * 2 * kWarp;
  return {{at[lane], at[kWarp + lane]}};
}

__device__ inline void multiply_block(float (&sum)[4], const Fragment& w, uint4 x) {
  multiply_add(sum, w.half[0].x, w.half[0].y, w.half[0].z, w.half[0].w, x.x, x.y);
  multiply_add(sum, w.half[1].x, w.half[1].y, w.half[1].z, w.half[1].w, x.z, x.w);
}

__device__ inline int segment_begin(const PackedMatrix& w, int segment) { return segment * w.blocks() / kSegments; }

// A block of 8 warps makes 16 outputs of up to 8 * N rows: one warp a segment. `x` is fp32 with a norm
// in front, or bf16 padded with zeros to whole blocks. blockIdx = (tile of outputs, group of rows).
constexpr int kAhead = 4;  // blocks of weights that are on their way

template <int N, bool kNormed, class Out>
__global__ void __launch_bounds__(kSegments* kWarp) split_product_kernel(PackedMatrix w, const void* x, int ld, int m, Norm norm, Out out) {
  SONANT_DYNAMIC_SHARED(shared);
  auto* partial = reinterpret_cast<float*>(shared);  // [segment][N][4][lane]
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  const int tile = blockIdx.x, row0 = blockIdx.y * kTileRows * N;
  const int begin = segment_begin(w, warp), end = segment_begin(w, warp + 1);
  Fragment weights[kAhead];
#pragma unroll
  for (int i = 0; i < kAhead; i++)
    if (begin + i < end) weights[i] = load_weights(w, tile, begin + i, lane);
  await_previous();

  const int ld_in = kNormed ? w.padded_k() + kSpread : ld;
  const bf16* in;
  if constexpr (kNormed) {
    auto* rows = reinterpret_cast<bf16*>(partial + kSegments * N * 4 * kWarp);
    for (int r = warp; r < kTileRows * N; r += kSegments) {
      if (row0 + r >= m) break;
      norm_row(static_cast<const float*>(x) + static_cast<size_t>(row0 + r) * ld, w.k, norm, rows + static_cast<size_t>(r) * ld_in, lane);
      for (int i = w.k + 2 * lane; i < w.padded_k(); i += 2 * kWarp) store_pair(rows + static_cast<size_t>(r) * ld_in + i, 0, 0);
    }
    __syncthreads();
    in = rows;
  } else {
    in = static_cast<const bf16*>(x) + static_cast<size_t>(row0) * ld;
  }
  const bf16* row[N];  // places past the last row repeat it
#pragma unroll
  for (int j = 0; j < N; j++) row[j] = in + static_cast<size_t>(min(j * kTileRows + g, m - 1 - row0)) * ld_in + 8 * t;

  float sum[N][4] = {};
  for (int block = begin; block < end; block += kAhead) {
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
      if (block + i >= end) break;
      const Fragment now = weights[i];
      if (block + i + kAhead < end) weights[i] = load_weights(w, tile, block + i + kAhead, lane);
#pragma unroll
      for (int j = 0; j < N; j++) multiply_block(sum[j], now, load16(row[j] + (block + i) * kBlockK));
    }
  }
#pragma unroll
  for (int j = 0; j < N; j++)
#pragma unroll
    for (int i = 0; i < 4; i++) partial[((warp * N + j) * 4 + i) * kWarp + lane] = sum[j][i];
  __syncthreads();

  for (int e = threadIdx.x; e < N * 2 * kWarp; e += kSegments * kWarp) {
    const int j = e / (2 * kWarp), column = e / kWarp % 2, owner = e % kWarp;
    const int at = row0 + j * kTileRows + 2 * (owner % 4) + column, feature = tile * kTileN + 2 * (owner / 4);
    float a = 0, b = 0;
#pragma unroll
    for (int s = 0; s < kSegments; s++) {
      a += partial[((s * N + j) * 4 + column) * kWarp + owner];
      b += partial[((s * N + j) * 4 + column + 2) * kWarp + owner];
    }
    if (at < m && feature < w.n) out(feature, at, a, b);
  }
}

// A block of 8 warps makes 64 outputs of 64 rows: a warp 16 outputs of 32 rows, all segments in turn. Rows come
// through shared memory, the next stages on their way while one is multiplied. blockIdx = (4 tiles of
// outputs, group of rows). `x` is bf16 as above.
constexpr int kLargeTiles = 4;   // of outputs
constexpr int kLargeRows = 64;
constexpr int kLargeWarps = 8;
constexpr int kLargeBlocks = 2;  // blocks of inputs a stage
constexpr int kLargeStages = 4;
constexpr int kLargeLd = kLargeBlocks * kBlockK + kSpread;
constexpr size_t kLargeBytes = size_t{kLargeStages} * kLargeRows * kLargeLd * sizeof(bf16);

template <class Out>
__global__ void __launch_bounds__(kLargeWarps* kWarp, 2) large_product_kernel(PackedMatrix w, const bf16* x, int ld, int m, Out out) {
  SONANT_DYNAMIC_SHARED(shared);
  constexpr int kThreads = kLargeWarps * kWarp, kColumns = kLargeRows / kTileRows / 2;
  constexpr int kVectors = kLargeBlocks * kBlockK / 8;
  auto* stages = reinterpret_cast<bf16*>(shared);  // [kLargeStages][kLargeRows][kLargeLd]
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  const int tile = blockIdx.x * kLargeTiles + warp % kLargeTiles, row0 = blockIdx.y * kLargeRows, half = warp / kLargeTiles * kLargeRows / 2;
  const int blocks = w.blocks();
  const bool idle = tile >= w.tiles();  // takes part in the copies only

  Fragment weights[kAhead];
#pragma unroll
  for (int i = 0; i < kAhead; i++)
    if (i < blocks && !idle) weights[i] = load_weights(w, tile, i, lane);
  await_previous();

  const auto fetch = [&](int stage) {
#pragma unroll
    for (int e = threadIdx.x; e < kLargeRows * kVectors; e += kThreads) {
      const int r = e / kVectors, v = e % kVectors, k = stage * kLargeBlocks * kBlockK + 8 * v;
      if (k < blocks * kBlockK) copy16(stages + (stage % kLargeStages * kLargeRows + r) * kLargeLd + 8 * v, x + static_cast<size_t>(min(row0 + r, m - 1)) * ld + k);
    }
    close_copies();
  };
#pragma unroll
  for (int stage = 0; stage + 1 < kLargeStages; stage++) fetch(stage);

  float total[kColumns][4] = {}, sum[kColumns][4] = {};
  int segment = 0, boundary = segment_begin(w, 1);
  static_assert(kAhead == 2 * kLargeBlocks, "two stages a round");
  for (int first = 0; first < blocks; first += kAhead) {
#pragma unroll
    for (int i = 0; i < kAhead; i++) {
      const int block = first + i;
      if (block >= blocks) break;
      if (i % kLargeBlocks == 0) {
        const int stage = block / kLargeBlocks;
        await_copies<kLargeStages - 2>();
        __syncthreads();  // this stage is there, and nobody reads the one before any more
        fetch(stage + kLargeStages - 1);
      }
      if (idle) continue;
      for (; block == boundary; boundary = segment_begin(w, ++segment + 1))
#pragma unroll
        for (int j = 0; j < kColumns; j++)
#pragma unroll
          for (int c = 0; c < 4; c++) total[j][c] += sum[j][c], sum[j][c] = 0;
      const Fragment now = weights[i];
      if (block + kAhead < blocks) weights[i] = load_weights(w, tile, block + kAhead, lane);
      const bf16* rows = stages + (block / kLargeBlocks % kLargeStages * kLargeRows + half + g) * kLargeLd + i % kLargeBlocks * kBlockK + 8 * t;
#pragma unroll
      for (int j = 0; j < kColumns; j++) multiply_block(sum[j], now, load16(rows + j * kTileRows * kLargeLd));
    }
  }
  if (idle) return;
#pragma unroll
  for (int j = 0; j < kColumns; j++) {
#pragma unroll
    for (int column = 0; column < 2; column++) {
      const int row = row0 + half + j * kTileRows + 2 * t + column, feature = tile * kTileN + 2 * g;
      if (row < m && feature < w.n) out(feature, row, total[j][column] + sum[j][column], total[j][column + 2] + sum[j][column + 2]);
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
    if (row < m && feature < w.n) out(feature, row, sum[r][0], sum[r][1]);
  }
}

// One warp a row. `places` sends row i to row places[i] of the output, or nowhere when
// it is negative; absent: to row i.
constexpr int kNormWarps = 4;  // a block

template <class T>
__global__ void __launch_bounds__(kNormWarps* kWarp) norm_rows_kernel(const float* x, int ld, int m, int n, Norm norm, T* out, int ld_out, const int* places) {
  const int row = blockIdx.x * kNormWarps + threadIdx.x / kWarp;
  await_previous();
  if (row >= m) return;
  const int place = places ? places[row] : row;
  if (place < 0) return;
  norm_row(x + static_cast<size_t>(row) * ld, n, norm, out + static_cast<size_t>(place) * ld_out, threadIdx.x % kWarp);
}

// fp32 to the type that products take.
template <class T>
__global__ void convert_rows_kernel(const float* x, int ld, int n, T* out, int ld_out) {
  await_previous();
  for (int i = 2 * threadIdx.x; i < n; i += 2 * blockDim.x) {
    const float* at = x + static_cast<size_t>(blockIdx.x) * ld + i;
    store_pair(out + static_cast<size_t>(blockIdx.x) * ld_out + i, at[0], at[1]);
  }
}

}  // namespace sonant::cuda
