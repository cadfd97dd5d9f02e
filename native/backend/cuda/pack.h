// Weights on the device: matrices in the order that the products read, vectors and tables as they are.
#pragma once

#include <vector>

#include "backend/cuda/memory.h"
#include "model/safetensors.h"

namespace sonant::cuda {

// A weight matrix [n][k] in the products' order for T. Counts what it takes in `bytes`.
template <class T>
class Matrix {
 public:
  Matrix() = default;
  Matrix(const Tensor& tensor, cudaStream_t stream, size_t& bytes);
  Matrix(const float* rows, int n, int k, cudaStream_t stream, size_t& bytes);
  const PackedMatrix& packed() const { return packed_; }

 private:
  DeviceBuffer<T> data_;
  PackedMatrix packed_;
};

// A tensor's rows as T, in their own order.
template <class T>
DeviceBuffer<T> upload_table(const Tensor& tensor, cudaStream_t stream, size_t& bytes);
// A vector in fp32; empty for an absent tensor.
DeviceBuffer<float> upload_vector(const Tensor& tensor, cudaStream_t stream, size_t& bytes);

}  // namespace sonant::cuda
