// Writes one safetensors file tensor by tensor, so that a model larger than memory can be made.
// The file appears under its name only when it is complete: temporary file, fsync, rename.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <vector>

#include "model/safetensors.h"

namespace sonant {

struct TensorSpec {
  std::string name;
  DType dtype = DType::kF32;
  std::vector<int64_t> shape;
};

class SafetensorsWriter {
 public:
  // Writes the header. Throws Error("engine_failed") when the folder cannot be written to and
  // Error("model_invalid") for a shape that is negative or too large.
  SafetensorsWriter(const std::string& path, std::vector<TensorSpec> tensors);
  ~SafetensorsWriter();  // removes what is there if finish() was not reached
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // The data of the next tensor, whole, in the order given to the constructor.
  void write(const void* data, size_t bytes);
  // The same in parts of any size that end where the tensor ends.
  void write_part(const void* data, size_t bytes);
  // Makes the file appear. All tensors must have been written.
  void finish();

 private:
  [[noreturn]] void fail(const std::string& doing) const;
  void put(const void* data, size_t bytes);
  // Bytes that the next tensor takes in all.
  uint64_t next_bytes() const;

  std::string path_;
  std::string temporary_;
  std::vector<TensorSpec> tensors_;
  size_t next_ = 0;
  uint64_t written_ = 0;  // bytes of the next tensor that are there
  std::FILE* file_ = nullptr;
};

}  // namespace sonant
