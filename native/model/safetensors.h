// The safetensors format: what a file of it holds, and writing one. Whoever reads weights wants a
// Checkpoint, which comes along.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/checkpoint.h"
#include "model/tensor.h"

namespace sonant {

// The tensors of `file` in the order of their bytes, as views into it. Throws Error("model_invalid")
// with `path` in its sentence for a header that does not fit the file, tensor by tensor.
std::vector<Tensor> read_safetensors(const std::string& path, std::span<const std::byte> file);

// Writes a safetensors file (tensors in map order, atomically: temp file, fsync, rename).
struct TensorOut {
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
};
void write_safetensors(const std::string& path, const std::map<std::string, TensorOut>& tensors);

}  // namespace sonant
