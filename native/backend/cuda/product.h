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
constexpr int kColumnTiles = 8;  // row tiles that a warp of a large product holds

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

// Mean and 1 / deviation of a row, the same on every lane.
__device__ inline float2 row_statistics(const float* row, int n, float eps, int lane) {
  float sum = 0;
  for (int i = lane; i < n; i += kWarp) sum += row[i];
  const float mean = warp_sum(sum) / static_cast<float>(n);
  float squares = 0;
  for (int i = lane; i < n; i += kWarp) squares += (row[i] - mean) * (row[i] - mean);
  return make_float2(mean, rsqrtf(warp_sum(squares) / static_cast<float>(n) + eps));
}

__device__ inline float normed(float x, float2 statistics, const Norm& norm, int i) {
  return (x - statistics.x) * statistics.y * norm.weight[i] + norm.bias[i];
}

// One warp a row.
template <class T>
__device__ inline void norm_row(const float* row, int n, const Norm& norm, T* out, int lane) {
  const float2 statistics = row_statistics(row, n, norm.eps, lane);
  for (int i = 2 * lane; i < n; i += 2 * kWarp) store_pair(out + i, normed(row[i], statistics, norm, i), normed(row[i + 1], statistics, norm, i + 1));
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
template <int N, bool kNormed, class Out>
__global__ void __launch_bounds__(kSegments* kWarp) split_product_kernel(PackedMatrix w, const void* x, int ld, int m, Norm norm, Out out) {
  SONANT_DYNAMIC_SHARED(shared);
  auto* partial = reinterpret_cast<float*>(shared);  // [segment][N][4][lane]
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  const int tile = blockIdx.x, row0 = blockIdx.y * kTileRows * N;
  const int begin = segment_begin(w, warp), end = segment_begin(w, warp + 1);

  const int ld_in = kNormed ? w.padded_k() + 8 : ld;  // the 8 keep rows in different banks
  const bf16* in;
  if constexpr (kNormed) {
    auto* rows = reinterpret_cast<bf16*>(partial + kSegments * N * 4 * kWarp);
    for (int r = warp; r < kTileRows * N; r += kSegments) {
      const int row = min(row0 + r, m - 1);
      norm_row(static_cast<const float*>(x) + static_cast<size_t>(row) * ld, w.k, norm, rows + static_cast<size_t>(r) * ld_in, lane);
      for (int i = w.k + 2 * lane; i < w.padded_k(); i += 2 * kWarp) store_pair(rows + static_cast<size_t>(r) * ld_in + i, 0, 0);
    }
    __syncthreads();
    in = rows;
  } else {
    in = static_cast<const bf16*>(x);
  }

  float sum[N][4] = {};
#pragma unroll 4
  for (int block = begin; block < end; block++) {
    const Fragment weights = load_weights(w, tile, block, lane);
#pragma unroll
    for (int j = 0; j < N; j++) {
      const int r = j * kTileRows + g;
      const size_t row = kNormed ? r : min(row0 + r, m - 1);
      multiply_block(sum[j], weights, *reinterpret_cast<const uint4*>(in + row * ld_in + block * kBlockK + 8 * t));
    }
  }
#pragma unroll
  for (int j = 0; j < N; j++)
#pragma unroll
    for (int i = 0; i < 4; i++) partial[((warp * N + j) * 4 + i) * kWarp + lane] = sum[j][i];
  __syncthreads();

  for (int e = threadIdx.x; e < N * 2 * kWarp; e += kSegments * kWarp) {
    const int j = e / (2 * kWarp), column = e / kWarp % 2, owner = e % kWarp;
    const int row = row0 + j * kTileRows + 2 * (owner % 4) + column, feature = tile * kTileN + 2 * (owner / 4);
    float a = 0, b = 0;
    for (int s = 0; s < kSegments; s++) {
      a += partial[((s * N + j) * 4 + column) * kWarp + owner];
      b += partial[((s * N + j) * 4 + column + 2) * kWarp + owner];
    }
    if (row < m && feature < w.n) out(feature, row, a, b);
  }
}

// Each of 4 warps makes 16 outputs of 64 rows, all segments in turn; the rows lie in shared memory a few
// blocks at a time. blockIdx = (4 tiles of outputs, group of rows). `x` is bf16 as above.
constexpr int kLargeWarps = 4;
constexpr int kLargeBlocks = 4;  // blocks of inputs in shared memory

template <class Out>
__global__ void __launch_bounds__(kLargeWarps* kWarp) large_product_kernel(PackedMatrix w, const bf16* x, int ld, int m, Out out) {
  SONANT_DYNAMIC_SHARED(shared);
  constexpr int kRows = kTileRows * kColumnTiles, kLd = kLargeBlocks * kBlockK + 8;
  auto* rows = reinterpret_cast<bf16*>(shared);  // [kRows][kLd]
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, g = lane / 4, t = lane % 4;
  const int tile = blockIdx.x * kLargeWarps + warp, row0 = blockIdx.y * kRows;
  const bool idle = tile >= w.tiles();  // takes part in the copies only

  float total[kColumnTiles][4] = {}, sum[kColumnTiles][4] = {};
  int segment = 0;
  for (int first = 0; first < w.blocks(); first += kLargeBlocks) {
    const int count = min(kLargeBlocks, w.blocks() - first), vectors = count * kBlockK / 8;
    for (int e = threadIdx.x; e < kRows * vectors; e += kLargeWarps * kWarp) {
      const int r = e / vectors, v = e % vectors, row = min(row0 + r, m - 1);
      *reinterpret_cast<uint4*>(rows + r * kLd + 8 * v) = *reinterpret_cast<const uint4*>(x + static_cast<size_t>(row) * ld + first * kBlockK + 8 * v);
    }
    __syncthreads();
    for (int block = first; block < first + count && !idle; block++) {
      for (; block == segment_begin(w, segment + 1); segment++)
#pragma unroll
        for (int j = 0; j < kColumnTiles; j++)
#pragma unroll
          for (int i = 0; i < 4; i++) total[j][i] += sum[j][i], sum[j][i] = 0;
      const Fragment weights = load_weights(w, tile, block, lane);
#pragma unroll
      for (int j = 0; j < kColumnTiles; j++)
        multiply_block(sum[j], weights, *reinterpret_cast<const uint4*>(rows + (j * kTileRows + g) * kLd + (block - first) * kBlockK + 8 * t));
    }
    __syncthreads();
  }
  if (idle) return;
#pragma unroll
  for (int j = 0; j < kColumnTiles; j++) {
#pragma unroll
    for (int column = 0; column < 2; column++) {
      const int row = row0 + j * kTileRows + 2 * t + column, feature = tile * kTileN + 2 * g;
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

// One warp a row; 8 rows a block. `places` sends row i to row places[i] of the output, or nowhere when
// it is negative; absent: to row i.
template <class T>
__global__ void norm_rows_kernel(const float* x, int ld, int m, int n, Norm norm, T* out, int ld_out, const int* places) {
  const int row = blockIdx.x * 8 + threadIdx.x / kWarp;
  if (row >= m) return;
  const int place = places ? places[row] : row;
  if (place < 0) return;
  norm_row(x + static_cast<size_t>(row) * ld, n, norm, out + static_cast<size_t>(place) * ld_out, threadIdx.x % kWarp);
}

// fp32 to the type that products take.
template <class T>
__global__ void convert_rows_kernel(const float* x, int ld, int n, T* out, int ld_out) {
  for (int i = 2 * threadIdx.x; i < n; i += 2 * blockDim.x) {
    const float* at = x + static_cast<size_t>(blockIdx.x) * ld + i;
    store_pair(out + static_cast<size_t>(blockIdx.x) * ld_out + i, at[0], at[1]);
  }
}

}  // namespace sonant::cuda
