// The index of a checkpoint that is spread over several files: model.safetensors.index.json or
// pytorch_model.bin.index.json, as Hugging Face writes them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace sonant {

struct ShardIndex {
  std::map<std::string, std::vector<std::string>> shards;  // tensor names by file name
  uint64_t total_size = 0;                                 // bytes of all tensors; 0 where the index does not say
};

// Shards are plain names of files in the index's own folder; anything that could lead out of it is
// refused. Throws Error("model_missing") without a readable file and Error("model_invalid") naming
// the tensor that is mapped wrongly.
ShardIndex read_shard_index(const std::string& path);

}  // namespace sonant
