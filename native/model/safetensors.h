// Read-only view of safetensors files: memory-mapped, every header field checked against
// the file before a byte is trusted. A file that is truncated, oversized or lies about a
// tensor gives Error("model_invalid") naming file and tensor, never a crash.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sonant {

enum class DType { kF32, kF16, kBF16, kI8, kI32 };
const char* dtype_name(DType dtype);
size_t dtype_size(DType dtype);

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

// A checkpoint: one safetensors file, or several behind an index
// (`model.safetensors.index.json`). Thread-safe after construction.
class Checkpoint {
 public:
  // `folder` holds model.safetensors or model.safetensors.index.json. Throws Error.
  static std::shared_ptr<Checkpoint> open(const std::string& folder);
  // One file by name (fixtures, tests).
  static std::shared_ptr<Checkpoint> open_file(const std::string& path);
  ~Checkpoint();

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  bool has(const std::string& name) const;
  // Throws Error("model_invalid") when the tensor is absent, or, with `shape`, has another one.
  const Tensor& get(const std::string& name) const;
  const Tensor& get(const std::string& name, const std::vector<int64_t>& shape) const;
  // Tells the system that the pages of a tensor are no longer needed (they stay readable).
  void release(const Tensor& tensor) const;

 private:
  Checkpoint() = default;
  struct Mapping;
  void add_file(const std::string& path);
  void attach_scales();

  std::vector<std::unique_ptr<Mapping>> mappings_;
  std::map<std::string, Tensor> tensors_;
};

// Writes a safetensors file (tensors in map order, atomically: temp file, fsync, rename).
struct TensorOut {
  DType dtype;
  std::vector<int64_t> shape;
  std::vector<std::byte> data;
};
void write_safetensors(const std::string& path, const std::map<std::string, TensorOut>& tensors);

}  // namespace sonant
