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
    const int width = layout.heads * layout.head_dim, part = feature / width, within = feature % width;
    const int head = within / layout.head_dim, dim = within % layout.head_dim;
    const int64_t position = rows.position(row);
    if (part < 2) {
      float sine, cosine;
      sincosf(static_cast<float>(position) * frequencies[dim / 2], &sine, &cosine);
      const float turned = a * cosine - b * sine;
      b = b * cosine + a * sine;
      a = turned;
    }
    if (part == 0) return store_pair(q + static_cast<size_t>(row) * ld + within, a * scale, b * scale);
    T* at = static_cast<T*>(rows.page(row, position / kPageRows)) + layout.head(layer, head);
    const int slot = static_cast<int>(position % kPageRows);
    store_pair(at + (part == 1 ? layout.key<T>(slot, dim) : layout.value(slot, dim)), a, b);
  }
};

}  // namespace sonant::cuda
