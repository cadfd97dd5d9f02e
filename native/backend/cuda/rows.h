// Rows of a batch and the caches of keys and values that they read and write. A cache is a table of
// pages; a page holds 32 positions of every layer and head. For the tensor cores, bf16 keys lie
// position by position and values dimension by dimension. In fp32, keys lie in groups of 16 bytes of one
// position beside the same group of the next, so that a warp with one key a lane reads whole lines,
// and values position by position.
#pragma once

#include "backend/cuda/device.h"

namespace sonant::cuda {

constexpr int kPageRows = 32;

// One stream of rows: its pages, and how many steps of `Rows::steps` positions came before.
struct StreamRef {
  void* const* pages;
  int64_t step;
};

struct Rows {
  const StreamRef* streams = nullptr;
  int steps = 1;       // consecutive rows of each stream
  int window = 0;      // positions that a row sees, its own included; 0: all before it
  int ring = 0;        // pages after which a cache starts over; 0: never
  float inverse_steps = 1, inverse_ring = 0;

  Rows() = default;
  Rows(const StreamRef* streams_, int steps_, int window_ = 0, int ring_ = 0)
      : streams(streams_), steps(steps_), window(window_), ring(ring_), inverse_steps(1.0f / static_cast<float>(steps_)),
        inverse_ring(ring_ > 0 ? 1.0f / static_cast<float>(ring_) : 0) {}

  // Whole divisions are dear. Exact for numbers below 2^22, which are months of speech in pages: the half is more than what
  // rounding takes away.
  __device__ static int divide(int number, float inverse) { return static_cast<int>((static_cast<float>(number) + 0.5f) * inverse); }
  __device__ int stream(int row) const { return divide(row, inverse_steps); }
  __device__ int position(int row) const {
    const int of = stream(row);
    return static_cast<int>(streams[of].step) * steps + (row - of * steps);
  }
  // The first position that a row sees.
  __device__ int first(int position) const { return window > 0 && position >= window ? position - window + 1 : 0; }
  __device__ void* const* pages(int row) const { return streams[stream(row)].pages; }
  __device__ int place(int page) const { return page - divide(page, inverse_ring) * ring; }  // in the table of pages
  __device__ void* page(int row, int index) const { return pages(row)[place(index)]; }
};

// Where a row's keys and values go, of all layers alike.
struct RowPlace {
  void* page;
  int slot;
};

// Where a layer's heads lie in a page, in values of the cache.
struct CacheLayout {
  int heads = 0, head_dim = 0, padded = 0;  // head_dim rounded up to 32
  float inverse = 0;                        // 1 / head_dim

  __host__ __device__ size_t head_values() const { return static_cast<size_t>(2) * kPageRows * padded; }
  __host__ __device__ size_t layer_values() const { return head_values() * heads; }
  __device__ size_t head(int layer, int head) const { return layer * layer_values() + head * head_values(); }
  template <class T>
  __device__ size_t key(int slot, int dim) const {
    if constexpr (sizeof(T) == 2) return static_cast<size_t>(slot) * padded + dim;
    else return static_cast<size_t>(dim / kVector<T>) * kPageRows * kVector<T> + slot * kVector<T> + dim % kVector<T>;
  }
  template <class T>
  __device__ size_t value(int slot, int dim) const {
    const size_t keys = static_cast<size_t>(kPageRows) * padded;
    if constexpr (sizeof(T) == 2) return keys + static_cast<size_t>(dim) * kPageRows + slot;
    else return keys + static_cast<size_t>(slot) * padded + dim;
  }
};

// The embeddings of a row of ids [1 + n_vq], summed up by `threads` threads; a code equal to `pad` adds nothing.
// Tables are [vocabulary][d] and [n_vq] of [size][d].
template <class T>
struct Embedding {
  const T* text;
  const T* const* audio;
  int n_vq, pad, d;

  __device__ void sum(const int* ids, float* x, int thread, int threads) const {
    for (int i = 2 * thread; i < d; i += 2 * threads) {
      const T* of_text = text + static_cast<size_t>(ids[0]) * d + i;
      float a = to_float(of_text[0]), b = to_float(of_text[1]);
#pragma unroll 16
      for (int k = 0; k < n_vq; k++) {
        const int id = ids[1 + k];
        const T* of_code = audio[k] + static_cast<size_t>(id == pad ? 0 : id) * d + i;
        const float first = to_float(of_code[0]), second = to_float(of_code[1]);
        a += id == pad ? 0.0f : first, b += id == pad ? 0.0f : second;
      }
      store_pair(x + i, a, b);
    }
  }
};

}  // namespace sonant::cuda
