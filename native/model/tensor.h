// One named tensor of a checkpoint, and its values as fp32.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace sonant {

// Weights are F32, F16, BF16 or I8. The others are read so that a checkpoint may hold counters and masks.
enum class DType { kF32, kF16, kBF16, kI8, kI32, kI16, kI64, kU8, kBool };
const char* dtype_name(DType dtype);  // as safetensors spells it
size_t dtype_size(DType dtype);       // in bytes
bool is_float(DType dtype);

// One tensor inside a mapping. `data` is not necessarily aligned. Valid while the Checkpoint lives.
//
// Our int8 format: a matrix `X` of DType I8 [rows, cols] has a companion `X.scale`, F32
// [rows, ceil(cols / kInt8Group)]; value = int8 * scale of its row and group of kInt8Group columns.
struct Tensor {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
  const std::byte* data = nullptr;
  size_t bytes = 0;
  const std::byte* scale = nullptr;  // kI8 only: the companion's F32 data

  int64_t count() const;
  int64_t rows() const;  // first dimension (1 for a scalar)
  int64_t cols() const;  // product of the others
};
inline constexpr int kInt8Group = 64;

// Converts to fp32: the whole tensor, or `n` rows from `row`. Out has n * cols floats.
void read_f32(const Tensor& tensor, float* out);
void read_rows_f32(const Tensor& tensor, int64_t row, int64_t n, float* out);

}  // namespace sonant
