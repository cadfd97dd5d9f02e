// What becomes of a product's results: each form takes a pair of neighbouring outputs of one row.
#pragma once

#include "backend/cuda/rows.h"

namespace sonant::cuda {

// fp32, with a bias if there is one.
struct StoreFloat {
  float* out;
  int ld;
  const float* bias;

  __device__ void operator()(int feature, int row, float a, float b) const {
    if (bias) a += bias[feature], b += bias[feature + 1];
    store_pair(out + static_cast<size_t>(row) * ld + feature, a, b);
  }
};

// out += (product + bias) * scale; bias and scale may be absent.
struct AddToStream {
  float* out;
  int ld;
  const float *bias, *scale;

  __device__ void operator()(int feature, int row, float a, float b) const {
    if (bias) a += bias[feature], b += bias[feature + 1];
    if (scale) a *= scale[feature], b *= scale[feature + 1];
    float* at = out + static_cast<size_t>(row) * ld + feature;
    store_pair(at, at[0] + a, at[1] + b);
  }
};

// GELU of product + bias, in the tanh or the erf form.
template <class T>
struct StoreGelu {
  T* out;
  int ld;
  const float* bias;
  bool erf_form;

  __device__ float gelu(float x) const {
    if (erf_form) return 0.5f * x * (1.0f + erff(x * 0.70710678118654752f));
    return 0.5f * x * (1.0f + tanhf(0.79788456080286536f * (x + 0.044715f * x * x * x)));
  }
  __device__ void operator()(int feature, int row, float a, float b) const {
    if (bias) a += bias[feature], b += bias[feature + 1];
    store_pair(out + static_cast<size_t>(row) * ld + feature, gelu(a), gelu(b));
  }
};

// Where an output of a block's first projection belongs.
struct QkvPlace {
  int part, head, dim;  // part 0: queries, 1: keys, 2: values
  __device__ QkvPlace(int feature, const CacheLayout& layout) {
    const int width = layout.heads * layout.head_dim, within = feature % width;
    part = feature / width, head = within / layout.head_dim, dim = within % layout.head_dim;
  }
};

// Turns a pair of a query or key by its position; queries are scaled too.
__device__ inline void turn(const QkvPlace& place, int64_t position, const float* frequencies, float scale, float& a, float& b) {
  if (place.part == 2) return;
  float sine, cosine;
  sincosf(static_cast<float>(position) * frequencies[place.dim / 2], &sine, &cosine);
  const float turned = a * cosine - b * sine;
  b = b * cosine + a * sine;
  a = turned;
  if (place.part == 0) a *= scale, b *= scale;
}

// A pair into its row of queries [d], or its slot of a page.
template <class T>
__device__ inline void store_qkv(const QkvPlace& place, const CacheLayout& layout, int layer, int slot, float* q, T* page, float a, float b) {
  if (place.part == 0) return store_pair(q + place.head * layout.head_dim + place.dim, a, b);
  T* at = page + layout.head(layer, place.head);
  if (place.part == 1) return store_pair(at + layout.key<T>(slot, place.dim), a, b);
  if constexpr (sizeof(T) == 4) {
    store_pair(at + layout.value<T>(slot, place.dim), a, b);
  } else {
    const uint32_t pair = pack_bf16(a, b);
    at[layout.value<T>(slot, place.dim)] = {static_cast<uint16_t>(pair)};
    at[layout.value<T>(slot, place.dim + 1)] = {static_cast<uint16_t>(pair >> 16)};
  }
}

// Queries, keys and values: the first two rotated by the row's position, queries scaled and kept
// for the attention that follows, keys and values put into the row's cache.
template <class T>
struct StoreQkv {
  float* q;  // [row][ld]
  int ld;
  const float* bias;
  const float* frequencies;  // [head_dim / 2]
  Rows rows;
  CacheLayout layout;
  int layer;
  float scale;

  __device__ void operator()(int feature, int row, float a, float b) const {
    if (bias) a += bias[feature], b += bias[feature + 1];
    const QkvPlace place(feature, layout);
    const int64_t position = rows.position(row);
    turn(place, position, frequencies, scale, a, b);
    T* page = static_cast<T*>(rows.page(row, position / kPageRows));
    store_qkv(place, layout, layer, static_cast<int>(position % kPageRows), q + static_cast<size_t>(row) * ld, page, a, b);
  }
};

// The same for one position, kept in fp32 rows [3 d] for later.
struct StoreTurned {
  float* out;
  int ld;
  const float* bias;
  const float* frequencies;
  CacheLayout layout;
  int position;
  float scale;

  __device__ void operator()(int feature, int row, float a, float b) const {
    if (bias) a += bias[feature], b += bias[feature + 1];
    turn(QkvPlace(feature, layout), position, frequencies, scale, a, b);
    store_pair(out + static_cast<size_t>(row) * ld + feature, a, b);
  }
};

}  // namespace sonant::cuda
