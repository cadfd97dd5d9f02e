// Element types, and values as fp32.
#include "model/tensor.h"

#include <cstring>

#include "model/convert.h"
#include "model/file_error.h"

namespace sonant {
namespace {

// `in` may be unaligned.
template <typename Integer>
void integers_to_f32(const std::byte* in, size_t n, float* out) {
  for (size_t i = 0; i < n; ++i) {
    Integer value;
    std::memcpy(&value, in + i * sizeof value, sizeof value);
    out[i] = static_cast<float>(value);
  }
}

}  // namespace

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "F32";
    case DType::kF16: return "F16";
    case DType::kBF16: return "BF16";
    case DType::kI8: return "I8";
    case DType::kI32: return "I32";
    case DType::kI16: return "I16";
    case DType::kI64: return "I64";
    case DType::kU8: return "U8";
    case DType::kBool: return "BOOL";
  }
  return "unknown";
}

size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::kI64: return 8;
    case DType::kF32:
    case DType::kI32: return 4;
    case DType::kF16:
    case DType::kBF16:
    case DType::kI16: return 2;
    case DType::kI8:
    case DType::kU8:
    case DType::kBool: return 1;
  }
  return 0;
}

bool is_float(DType dtype) { return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16; }

int64_t Tensor::count() const { return static_cast<int64_t>(bytes / dtype_size(dtype)); }
int64_t Tensor::rows() const { return shape.empty() ? 1 : shape[0]; }
int64_t Tensor::cols() const {
  int64_t product = 1;
  for (size_t i = 1; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    product *= shape[i];
  }
  return product;
}

void read_rows_f32(const Tensor& tensor, int64_t row, int64_t n, float* out) {
  if (row < 0 || n < 0 || row > tensor.rows() || n > tensor.rows() - row) {
    throw Error("model_invalid", "Rows " + std::to_string(row) + " to " + std::to_string(row + n) + " of " + show_tensor(tensor.name) +
                                     " were asked for but it has " + std::to_string(tensor.rows()) + ".");
  }
  const int64_t cols = tensor.cols();
  if (n == 0 || cols == 0) return;
  const auto count = static_cast<size_t>(n * cols);
  const std::byte* data = tensor.data + static_cast<size_t>(row * cols) * dtype_size(tensor.dtype);
  switch (tensor.dtype) {
    case DType::kF32: std::memcpy(out, data, count * sizeof(float)); return;
    case DType::kBF16: bf16_to_f32(data, count, out); return;
    case DType::kF16: f16_to_f32(data, count, out); return;
    case DType::kI32: integers_to_f32<int32_t>(data, count, out); return;
    case DType::kI16: integers_to_f32<int16_t>(data, count, out); return;
    case DType::kI64: integers_to_f32<int64_t>(data, count, out); return;
    case DType::kU8: integers_to_f32<uint8_t>(data, count, out); return;
    case DType::kBool:
      for (size_t i = 0; i < count; ++i) out[i] = data[i] == std::byte{0} ? 0.0f : 1.0f;
      return;
    case DType::kI8: {
      const int64_t groups = (cols + kInt8Group - 1) / kInt8Group;
      const std::byte* scale = tensor.scale + static_cast<size_t>(row * groups) * sizeof(float);
      for (int64_t r = 0; r < n; ++r) {
        i8_to_f32(data + r * cols, scale + static_cast<size_t>(r * groups) * sizeof(float), static_cast<size_t>(cols), out + r * cols);
      }
      return;
    }
  }
}

void read_f32(const Tensor& tensor, float* out) { read_rows_f32(tensor, 0, tensor.rows(), out); }

}  // namespace sonant
