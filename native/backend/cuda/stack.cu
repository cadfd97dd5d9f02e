#include "backend/cuda/stack.h"

#include <cmath>
#include <string>

#include "model/error.h"

namespace sonant::cuda {

CacheLayout StackShape::cache() const {
  for (const int width : {32, 64, 128})
    if (head_dim <= width) return {heads, head_dim, width, 1.0f / static_cast<float>(head_dim)};
  throw Error("unsupported", "The CUDA backend takes attention heads of up to 128 values, not " + std::to_string(head_dim) + ".");
}

template <class T>
Stack<T>::Stack(const StackShape& shape, const std::vector<BlockTensors>& blocks, cudaStream_t stream, size_t& bytes) : shape_(shape) {
  for (const BlockTensors& from : blocks) {
    const auto vector = [&](const Tensor& tensor) { return upload_vector(tensor, stream, bytes); };
    const auto matrix = [&](const Tensor& tensor) { return Matrix<T>(tensor, stream, bytes); };
    blocks_.push_back({vector(from.norm1_w), vector(from.norm1_b), vector(from.norm2_w), vector(from.norm2_b), matrix(from.qkv), matrix(from.proj),
                       matrix(from.fc_in), matrix(from.fc_out), vector(from.qkv_bias), vector(from.proj_bias), vector(from.fc_in_bias),
                       vector(from.fc_out_bias), vector(from.scale1), vector(from.scale2)});
  }
  std::vector<float> frequencies;
  for (int i = 0; i < shape.head_dim / 2; i++)
    frequencies.push_back(1.0f / std::pow(shape.rope_base, static_cast<float>(2 * i) / static_cast<float>(shape.head_dim)));
  frequencies_ = to_device(frequencies, stream);
}

template <class T>
bool Stack<T>::reserve(int m, cudaStream_t stream) {
  const auto rows = static_cast<size_t>(m);
  if (rows * shape_.d <= x_.size()) return false;
  x_.reserve(rows * shape_.d, stream);
  q_.reserve(rows * shape_.d, stream);
  places_.reserve(rows, stream);
  turns_.reserve(rows * static_cast<size_t>(shape_.head_dim / 2), stream);
  normed_.reserve(rows * padded(shape_.d), stream);
  attention_.reserve(rows * padded(shape_.d), stream);
  hidden_.reserve(rows * padded(shape_.ff), stream);
  return true;
}

template <class T>
float Stack<T>::scale() const {
  return 1.0f / std::sqrt(static_cast<float>(shape_.head_dim));
}

template <class T>
void Stack<T>::project(int m, int position, float* out, cudaStream_t stream) const {
  const Block& block = blocks_.front();
  multiply_normed<T>(stream, block.qkv.packed(), x(), shape_.d, m, {block.norm1_w.data(), block.norm1_b.data(), shape_.eps}, scratch(),
                     StoreTurned{out, 3 * shape_.d, block.qkv_bias.data(), frequencies_.data(), shape_.cache(), position, scale()});
}

template <class T>
void Stack<T>::run(const Pass& pass, cudaStream_t stream) const {
  const int d = shape_.d, m = pass.m;
  const CacheLayout layout = shape_.cache();
  if (blocks_.size() > 1 || !pass.has_qkv) place_rows(stream, pass.rows, m, frequencies_.data(), shape_.head_dim / 2, places_.data(), turns_.data());
  for (size_t i = 0; i < blocks_.size(); i++) {
    const Block& block = blocks_[i];
    const int layer = static_cast<int>(i);
    const Norm norm1{block.norm1_w.data(), block.norm1_b.data(), shape_.eps}, norm2{block.norm2_w.data(), block.norm2_b.data(), shape_.eps};
    if (i > 0 || !pass.has_qkv)
      multiply_normed<T>(stream, block.qkv.packed(), x(), d, m, norm1, scratch(),
                         StoreQkv<T>{q_.data(), d, block.qkv_bias.data(), places_.data(), turns_.data(), layout, layer, scale()});
    if (pass.is_short) attend_short<T>(stream, q_.data(), d, m, pass.rows, layout, layer, attention_.data(), padded(d));
    else attend<T>(stream, q_.data(), d, m, pass.rows, pass.tiles, pass.n_tiles, layout, layer, attention_.data(), padded(d));
    multiply<T>(stream, block.proj.packed(), attention_.data(), padded(d), m, AddToStream{x(), d, block.proj_bias.data(), block.scale1.data()});
    multiply_normed<T>(stream, block.fc_in.packed(), x(), d, m, norm2, scratch(),
                       StoreGelu<T>{hidden_.data(), padded(shape_.ff), block.fc_in_bias.data(), shape_.erf_gelu});
    multiply<T>(stream, block.fc_out.packed(), hidden_.data(), padded(shape_.ff), m, AddToStream{x(), d, block.fc_out_bias.data(), block.scale2.data()});
  }
}

template class Stack<float>;
template class Stack<bf16>;

}  // namespace sonant::cuda
