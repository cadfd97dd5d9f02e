// From tensors of a checkpoint to what the CPU backend keeps.
#pragma once

#include "backend/cpu/linear.h"
#include "backend/cpu/transformer.h"
#include "model/safetensors.h"

namespace sonant::cpu {

inline Vector to_vector(const Tensor& tensor) {
  Vector out(static_cast<size_t>(tensor.count()));
  read_f32(tensor, out.data());
  return out;
}

// Packs, adds the size to `bytes`, and lets the pages of the file go: they are not read again.
inline Linear pack_linear(const Kernels& kernels, const Checkpoint& file, const Tensor& tensor, Precision precision, size_t& bytes) {
  Linear linear(kernels, tensor, precision);
  file.release(tensor);
  bytes += linear.bytes();
  return linear;
}

}  // namespace sonant::cpu
