// Read-only view of checkpoints: files are memory-mapped, and everything they say of themselves is
// checked against them before a byte is trusted. A file that is truncated, oversized or lies about
// a tensor gives Error("model_invalid") naming file and tensor, never a crash.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/tensor.h"

namespace sonant {

class MappedFile;

// A checkpoint: one file, of safetensors or of torch.save, or several behind an index. Thread-safe
// after construction.
class Checkpoint {
 public:
  // `folder` holds, and is read from the first of: model.safetensors, model.safetensors.index.json,
  // pytorch_model.bin, pytorch_model.bin.index.json. Throws Error.
  static std::shared_ptr<Checkpoint> open(const std::string& folder);
  // One file by name (fixtures, tests, conversion); its first bytes tell which kind it is.
  static std::shared_ptr<Checkpoint> open_file(const std::string& path);
  ~Checkpoint();

  const std::map<std::string, Tensor>& tensors() const { return tensors_; }
  // The same tensors in the order in which the files have them.
  const std::vector<const Tensor*>& in_order() const { return in_order_; }
  bool has(const std::string& name) const;
  // Throws Error("model_invalid") when the tensor is absent, or, with `shape`, has another one.
  const Tensor& get(const std::string& name) const;
  const Tensor& get(const std::string& name, const std::vector<int64_t>& shape) const;
  // Tells the system that the pages of a tensor are no longer needed (they stay readable).
  void release(const Tensor& tensor) const;

 private:
  Checkpoint() = default;
  void add_file(const std::string& path);
  void add_shards(const std::string& folder, const std::string& index);
  void attach_scales();

  std::vector<std::unique_ptr<MappedFile>> files_;
  std::map<std::string, Tensor> tensors_;
  std::vector<const Tensor*> in_order_;
};

}  // namespace sonant
