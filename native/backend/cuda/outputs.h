// What becomes of a product's results: each form takes a pair of neighbouring outputs of one row. What it needs
// for that it reads ahead: `early` what is the same for the whole pass, before the product's own
// inputs are there, `old` what other kernels have left for it, beside the inputs.
#pragma once

#include "backend/cuda/rows.h"

namespace sonant::cuda {

struct Nothing {};

__device__ inline float2 pair_or(const float* from, int i, float otherwise) {
  return from ? *reinterpret_cast<const float2*>(from + i) : make_float2(otherwise, otherwise);
}

// fp32, with a bias if there is one.
struct StoreFloat {
  float* out;
  int ld;
  const float* bias;

  __device__ float2 early(int feature, int) const { return pair_or(bias, feature, 0); }
  __device__ Nothing old(int, int) const { return {}; }
  __device__ void operator()(int feature, int row, float a, float b, float2 bias, Nothing) const {
    store_pair(out + static_cast<size_t>(row) * ld + feature, a + bias.x, b + bias.y);
  }
};

// out += (product + bias) * scale; bias and scale may be absent.
struct AddToStream {
  float* out;
  int ld;
  const float *bias, *scale;

  __device__ float4 early(int feature, int) const {
    const float2 b = pair_or(bias, feature, 0), s = pair_or(scale, feature, 1);
    return {b.x, b.y, s.x, s.y};
  }
  __device__ float2 old(int feature, int row) const { return *reinterpret_cast<const float2*>(out + static_cast<size_t>(row) * ld + feature); }
  __device__ void operator()(int feature, int row, float a, float b, float4 early, float2 old) const {
    store_pair(out + static_cast<size_t>(row) * ld + feature, old.x + (a + early.x) * early.z, old.y + (b + early.y) * early.w);
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
  __device__ float2 early(int feature, int) const { return pair_or(bias, feature, 0); }
  __device__ Nothing old(int, int) const { return {}; }
  __device__ void operator()(int feature, int row, float a, float b, float2 bias, Nothing) const {
    store_pair(out + static_cast<size_t>(row) * ld + feature, gelu(a + bias.x), gelu(b + bias.y));
  }
};

// Where an output of a block's first projection belongs.
struct QkvPlace {
  int part, head, dim;  // part 0: queries, 1: keys, 2: values
  __device__ QkvPlace(int feature, const CacheLayout& layout) {
    const int width = layout.heads * layout.head_dim;
    part = (feature >= width) + (feature >= 2 * width);
    const int within = feature - part * width;
    head = static_cast<int>((static_cast<float>(within) + 0.5f) * layout.inverse);  // exact: the half is more than what rounding takes away
    dim = within - head * layout.head_dim;
  }
};

// By how much pair i of a query or key is turned at its position: cosine and sine.
__device__ inline float2 turn_of(int position, const float* frequencies, int i) {
  float sine, cosine;
  sincosf(static_cast<float>(position) * frequencies[i], &sine, &cosine);
  return make_float2(cosine, sine);
}

// Turns a pair of a query or key; queries are scaled too.
__device__ inline void turn(const QkvPlace& place, float2 by, float scale, float& a, float& b) {
  if (place.part == 2) return;
  const float turned = a * by.x - b * by.y;
  b = b * by.x + a * by.y;
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

// Queries, keys and values: the first two turned, queries scaled and kept for the attention that follows, keys and
// values put into the row's cache.
template <class T>
struct StoreQkv {
  float* q;  // [row][ld]
  int ld;
  const float* bias;
  const RowPlace* places;  // [row]
  const float2* turns;     // [row][head_dim / 2]
  CacheLayout layout;
  int layer;
  float scale;

  __device__ float2 early(int feature, int) const { return pair_or(bias, feature, 0); }
  struct Old {
    RowPlace place;
    float2 turn;
  };
  __device__ Old old(int feature, int row) const { return {places[row], turns[row * (layout.head_dim / 2) + QkvPlace(feature, layout).dim / 2]}; }
  __device__ void operator()(int feature, int row, float a, float b, float2 bias, const Old& old) const {
    a += bias.x, b += bias.y;
    const QkvPlace place(feature, layout);
    turn(place, old.turn, scale, a, b);
    store_qkv(place, layout, layer, old.place.slot, q + static_cast<size_t>(row) * ld, static_cast<T*>(old.place.page), a, b);
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

  __device__ float4 early(int feature, int) const {
    const float2 b = pair_or(bias, feature, 0), by = turn_of(position, frequencies, QkvPlace(feature, layout).dim / 2);
    return {b.x, b.y, by.x, by.y};
  }
  __device__ Nothing old(int, int) const { return {}; }
  __device__ void operator()(int feature, int row, float a, float b, float4 early, Nothing) const {
    a += early.x, b += early.y;
    turn(QkvPlace(feature, layout), make_float2(early.z, early.w), scale, a, b);
    store_pair(out + static_cast<size_t>(row) * ld + feature, a, b);
  }
};

}  // namespace sonant::cuda
