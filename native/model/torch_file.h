// The tensors of a file that torch.save wrote (pytorch_model.bin, .pt): a zip file with a pickle
// that describes them and one stored entry for each storage. Nothing of the pickle is run.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/safetensors.h"

namespace sonant {

// Whether `file` begins as zip files do; a safetensors file cannot.
bool begins_like_zip(std::span<const std::byte> file);

// The tensors of a state dict, or of one that lies under the key "state_dict", in its order, as
// views into `file`; several may share their bytes, as tied weights do. Values that are no tensors
// are left out. Throws Error("model_invalid") naming what is refused: a file of before PyTorch 1.6,
// a big-endian one, any Python name that tensors and containers do not need, a tensor that is not
// where its storage says, or whose rows do not follow one another.
std::vector<Tensor> read_torch_file(const std::string& path, std::span<const std::byte> file);

}  // namespace sonant
