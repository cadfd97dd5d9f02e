// Launches of the kernels, and the small ones among them.
#include "backend/cuda/kernels.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <string>

#include "model/error.h"

namespace sonant::cuda {

void check(cudaError_t error, const char* what) {
  if (error == cudaSuccess) return;
  cudaGetLastError();  // the runtime remembers it, and would tell the next launch of it
  if (error == cudaErrorMemoryAllocation) throw std::bad_alloc();
  throw Error("engine_failed", std::string("The GPU failed at ") + what + ": " + cudaGetErrorString(error) + ".");
}

namespace {

constexpr size_t kPlainShared = 48 * 1024;  // more has to be asked for

#ifndef SONANT_CUDA_EMULATION
// Whether the current device lets a kernel begin while the one before it ends (await_previous in device.h).
bool starts_early() {
  int device = 0, major = 0;
  check(cudaGetDevice(&device), "asking for its properties");
  check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device), "asking for its properties");
  return major >= 9;
}
#endif

template <class... P, class... A>
void launch(cudaStream_t stream, void (*kernel)(P...), dim3 grid, int threads, size_t shared, const A&... args) {
#ifdef SONANT_CUDA_EMULATION
  (void)stream;
  emulation::run(grid, threads, shared, [&] { kernel(P(args)...); });
#else
  if (shared > kPlainShared)
    check(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared)), "a kernel's shared memory");
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid, config.blockDim = dim3(static_cast<unsigned>(threads)), config.dynamicSmemBytes = shared, config.stream = stream;
  config.attrs = &early, config.numAttrs = starts_early() ? 1 : 0;
  check(cudaLaunchKernelEx(&config, kernel, P(args)...), "a kernel's launch");
#endif
  check(cudaGetLastError(), "a kernel's launch");
}

int ceil_div(int a, int b) { return (a + b - 1) / b; }

template <int N, class In, class Out>
void launch_split(cudaStream_t stream, const PackedMatrix& w, const In& input, int m, const Out& out) {
  const dim3 grid(static_cast<unsigned>(w.tiles()), static_cast<unsigned>(ceil_div(m, kTileRows * N)));
  launch(stream, split_product_kernel<N, In, Out>, grid, kSegments * kWarp, split_bytes<N, In>(w), w, input, m, out);
}

template <class Out>
void launch_large(cudaStream_t stream, const PackedMatrix& w, const bf16* x, int ld, int m, const Out& out) {
  const dim3 grid(static_cast<unsigned>(ceil_div(w.tiles(), kLargeTiles)), static_cast<unsigned>(ceil_div(m, kLargeRows)));
  launch(stream, large_product_kernel<Out>, grid, kLargeWarps * kWarp, kLargeBytes, w, x, ld, m, out);
}

template <class Out>
void launch_float(cudaStream_t stream, const PackedMatrix& w, const float* x, int ld, int m, const Out& out) {
  const dim3 grid(static_cast<unsigned>(ceil_div(w.n, kFloatTile)), static_cast<unsigned>(ceil_div(m, kFloatTile)));
  launch(stream, float_product_kernel<Out>, grid, kFloatThreads, sizeof(float) * 2 * kFloatTile * (kFloatTile + 1), w, x, ld, m, out);
}

constexpr int kSplitRows = 8 * kTileRows;  // of a block of the widest split product
// With more blocks than these, the large product is quicker: it reads each row for more outputs at a time.
constexpr int kSplitBlocks = 192;

// blockIdx.y: which copy.
__global__ void copy_words_kernel(Copies copies) {
  await_previous();
  const Copy& copy = copies.list[blockIdx.y];
  for (size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < copy.words; i += static_cast<size_t>(gridDim.x) * blockDim.x)
    static_cast<uint32_t*>(copy.to)[i] = static_cast<const uint32_t*>(copy.from)[i];
}

// A warp a row.
__global__ void place_rows_kernel(Rows rows, int m, const float* frequencies, int pairs, RowPlace* places, float2* turns) {
  const int row = blockIdx.x * kNormWarps + threadIdx.x / kWarp, lane = threadIdx.x % kWarp;
  await_previous();
  if (row >= m) return;
  const int position = rows.position(row);
  if (lane == 0) places[row] = {rows.page(row, position / kPageRows), static_cast<int>(position % kPageRows)};
  for (int i = lane; i < pairs; i += kWarp) turns[static_cast<size_t>(row) * pairs + i] = turn_of(position, frequencies, i);
}

// ids [m][1 + n_vq]; a block a row.
template <class T>
__global__ void embed_rows_kernel(const int* ids, Embedding<T> embedding, float* x, int ldx) {
  await_previous();
  embedding.sum(ids + static_cast<size_t>(blockIdx.x) * (1 + embedding.n_vq), x + static_cast<size_t>(blockIdx.x) * ldx, threadIdx.x, blockDim.x);
}

template <class T>
__global__ void expand_rows_kernel(const T* table, int n, float* out, int ld) {
  await_previous();
  for (int i = threadIdx.x; i < n; i += blockDim.x) out[static_cast<size_t>(blockIdx.x) * ld + i] = to_float(table[static_cast<size_t>(blockIdx.x) * n + i]);
}

__global__ void begin_local_kernel(const FrameRef* items, const float* hidden, const float* continue_row, int d, float* x, int ldx) {
  await_previous();
  const float* from = hidden + static_cast<size_t>(items[blockIdx.x].slot) * d;
  float* to = x + static_cast<size_t>(blockIdx.x) * 2 * ldx;
  for (int i = threadIdx.x; i < d; i += blockDim.x) to[i] = from[i], to[ldx + i] = continue_row[i];
}

__global__ void sum_codes_kernel(const int* codes, int ld_codes, const int* n_books, const float* tables, int size, int n, const float* bias, float* out, int ld) {
  await_previous();
  const int* row = codes + static_cast<size_t>(blockIdx.x) * ld_codes;
  const int books = n_books[blockIdx.x];
  for (int i = blockIdx.y * blockDim.x + threadIdx.x; i < n; i += gridDim.y * blockDim.x) {
    float sum = 0;
#pragma unroll 8
    for (int b = 0; b < books; b++) sum += tables[(static_cast<size_t>(b) * size + row[b]) * n + i];
    out[static_cast<size_t>(blockIdx.x) * ld + i] = sum + bias[i];
  }
}

template <class T>
__global__ void split_rows_kernel(const float* in, int ld_in, int size, int patch, T* out, int ld_out) {
  await_previous();
  const float* from = in + static_cast<size_t>(blockIdx.x / patch) * ld_in + blockIdx.x % patch;
  for (int c = 2 * threadIdx.x; c < size; c += 2 * blockDim.x)
    // An odd last one has none beside it: what lies there may be no number, which a weight of zero would not hide.
    store_pair(out + static_cast<size_t>(blockIdx.x) * ld_out + c, from[static_cast<size_t>(c) * patch], c + 1 < size ? from[static_cast<size_t>(c + 1) * patch] : 0.0f);
}

__global__ void join_rows_kernel(const float* in, int ld_in, int size, int patch, float* out, int ld_out) {
  await_previous();
  for (int i = threadIdx.x; i < size * patch; i += blockDim.x)
    out[static_cast<size_t>(blockIdx.x) * ld_out + i] = in[(static_cast<size_t>(blockIdx.x) * patch + i % patch) * ld_in + i / patch];
}

__global__ void __launch_bounds__(kDecisions* kWarp) decide_kernel(DecideArgs args) {
  SONANT_DYNAMIC_SHARED(shared);
  decide_items(args, reinterpret_cast<float*>(shared));
}

constexpr int kQuantiseThreads = 256;

__global__ void quantise_kernel(QuantiseArgs args) {
  SONANT_DYNAMIC_SHARED(shared);
  auto* projected = reinterpret_cast<float*>(shared);        // [dim]
  auto* similarities = projected + args.dim;                 // [threads]
  auto* places = reinterpret_cast<int*>(similarities + kQuantiseThreads);
  await_previous();
  float* residual = args.residual + static_cast<size_t>(blockIdx.x) * args.ld;
  const int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  for (int j = warp; j < args.dim; j += kQuantiseThreads / kWarp) {
    float sum = 0;
    for (int i = lane; i < args.rvq; i += kWarp) sum = fmaf(residual[i], args.in_weight[static_cast<size_t>(j) * args.rvq + i], sum);
    sum = warp_sum(sum);
    if (lane == 0) projected[j] = sum + args.in_bias[j];
  }
  __syncthreads();
  // The length of the projection scales all similarities alike, so it does not matter which one is the largest.
  float best = -INFINITY;
  int place = args.size;
  for (int e = threadIdx.x; e < args.size; e += kQuantiseThreads) {
    float similarity = 0;
    for (int j = 0; j < args.dim; j++) similarity += projected[j] * args.unit[static_cast<size_t>(e) * args.dim + j];
    if (similarity > best) best = similarity, place = e;
  }
  similarities[threadIdx.x] = best, places[threadIdx.x] = place;
  __syncthreads();
  for (int step = kQuantiseThreads / 2; step > 0; step /= 2) {
    if (static_cast<int>(threadIdx.x) < step) {
      const int other = threadIdx.x + step;
      const float theirs = similarities[other];
      if (theirs > similarities[threadIdx.x] || (theirs == similarities[threadIdx.x] && places[other] < places[threadIdx.x]))
        similarities[threadIdx.x] = theirs, places[threadIdx.x] = places[other];
    }
    __syncthreads();
  }
  const int code = min(places[0], args.size - 1);  // numbers that are none have no nearest entry
  if (threadIdx.x == 0) args.codes[static_cast<size_t>(blockIdx.x) * args.n_books + args.book] = code;
  const float* entry = args.entries + static_cast<size_t>(code) * args.dim;
  for (int i = threadIdx.x; i < args.rvq; i += kQuantiseThreads) {
    float sum = args.out_bias[i];
    for (int j = 0; j < args.dim; j++) sum += entry[j] * args.out_weight[static_cast<size_t>(i) * args.dim + j];
    residual[i] -= sum;
  }
}

// A multiprocessor of a large card has no more than one of so many.
constexpr unsigned kFewBlocks = 128;

template <class T, int HD>
void attend_width(cudaStream_t stream, const float* q, int ldq, int m, const Rows& rows, Tiles tiles, int n_tiles, const CacheLayout& layout, int layer, T* out, int ld_out) {
  const size_t bytes = TileParts<T, HD>::bytes(tiles.size) + kParts * PartOfTile<T, HD, 2>::kSharedBytes;
  const dim3 grid(static_cast<unsigned>(n_tiles), static_cast<unsigned>(layout.heads));
  const auto run = [&](const auto& kernel) { launch(stream, kernel, grid, kParts * kWarp, bytes, q, ldq, m, rows, tiles, layout, layer, out, ld_out); };
  if constexpr (sizeof(T) == 2) {
    if (tiles.size <= kHalfTile) return run(attend_kernel<T, HD, 1, false>);
    if (grid.x * grid.y <= kFewBlocks) return run(attend_kernel<T, HD, 2, true>);
  }
  run(attend_kernel<T, HD, 2, false>);
}

template <class T, int HD>
void attend_short_width(cudaStream_t stream, const float* q, int ldq, int m, const Rows& rows, const CacheLayout& layout, int layer, T* out, int ld_out) {
  launch(stream, attend_short_kernel<T, HD>, dim3(static_cast<unsigned>(m), static_cast<unsigned>(ceil_div(layout.heads, kShortWarps))), kShortWarps * kWarp,
         kShortWarps * PartOfTile<T, HD, 1>::kSharedBytes, q, ldq, rows, layout, layer, out, ld_out);
}

}  // namespace

template <class T, class Out>
void multiply(cudaStream_t stream, const PackedMatrix& w, const T* x, int ld, int m, const Out& out) {
  if constexpr (sizeof(T) == 4) launch_float(stream, w, x, ld, m, out);
  else if (m <= 8) launch_split<1>(stream, w, PlainRows{x, ld}, m, out);
  else if (m <= 16) launch_split<2>(stream, w, PlainRows{x, ld}, m, out);
  else if (m <= 32) launch_split<4>(stream, w, PlainRows{x, ld}, m, out);
  else if (m <= kSplitRows || w.tiles() * ceil_div(m, kSplitRows) <= kSplitBlocks) launch_split<8>(stream, w, PlainRows{x, ld}, m, out);
  else launch_large(stream, w, x, ld, m, out);
}

// A small product whose rows each block makes itself; false if it is not small enough.
template <class In, class Out>
bool launch_making(cudaStream_t stream, const PackedMatrix& w, const In& input, int m, const Out& out) {
  if (m <= 8 && split_bytes<1, In>(w) <= kPlainShared) return launch_split<1>(stream, w, input, m, out), true;
  if (m <= 16 && split_bytes<2, In>(w) <= kPlainShared) return launch_split<2>(stream, w, input, m, out), true;
  if (m <= 32 && split_bytes<4, In>(w) <= kPlainShared) return launch_split<4>(stream, w, input, m, out), true;
  return false;
}

template <class T, class Out>
void multiply_normed(cudaStream_t stream, const PackedMatrix& w, const float* x, int ld, int m, const Norm& norm, ProductRows<T> scratch, const Out& out) {
  if constexpr (sizeof(T) == 2)
    if (launch_making(stream, w, NormedRows32{x, ld, norm}, m, out)) return;
  norm_rows<T>(stream, x, ld, m, w.k, norm, scratch.data, scratch.ld, nullptr);
  multiply<T>(stream, w, scratch.data, scratch.ld, m, out);
}

template <class T, class Out>
void multiply_gathered(cudaStream_t stream, const PackedMatrix& w, const float* x, int ld, int m, int patch, ProductRows<T> scratch, const Out& out) {
  if constexpr (sizeof(T) == 2)
    if (launch_making(stream, w, GatheredRows32{x, ld, patch, 1.0f / static_cast<float>(patch)}, m, out)) return;
  launch(stream, split_rows_kernel<T>, dim3(static_cast<unsigned>(m)), 128, 0, x, ld, w.k, patch, scratch.data, scratch.ld);
  multiply<T>(stream, w, scratch.data, scratch.ld, m, out);
}

template <class T>
void attend(cudaStream_t stream, const float* q, int ldq, int m, const Rows& rows, Tiles tiles, int n_tiles, const CacheLayout& layout, int layer, T* out, int ld_out) {
  switch (layout.padded) {
    case 32: return attend_width<T, 32>(stream, q, ldq, m, rows, tiles, n_tiles, layout, layer, out, ld_out);
    case 64: return attend_width<T, 64>(stream, q, ldq, m, rows, tiles, n_tiles, layout, layer, out, ld_out);
    default: return attend_width<T, 128>(stream, q, ldq, m, rows, tiles, n_tiles, layout, layer, out, ld_out);
  }
}

template <class T>
void attend_short(cudaStream_t stream, const float* q, int ldq, int m, const Rows& rows, const CacheLayout& layout, int layer, T* out, int ld_out) {
  switch (layout.padded) {
    case 32: return attend_short_width<T, 32>(stream, q, ldq, m, rows, layout, layer, out, ld_out);
    case 64: return attend_short_width<T, 64>(stream, q, ldq, m, rows, layout, layer, out, ld_out);
    default: return attend_short_width<T, 128>(stream, q, ldq, m, rows, layout, layer, out, ld_out);
  }
}

void copy_words(cudaStream_t stream, const Copies& copies) {
  size_t most = 1;
  for (const Copy& copy : copies.list) most = std::max(most, copy.words);
  const dim3 grid(static_cast<unsigned>(std::min<size_t>((most + 255) / 256, 32)), static_cast<unsigned>(std::size(copies.list)));
  launch(stream, copy_words_kernel, grid, 256, 0, copies);
}

void place_rows(cudaStream_t stream, const Rows& rows, int m, const float* frequencies, int pairs, RowPlace* places, float2* turns) {
  launch(stream, place_rows_kernel, dim3(static_cast<unsigned>(ceil_div(m, kNormWarps))), kNormWarps * kWarp, 0, rows, m, frequencies, pairs, places, turns);
}

template <class T>
void norm_rows(cudaStream_t stream, const float* x, int ld, int m, int n, const Norm& norm, T* out, int ld_out, const int* places) {
  launch(stream, norm_rows_kernel<T>, dim3(static_cast<unsigned>(ceil_div(m, kNormWarps))), kNormWarps * kWarp, size_t{2} * static_cast<size_t>(n) * sizeof(float), x, ld, m, n, norm, out, ld_out, places);
}

template <class T>
void embed_rows(cudaStream_t stream, const int* ids, int m, const Embedding<T>& embedding, float* x, int ldx) {
  const int threads = std::min(512, ceil_div(embedding.d, 2 * kWarp) * kWarp);
  launch(stream, embed_rows_kernel<T>, dim3(static_cast<unsigned>(m)), threads, 0, ids, embedding, x, ldx);
}

template <class T>
void expand_rows(cudaStream_t stream, const T* table, int m, int n, float* out, int ld) {
  launch(stream, expand_rows_kernel<T>, dim3(static_cast<unsigned>(m)), 256, 0, table, n, out, ld);
}

void begin_local(cudaStream_t stream, const FrameRef* items, int n, const float* hidden, const float* continue_row, int d, float* x, int ldx) {
  launch(stream, begin_local_kernel, dim3(static_cast<unsigned>(n)), 256, 0, items, hidden, continue_row, d, x, ldx);
}

void decide(cudaStream_t stream, const DecideArgs& args) {
  launch(stream, decide_kernel, dim3(static_cast<unsigned>(ceil_div(args.n, kDecisions))), kDecisions * kWarp, size_t{4} * static_cast<size_t>(args.d) * sizeof(float), args);
}

template <class T>
void draw(cudaStream_t stream, const DrawArgs& args, int n) {
  launch(stream, draw_kernel<T>, dim3(static_cast<unsigned>(n)), kDrawThreads, draw_bytes(args.size), args);
}

void sum_codes(cudaStream_t stream, const int* codes, int ld_codes, const int* n_books, int m, const float* tables, int size, int n, const float* bias, float* out, int ld) {
  launch(stream, sum_codes_kernel, dim3(static_cast<unsigned>(m), static_cast<unsigned>(ceil_div(n, 256))), 256, 0, codes, ld_codes, n_books, tables, size, n, bias, out, ld);
}

void join_rows(cudaStream_t stream, const float* in, int ld_in, int m, int size, int patch, float* out, int ld_out) {
  launch(stream, join_rows_kernel, dim3(static_cast<unsigned>(m)), 256, 0, in, ld_in, size, patch, out, ld_out);
}

void quantise(cudaStream_t stream, const QuantiseArgs& args, int m) {
  const size_t bytes = sizeof(float) * static_cast<size_t>(args.dim) + kQuantiseThreads * (sizeof(float) + sizeof(int));
  launch(stream, quantise_kernel, dim3(static_cast<unsigned>(m)), kQuantiseThreads, bytes, args);
}

#define SONANT_PRODUCTS(T, OUT)                                                                                                       \
  template void multiply_normed<T, OUT>(cudaStream_t, const PackedMatrix&, const float*, int, int, const Norm&, ProductRows<T>, const OUT&); \
  template void multiply<T, OUT>(cudaStream_t, const PackedMatrix&, const T*, int, int, const OUT&);
#define SONANT_TYPE(T)                                                                                                                \
  template void expand_rows<T>(cudaStream_t, const T*, int, int, float*, int);                                                        \
  SONANT_PRODUCTS(T, StoreTurned)                                                                                                     \
  template void multiply_gathered<T, StoreFloat>(cudaStream_t, const PackedMatrix&, const float*, int, int, int, ProductRows<T>, const StoreFloat&); \
  SONANT_PRODUCTS(T, StoreFloat)                                                                                                      \
  SONANT_PRODUCTS(T, AddToStream)                                                                                                     \
  SONANT_PRODUCTS(T, StoreGelu<T>)                                                                                                    \
  SONANT_PRODUCTS(T, StoreQkv<T>)                                                                                                     \
  template void attend<T>(cudaStream_t, const float*, int, int, const Rows&, Tiles, int, const CacheLayout&, int, T*, int);           \
  template void attend_short<T>(cudaStream_t, const float*, int, int, const Rows&, const CacheLayout&, int, T*, int);                 \
  template void norm_rows<T>(cudaStream_t, const float*, int, int, int, const Norm&, T*, int, const int*);                            \
  template void embed_rows<T>(cudaStream_t, const int*, int, const Embedding<T>&, float*, int);                                       \
  template void draw<T>(cudaStream_t, const DrawArgs&, int);
SONANT_TYPE(float)
SONANT_TYPE(bf16)

}  // namespace sonant::cuda
