// Attention of a few rows of one stream to the keys in their cache. The keys are seen in chunks of a
// page; chunk c belongs to part c % kParts, each part runs through its chunks in order, and the parts
// are put together in order. So a row's result depends on its position alone: not on its neighbours,
// not on how a prompt was cut.
//
// In bf16 the tensor cores multiply up to 16 rows at a time, sums in fp32; in fp32, for parity, a lane
// sees one key.
#pragma once

#include "backend/cuda/rows.h"

namespace sonant::cuda {

constexpr int kParts = 8;  // a power of two
constexpr float kLog2E = 1.44269504088896341f;
// Rows of a tile.
template <class T>
constexpr int kTileSize = sizeof(T) == 2 ? 16 : 8;

// Tiles of consecutive rows of one stream.
struct Tiles {
  const int2* list = nullptr;  // [tiles] first row and count; absent: `size` rows each
  int size = 1;
};

// The first chunk of a part from position `from` on.
__device__ inline int first_chunk(int from, int part) {
  const int first = from / kPageRows;
  return first + ((part - first) & (kParts - 1));
}

// Where in shared memory the parts of a tile come together.
template <class T, int HD>
struct TileParts {
  float *sums, *totals;  // [kParts][rows][HD], [kParts][rows][2]: most, total
  int rows;

  __host__ __device__ static constexpr size_t bytes(int rows) { return sizeof(float) * static_cast<size_t>(kParts) * rows * (HD + 2); }
  __device__ TileParts(float* at, int rows_) : sums(at), totals(at + static_cast<size_t>(kParts) * rows_ * HD), rows(rows_) {}
  __device__ float* sum(int part, int row) const { return sums + static_cast<size_t>(part * rows + row) * HD; }
  __device__ void put_total(int part, int row, float most, float total) const {
    totals[(part * rows + row) * 2] = most;
    totals[(part * rows + row) * 2 + 1] = total;
  }
  // The parts of two neighbouring values, put together.
  __device__ float2 merge(int row, int dim) const {
    float most = -INFINITY, total = 0, a = 0, b = 0;
    for (int p = 0; p < kParts; p++) most = fmaxf(most, totals[(p * rows + row) * 2]);
#pragma unroll
    for (int p = 0; p < kParts; p++) {
      const float theirs = totals[(p * rows + row) * 2];
      const float factor = theirs == -INFINITY ? 0.0f : sizeof(T) == 2 ? exp2f(theirs - most) : expf(theirs - most);
      total = fmaf(totals[(p * rows + row) * 2 + 1], factor, total);
      a = fmaf(sum(p, row)[dim], factor, a);
      b = fmaf(sum(p, row)[dim + 1], factor, b);
    }
    return make_float2(a / total, b / total);
  }
};

// Rows that half a tile has.
constexpr int kHalfTile = 8;

// fp32: one part for up to R rows of a head.
template <class T, int HD, int H, bool kAhead = false>
class PartOfTile {
 public:
  static constexpr int R = kTileSize<T>, kDims = HD / kWarp;
  static constexpr size_t kSharedBytes = sizeof(float) * R * (HD + kWarp);  // of a warp

  // What is older than the kernel before: before its results are waited for.
  __device__ void begin(const Rows& rows, int row0, int count, int) {
#pragma unroll
    for (int r = 0; r < R; r++) {
      position_[r] = rows.position(row0 + min(r, count - 1));
      first_[r] = rows.first(position_[r]);
      most_[r] = -INFINITY, total_[r] = 0;
#pragma unroll
      for (int d = 0; d < kDims; d++) sum_[r][d] = 0;
    }
  }

  // `shared` belongs to this warp. Lane l sums values of dims [l kDims, (l + 1) kDims).
  __device__ void run(const Rows& rows, const CacheLayout& layout, int layer, int head, int row0, int count, const float* q, int ldq, int part, float* shared, int lane) {
    float *queries = shared, *weights = shared + R * HD;
    for (int e = lane; e < R * HD; e += kWarp) {
      const int r = min(e / HD, count - 1), d = e % HD;
      queries[e] = d < layout.head_dim ? q[static_cast<size_t>(row0 + r) * ldq + head * layout.head_dim + d] : 0.0f;
    }
    __syncwarp();
    const int from = first_[0], to = position_[R - 1];
    for (int chunk = first_chunk(from, part); chunk <= to / kPageRows; chunk += kParts) {
      const T* page = static_cast<const T*>(rows.page(row0, chunk)) + layout.head(layer, head);
      float score[R] = {};
      const int key = chunk * kPageRows + lane;
      if (key >= from && key <= to) {
#pragma unroll
        for (int d = 0; d < HD; d += kVector<T>) {
          float k[kVector<T>];
          unpack(page + static_cast<size_t>(d) * kPageRows + lane * kVector<T>, k);
#pragma unroll
          for (int r = 0; r < R; r++)
#pragma unroll
            for (int i = 0; i < kVector<T>; i++) score[r] = fmaf(queries[r * HD + d + i], k[i], score[r]);
        }
      }
#pragma unroll
      for (int r = 0; r < R; r++) {
        const bool seen = key >= first_[r] && key <= position_[r];
        const float most = fmaxf(most_[r], warp_max(seen ? score[r] : -INFINITY));
        const float keep = most_[r] == -INFINITY ? 0.0f : expf(most_[r] - most);
        score[r] = seen ? expf(score[r] - most) : 0.0f;
        total_[r] = total_[r] * keep + warp_sum(score[r]);
        most_[r] = most;
#pragma unroll
        for (int d = 0; d < kDims; d++) sum_[r][d] *= keep;
        weights[r * kWarp + lane] = score[r];
      }
      __syncwarp();
      const T* values = page + static_cast<size_t>(kPageRows) * HD + lane * kDims;
      const int begin = max(from - chunk * kPageRows, 0);
      const int end = min(to - chunk * kPageRows, kPageRows - 1);
      for (int j = begin; j <= end; j++)
#pragma unroll
        for (int r = 0; r < R; r++)
#pragma unroll
          for (int d = 0; d < kDims; d++) sum_[r][d] = fmaf(weights[r * kWarp + j], to_float(values[static_cast<size_t>(j) * HD + d]), sum_[r][d]);
      __syncwarp();  // the next chunk's weights take their place
    }
  }

  __device__ void put(const TileParts<T, HD>& parts, int part, int count, int lane) const {
#pragma unroll
    for (int r = 0; r < R; r++) {
      if (r >= count) break;
#pragma unroll
      for (int d = 0; d < kDims; d++) parts.sum(part, r)[lane * kDims + d] = sum_[r][d];
      if (lane == 0) parts.put_total(part, r, most_[r], total_[r]);
    }
  }

  // Row 0, when this part is all there is.
  __device__ void store_row(T* out, int head_dim, int lane) const {
#pragma unroll
    for (int d = 0; d < kDims; d++)
      if (lane * kDims + d < head_dim) out[lane * kDims + d] = sum_[0][d] / total_[0];
  }

 private:
  int position_[R], first_[R];
  float most_[R], total_[R], sum_[R][kDims];
};

// bf16, with scores in powers of two. Of a lane 4 g + t, row g and row g + 8 of the tile; of a chunk's keys 8 t to
// 8 t + 7, so that its weights are already where the product with the values wants them.
// H: 1 if the tile has no more rows than a half. kAhead: the next chunk's keys are under way while one is weighed, which takes registers that
// many blocks would rather have for company.
template <int HD, int H, bool kAhead>
class PartOfTile<bf16, HD, H, kAhead> {
 public:
  static constexpr size_t kSharedBytes = 0;
  static constexpr int kBlocks = HD / 32, kDimTiles = HD / 8;

  // What is older than the kernel before: before its results are waited for.
  __device__ void begin(const Rows& rows, int row0, int count, int part) {
#pragma unroll
    for (int h = 0; h < H; h++) {
      row_[h] = row0 + min(static_cast<int>(threadIdx.x) % kWarp / 4 + kHalfTile * h, count - 1);
      position_[h] = rows.position(row_[h]);
      first_[h] = rows.first(position_[h]);
      most_[h] = -INFINITY, total_[h] = 0;
    }
#pragma unroll
    for (int d = 0; d < kDimTiles; d++)
#pragma unroll
      for (int i = 0; i < 4; i++) sum_[d][i] = 0;
    whole_to_ = rows.position(row0), to_ = rows.position(row0 + count - 1);
    chunk_ = first_chunk(rows.first(whole_to_), part);
    pages_ = rows.pages(row0);
    page_ = chunk_ <= to_ / kPageRows ? pages_[rows.place(chunk_)] : nullptr;
  }

  __device__ void run(const Rows& rows, const CacheLayout& layout, int layer, int head, int, int, const float* q, int ldq, int, float*, int lane) {
    const int g = lane / 4, t = lane % 4;
    uint32_t query[kBlocks][2][4] = {};
#pragma unroll
    for (int h = 0; h < H; h++) {
      const float* from = q + static_cast<size_t>(row_[h]) * ldq + head * layout.head_dim;
#pragma unroll
      for (int b = 0; b < kBlocks; b++)
#pragma unroll
        for (int pair = 0; pair < 4; pair++) {
          const int d = b * 32 + 8 * t + 2 * pair;
          if (d >= layout.head_dim) continue;
          const float2 two = *reinterpret_cast<const float2*>(from + d);
          query[b][pair / 2][pair % 2 * 2 + h] = pack_bf16(two.x * kLog2E, two.y * kLog2E);
        }
    }
    // Chunks that every row of the tile sees as a whole need no mask.
    const int whole_from = rows.first(to_), last = to_ / kPageRows;
    const size_t of_head = layout.head(layer, head);
    const void* page = page_;
    uint4 key[4][kBlocks];
    const auto load_keys = [&](const void* from) {
      const bf16* keys = static_cast<const bf16*>(from) + of_head + static_cast<size_t>(8 * (g / 2) + g % 2) * HD + 8 * t;
#pragma unroll
      for (int j = 0; j < 4; j++)
#pragma unroll
        for (int b = 0; b < kBlocks; b++) key[j][b] = load16(keys + 2 * j * HD + b * 32);
    };
    if (kAhead && chunk_ <= last) load_keys(page);
#pragma unroll 1
    for (int chunk = chunk_; chunk <= last; chunk += kParts) {
      const bool more = chunk + kParts <= last;
      const bf16* values = static_cast<const bf16*>(page) + of_head + static_cast<size_t>(kPageRows) * HD;
      if (!kAhead) load_keys(page);
      if (more) page = pages_[rows.place(chunk + kParts)];
      float score[4][4] = {};
#pragma unroll
      for (int j = 0; j < 4; j++)
#pragma unroll
        for (int b = 0; b < kBlocks; b++) {
          multiply_add(score[j], query[b][0][0], query[b][0][1], query[b][0][2], query[b][0][3], key[j][b].x, key[j][b].y);
          multiply_add(score[j], query[b][1][0], query[b][1][1], query[b][1][2], query[b][1][3], key[j][b].z, key[j][b].w);
        }
      uint4 value[kDimTiles];
#pragma unroll
      for (int d = 0; d < kDimTiles; d++) value[d] = load16(values + static_cast<size_t>(d * 8 + g) * kPageRows + 8 * t);
      if (kAhead && more) load_keys(page);
      if (chunk * kPageRows < whole_from || chunk * kPageRows + kPageRows - 1 > whole_to_) {
#pragma unroll
        for (int h = 0; h < H; h++) {
          const int below = first_[h] - chunk * kPageRows, above = position_[h] - chunk * kPageRows;
#pragma unroll
          for (int e = 0; e < 8; e++)
            if (8 * t + e < below || 8 * t + e > above) score[e / 2][2 * h + e % 2] = -INFINITY;
        }
        // Slots past the last row may hold what another stream has left, and nothing times no number is no number.
        const int end = min(to_ - chunk * kPageRows, kPageRows) - 8 * t;
        const auto written = [&](int pair) { return 2 * pair < end ? 0xffffffffu : 2 * pair == end ? 0xffffu : 0u; };
#pragma unroll
        for (int d = 0; d < kDimTiles; d++) value[d].x &= written(0), value[d].y &= written(1), value[d].z &= written(2), value[d].w &= written(3);
      }
      uint32_t weights[2][4] = {};
#pragma unroll
      for (int h = 0; h < H; h++) {
        float most = most_[h];
#pragma unroll
        for (int e = 0; e < 8; e++) most = fmaxf(most, score[e / 2][2 * h + e % 2]);
        most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 1));
        most = fmaxf(most, __shfl_xor_sync(kAllLanes, most, 2));
        const float base = most == -INFINITY ? 0.0f : most;  // a row that has seen nothing yet
        const float keep = exp2f(most_[h] - base);
        float total = 0;
#pragma unroll
        for (int e = 0; e < 8; e++) {
          float& at = score[e / 2][2 * h + e % 2];
          at = exp2f(at - base);
          total += at;
        }
        total += __shfl_xor_sync(kAllLanes, total, 1);
        total += __shfl_xor_sync(kAllLanes, total, 2);
        total_[h] = fmaf(total_[h], keep, total);
        most_[h] = most;
#pragma unroll
        for (int d = 0; d < kDimTiles; d++) sum_[d][2 * h] *= keep, sum_[d][2 * h + 1] *= keep;
#pragma unroll
        for (int pair = 0; pair < 4; pair++) weights[pair / 2][pair % 2 * 2 + h] = pack_bf16(score[pair][2 * h], score[pair][2 * h + 1]);
      }
#pragma unroll
      for (int d = 0; d < kDimTiles; d++) {
        multiply_add(sum_[d], weights[0][0], weights[0][1], weights[0][2], weights[0][3], value[d].x, value[d].y);
        multiply_add(sum_[d], weights[1][0], weights[1][1], weights[1][2], weights[1][3], value[d].z, value[d].w);
      }
    }
  }

  __device__ void put(const TileParts<bf16, HD>& parts, int part, int count, int lane) const {
    const int g = lane / 4, t = lane % 4;
#pragma unroll
    for (int h = 0; h < H; h++) {
      const int row = g + kHalfTile * h;
      if (row >= count) continue;
#pragma unroll
      for (int d = 0; d < kDimTiles; d++) store_pair(parts.sum(part, row) + d * 8 + 2 * t, sum_[d][2 * h], sum_[d][2 * h + 1]);
      if (t == 0) parts.put_total(part, row, most_[h], total_[h]);
    }
  }

  __device__ void store_row(bf16* out, int head_dim, int lane) const {
    if (lane >= 4) return;
    const float by = 1.0f / total_[0];
#pragma unroll
    for (int d = 0; d < kDimTiles; d++)
      if (d * 8 + 2 * lane < head_dim) store_pair(out + d * 8 + 2 * lane, sum_[d][0] * by, sum_[d][1] * by);
  }

 private:
  int row_[H], position_[H], first_[H];
  int to_, whole_to_, chunk_;  // the tile's last position, that of its first row, where the part begins
  void* const* pages_;
  const void* page_;
  float most_[H], total_[H], sum_[kDimTiles][4];
};

// A block of 8 warps for a tile and one head. blockIdx = (tile, head).
template <class T, int HD, int H, bool kAhead>
__global__ void __launch_bounds__(kParts* kWarp, HD <= 64 && !kAhead ? 2 : 1) attend_kernel(const float* q, int ldq, int m, Rows rows, Tiles tiles, CacheLayout layout, int layer, T* out, int ld_out) {
  SONANT_DYNAMIC_SHARED(shared);
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, head = blockIdx.y;
  int row0 = blockIdx.x * tiles.size, count = min(tiles.size, m - row0);
  if (tiles.list) row0 = tiles.list[blockIdx.x].x, count = tiles.list[blockIdx.x].y;
  const TileParts<T, HD> parts(reinterpret_cast<float*>(shared), tiles.size);
  auto* own = reinterpret_cast<float*>(shared + TileParts<T, HD>::bytes(tiles.size) + warp * PartOfTile<T, HD, H>::kSharedBytes);
  PartOfTile<T, HD, H, kAhead> part;
  part.begin(rows, row0, count, warp);
  await_previous();
  part.run(rows, layout, layer, head, row0, count, q, ldq, warp, own, lane);
  part.put(parts, warp, count, lane);
  __syncthreads();
  for (int e = 2 * threadIdx.x; e < count * HD; e += 2 * kParts * kWarp) {
    const int r = e / HD, d = e % HD;
    if (d >= layout.head_dim) continue;
    const float2 pair = parts.merge(r, d);
    store_pair(out + static_cast<size_t>(row0 + r) * ld_out + head * layout.head_dim + d, pair.x, pair.y);
  }
}

// Rows that see no more than a page, as the local transformer's: a warp for each row and head, with the
// same result as above. blockIdx = (row, group of 4 heads).
constexpr int kShortWarps = 4;

template <class T, int HD>
__global__ void __launch_bounds__(kShortWarps* kWarp, HD <= 64 ? 4 : 1) attend_short_kernel(const float* q, int ldq, Rows rows, CacheLayout layout, int layer, T* out, int ld_out) {
  SONANT_DYNAMIC_SHARED(shared);
  using Part = PartOfTile<T, HD, 1>;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, row = blockIdx.x, head = blockIdx.y * kShortWarps + warp;
  if (head >= layout.heads) return;
  Part part;
  part.begin(rows, row, 1, 0);
  await_previous();
  part.run(rows, layout, layer, head, row, 1, q, ldq, 0, reinterpret_cast<float*>(shared + warp * Part::kSharedBytes), lane);
  part.store_row(out + static_cast<size_t>(row) * ld_out + head * layout.head_dim, layout.head_dim, lane);
}

}  // namespace sonant::cuda
