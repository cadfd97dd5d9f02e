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

  __device__ int64_t position(int row) const { return streams[row / steps].step * steps + row % steps; }
  // Whole pages, so that rows of one page see the same ones: first page that the row may see.
  __device__ int64_t first(int64_t position) const { return window > 0 && position >= window ? position - window + 1 : 0; }
  __device__ void* page(int row, int64_t index) const { return streams[row / steps].pages[ring > 0 ? index % ring : index]; }
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
    for (int i = thread; i < d; i += threads) {
      float sum = to_float(text[static_cast<size_t>(ids[0]) * d + i]);
#pragma unroll 4
      for (int k = 0; k < n_vq; k++)
        if (ids[1 + k] != pad) sum += to_float(audio[k][static_cast<size_t>(ids[1 + k]) * d + i]);
      x[i] = sum;
    }
  }
};

}  // namespace sonant::cuda
