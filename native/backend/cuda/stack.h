// A stack of pre-norm transformer blocks on the device: the language model's global and local
// transformers and the codec's stages are the same code; biases, layer scales and the form of GELU
// differ.
#pragma once

#include <vector>

#include "backend/cuda/pack.h"

namespace sonant::cuda {

struct StackShape {
  int d = 0, heads = 0, head_dim = 0, ff = 0;
  float eps = 1e-5f, rope_base = 10000.0f;
  bool erf_gelu = false;

  // Throws Error("unsupported") for heads wider than 128.
  CacheLayout cache() const;
};

// Tensors of one block; those that a model lacks stay empty.
struct BlockTensors {
  Tensor norm1_w, norm1_b, norm2_w, norm2_b;
  Tensor qkv, proj, fc_in, fc_out;
  Tensor qkv_bias, proj_bias, fc_in_bias, fc_out_bias;
  Tensor scale1, scale2;
};

// How the rows of a pass see the cache.
struct Pass {
  Rows rows;
  int m = 0;
  bool is_short = false;  // no row is past the first page
  bool has_qkv = false;   // queries, keys and values of the first block are in place already
  Tiles tiles;            // otherwise
  int n_tiles = 0;
};

template <class T>
class Stack {
 public:
  Stack(const StackShape& shape, const std::vector<BlockTensors>& blocks, cudaStream_t stream, size_t& bytes);

  const StackShape& shape() const { return shape_; }
  size_t page_bytes() const { return shape_.cache().layer_values() * blocks_.size() * sizeof(T); }

  // Room for m rows. True when buffers have moved, which makes captured graphs invalid.
  bool reserve(int m, cudaStream_t stream);
  // The residual stream [m][d], which run() takes its rows from and leaves them in.
  float* x() const { return x_.data(); }
  int ldx() const { return shape_.d; }
  ProductRows<T> scratch() const { return {normed_.data(), padded(shape_.d)}; }
  void run(const Pass& pass, cudaStream_t stream) const;
  // Queries of a pass that has them already [m][d].
  float* q() const { return q_.data(); }
  // What the first block's projection makes of the m rows in x() at one position, turned and scaled: out [m][3 d].
  void project(int m, int position, float* out, cudaStream_t stream) const;

 private:
  struct Block {
    DeviceBuffer<float> norm1_w, norm1_b, norm2_w, norm2_b;
    Matrix<T> qkv, proj, fc_in, fc_out;
    DeviceBuffer<float> qkv_bias, proj_bias, fc_in_bias, fc_out_bias, scale1, scale2;
  };
  float scale() const;
  static int padded(int k) { return (k + kBlockK - 1) / kBlockK * kBlockK; }

  const StackShape shape_;
  std::vector<Block> blocks_;
  DeviceBuffer<float> frequencies_;
  DeviceBuffer<float> x_, q_;
  DeviceBuffer<RowPlace> places_;  // of a pass's rows
  DeviceBuffer<float2> turns_;     // [row][head_dim / 2]
  DeviceBuffer<T> normed_, attention_, hidden_;
};

}  // namespace sonant::cuda
