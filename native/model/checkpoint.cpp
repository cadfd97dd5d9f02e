// Opens checkpoints: finds the files, maps them, and puts their tensors under their names.
#include "model/checkpoint.h"

#include <sys/stat.h>

#include <set>
#include <string_view>

#include "model/file_error.h"
#include "model/mapped_file.h"
#include "model/safetensors.h"
#include "model/shape.h"
#include "model/shard_index.h"
#include "model/torch_file.h"

namespace sonant {

namespace {

bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

}  // namespace

Checkpoint::~Checkpoint() = default;

void Checkpoint::add_file(const std::string& path) {
  files_.push_back(std::make_unique<MappedFile>(path));
  const auto bytes = files_.back()->bytes();
  const bool torch = begins_like_zip(bytes) || path.ends_with(".bin") || path.ends_with(".pt");
  for (Tensor& tensor : torch ? read_torch_file(path, bytes) : read_safetensors(path, bytes)) {
    const std::string name = tensor.name;
    const auto [at, fresh] = tensors_.emplace(name, std::move(tensor));
    if (!fresh) invalid_file(path, show_tensor(name) + " is also in another file of the model");
    in_order_.push_back(&at->second);
  }
}

void Checkpoint::add_shards(const std::string& folder, const std::string& index_path) {
  const ShardIndex index = read_shard_index(index_path);
  for (const auto& [file, names] : index.shards) {
    const size_t before = in_order_.size();
    add_file(folder + "/" + file);
    std::set<std::string_view> here;
    for (size_t i = before; i < in_order_.size(); ++i) here.insert(in_order_[i]->name);
    for (const std::string& name : names) {
      if (!here.contains(name)) invalid_file(index_path, show_tensor(name) + " is not in the file " + shown(file) + " that it is mapped to");
    }
  }
  // Less is no lie: tied weights count once in some indices.
  uint64_t total = 0;
  for (const Tensor* tensor : in_order_) total += tensor->bytes;
  if (index.total_size > total) {
    invalid_file(index_path, "its total_size is " + std::to_string(index.total_size) + " bytes but the tensors of its files have " + std::to_string(total));
  }
}

void Checkpoint::attach_scales() {
  for (auto& [name, tensor] : tensors_) {
    if (tensor.dtype != DType::kI8) continue;
    const std::vector<int64_t> expected{tensor.rows(), (tensor.cols() + kInt8Group - 1) / kInt8Group};
    const auto scale = tensors_.find(name + ".scale");
    if (scale == tensors_.end()) invalid_file(files_[0]->path(), show_tensor(name) + " is I8 but has no companion \"" + name.substr(0, 200) + ".scale\"");
    if (scale->second.dtype != DType::kF32 || scale->second.shape != expected) {
      invalid_file(files_[0]->path(), show_tensor(scale->first) + " is " + dtype_name(scale->second.dtype) + " " +
                                      show_shape(scale->second.shape) + " but must be F32 " + show_shape(expected));
    }
    tensor.scale = scale->second.data;
  }
}

std::shared_ptr<Checkpoint> Checkpoint::open(const std::string& folder) {
  for (const char* name : {"/model.safetensors", "/pytorch_model.bin"}) {
    const std::string single = folder + name;
    const std::string index = single + ".index.json";
    if (exists(single)) return open_file(single);
    if (!exists(index)) continue;
    std::shared_ptr<Checkpoint> checkpoint(new Checkpoint);
    checkpoint->add_shards(folder, index);
    checkpoint->attach_scales();
    return checkpoint;
  }
  throw Error("model_missing", "The folder " + folder + " holds no weights: neither model.safetensors nor pytorch_model.bin, nor an index of either (model.safetensors.index.json, pytorch_model.bin.index.json).");
}

std::shared_ptr<Checkpoint> Checkpoint::open_file(const std::string& path) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->add_file(path);
  checkpoint->attach_scales();
  return checkpoint;
}

bool Checkpoint::has(const std::string& name) const { return tensors_.count(name) != 0; }

const Tensor& Checkpoint::get(const std::string& name) const {
  const auto at = tensors_.find(name);
  if (at == tensors_.end()) invalid_file(files_[0]->path(), show_tensor(name) + " is missing");
  return at->second;
}

const Tensor& Checkpoint::get(const std::string& name, const std::vector<int64_t>& shape) const {
  const Tensor& tensor = get(name);
  if (tensor.shape != shape) {
    invalid_file(files_[0]->path(), show_tensor(name) + " has the shape " + show_shape(tensor.shape) + " but the config asks for " + show_shape(shape));
  }
  return tensor;
}

void Checkpoint::release(const Tensor& tensor) const { release_pages({tensor.data, tensor.bytes}); }

}  // namespace sonant
