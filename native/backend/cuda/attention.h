// Attention of a few rows of one stream to the keys in their cache. The keys are seen in chunks of a
// page, one key a lane; chunk c belongs to part c % kParts, each part runs through its chunks in
// order, and the parts are put together in order. So a row's result depends on its position alone:
// not on its neighbours, not on how a prompt was cut.
#pragma once

#include "backend/cuda/rows.h"

namespace sonant::cuda {

constexpr int kParts = 8;

// Tiles of consecutive rows of one stream.
struct Tiles {
  const int2* list = nullptr;  // [tiles] first row and count; absent: `size` rows each
  int size = 1;
};

template <int R>
struct PartSums {
  float most[R], total[R];
};

// One part for up to R rows. `q` [R][HD] is in shared memory, as is `weights` [R][32] of this warp alone; lane l
// sums values of dims [l HD / 32, (l + 1) HD / 32).
template <class T, int HD, int R>
__device__ inline void attend_part(const Rows& rows, const CacheLayout& layout, int layer, int head, int row0, int count, const float* q, float* weights,
                                   int part, int parts, PartSums<R>& sums, float (&sum)[R][HD / kWarp], int lane) {
  constexpr int kDims = HD / kWarp;
  int64_t position[R], first[R], from = 0, to = 0;
#pragma unroll
  for (int r = 0; r < R; r++) {
    const int64_t at = rows.position(row0 + min(r, count - 1));
    position[r] = at;
    first[r] = rows.first(at);
    from = r == 0 ? first[r] : min(from, first[r]);
    to = r == 0 ? at : max(to, at);
    sums.most[r] = -INFINITY;
    sums.total[r] = 0;
#pragma unroll
    for (int d = 0; d < kDims; d++) sum[r][d] = 0;
  }
  const int64_t first_chunk = from / kPageRows, last_chunk = to / kPageRows;
  for (int64_t chunk = first_chunk + ((part - first_chunk) % parts + parts) % parts; chunk <= last_chunk; chunk += parts) {
    const T* page = static_cast<const T*>(rows.page(row0, chunk)) + layout.head(layer, head);
    float score[R] = {};
    const int64_t key = chunk * kPageRows + lane;
    if (key >= from && key <= to) {
#pragma unroll
      for (int d = 0; d < HD; d += kVector<T>) {
        float k[kVector<T>];
        unpack(page + static_cast<size_t>(d) * kPageRows + lane * kVector<T>, k);
#pragma unroll
        for (int r = 0; r < R; r++)
#pragma unroll
          for (int i = 0; i < kVector<T>; i++) score[r] = fmaf(q[r * HD + d + i], k[i], score[r]);
      }
    }
#pragma unroll
    for (int r = 0; r < R; r++) {
      const bool seen = key >= first[r] && key <= position[r];
      const float most = fmaxf(sums.most[r], warp_max(seen ? score[r] : -INFINITY));
      const float keep = sums.most[r] == -INFINITY ? 0.0f : expf(sums.most[r] - most);
      score[r] = seen ? expf(score[r] - most) : 0.0f;
      sums.total[r] = sums.total[r] * keep + warp_sum(score[r]);
      sums.most[r] = most;
#pragma unroll
      for (int d = 0; d < kDims; d++) sum[r][d] *= keep;
      weights[r * kWarp + lane] = score[r];
    }
    __syncwarp();
    const T* values = page + static_cast<size_t>(kPageRows) * HD + lane * kDims;
    const int begin = static_cast<int>(max(from - chunk * kPageRows, int64_t{0}));
    const int end = static_cast<int>(min(to - chunk * kPageRows, int64_t{kPageRows - 1}));
    for (int j = begin; j <= end; j++) {
      float v[kDims];
#pragma unroll
      for (int d = 0; d < kDims; d++) v[d] = to_float(values[static_cast<size_t>(j) * HD + d]);
#pragma unroll
      for (int r = 0; r < R; r++)
#pragma unroll
        for (int d = 0; d < kDims; d++) sum[r][d] = fmaf(weights[r * kWarp + j], v[d], sum[r][d]);
    }
    __syncwarp();  // the next chunk's weights take their place
  }
}

// A block of 8 warps for a tile of up to R rows and one head. blockIdx = (tile, head).
template <class T, int HD, int R>
__global__ void __launch_bounds__(kParts* kWarp) attend_kernel(const float* q, int ldq, int m, Rows rows, Tiles tiles, CacheLayout layout, int layer, T* out, int ld_out) {
  constexpr int kDims = HD / kWarp;
  SONANT_DYNAMIC_SHARED(shared);
  auto* queries = reinterpret_cast<float*>(shared);          // [R][HD]
  auto* parts = queries + R * HD;                            // [kParts][R][HD]
  auto* totals = parts + kParts * R * HD;                    // [kParts][R][2]: most, total
  auto* weights = totals + kParts * R * 2;                   // [kParts][R][32]
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, head = blockIdx.y;
  int row0 = blockIdx.x * tiles.size, count = min(tiles.size, m - row0);
  if (tiles.list) row0 = tiles.list[blockIdx.x].x, count = tiles.list[blockIdx.x].y;
  for (int e = threadIdx.x; e < R * HD; e += kParts * kWarp) {
    const int r = min(e / HD, count - 1), d = e % HD;
    queries[e] = d < layout.head_dim ? q[static_cast<size_t>(row0 + r) * ldq + head * layout.head_dim + d] : 0.0f;
  }
  __syncthreads();
  PartSums<R> sums;
  float sum[R][kDims];
  attend_part<T, HD, R>(rows, layout, layer, head, row0, count, queries, weights + warp * R * kWarp, warp, kParts, sums, sum, lane);
#pragma unroll
  for (int r = 0; r < R; r++) {
#pragma unroll
    for (int d = 0; d < kDims; d++) parts[(warp * R + r) * HD + lane * kDims + d] = sum[r][d];
    if (lane == 0) totals[(warp * R + r) * 2] = sums.most[r], totals[(warp * R + r) * 2 + 1] = sums.total[r];
  }
  __syncthreads();
  for (int e = 2 * threadIdx.x; e < count * HD; e += 2 * kParts * kWarp) {
    const int r = e / HD, d = e % HD;
    if (d >= layout.head_dim) continue;
    float most = -INFINITY, total = 0, a = 0, b = 0;
    for (int p = 0; p < kParts; p++) most = fmaxf(most, totals[(p * R + r) * 2]);
    for (int p = 0; p < kParts; p++) {
      const float* part = parts + (p * R + r) * HD + d;
      if (totals[(p * R + r) * 2] == -INFINITY) continue;
      const float factor = expf(totals[(p * R + r) * 2] - most);
      total += totals[(p * R + r) * 2 + 1] * factor;
      a += part[0] * factor;
      b += part[1] * factor;
    }
    store_pair(out + static_cast<size_t>(row0 + r) * ld_out + head * layout.head_dim + d, a / total, b / total);
  }
}

// Rows that see no more than a page, as the local transformer's: a warp for each row and head, with the
// same result as above. 4 warps a block.
constexpr int kShortWarps = 4;

template <class T, int HD>
__global__ void __launch_bounds__(kShortWarps* kWarp) attend_short_kernel(const float* q, int ldq, int m, Rows rows, CacheLayout layout, int layer, T* out, int ld_out) {
  constexpr int kDims = HD / kWarp;
  SONANT_DYNAMIC_SHARED(shared);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, task = blockIdx.x * kShortWarps + warp;
  if (task >= m * layout.heads) return;
  const int row = task / layout.heads, head = task % layout.heads;
  float* query = reinterpret_cast<float*>(shared) + warp * (HD + kWarp);
  for (int d = lane; d < HD; d += kWarp) query[d] = d < layout.head_dim ? q[static_cast<size_t>(row) * ldq + head * layout.head_dim + d] : 0.0f;
  __syncwarp();
  PartSums<1> sums;
  float sum[1][kDims];
  attend_part<T, HD, 1>(rows, layout, layer, head, row, 1, query, query + HD, 0, kParts, sums, sum, lane);
  T* to = out + static_cast<size_t>(row) * ld_out + head * layout.head_dim;
  const float total = sums.total[0];
  if constexpr (kDims == 1) {
    const float right = __shfl_xor_sync(kAllLanes, sum[0][0], 1);
    if (lane % 2 == 0 && lane < layout.head_dim) store_pair(to + lane, sum[0][0] / total, right / total);
  } else {
#pragma unroll
    for (int d = 0; d < kDims; d += 2)
      if (lane * kDims + d < layout.head_dim) store_pair(to + lane * kDims + d, sum[0][d] / total, sum[0][d + 1] / total);
  }
}

}  // namespace sonant::cuda
