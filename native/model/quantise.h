// Makes checkpoints: our int8 form of one that exists, and random ones of any size for
// benchmarks and tests. Works tensor by tensor, so memory stays at the largest tensor.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "model/safetensors.h"
#include "model/table.h"

namespace sonant {

// The int8 form of a checkpoint: rewrite_checkpoint with StoredAs::kInt8.
void quantise_checkpoint(const std::string& in_folder, const std::string& out_folder,
                         const std::function<bool(const std::string& name)>& keep);

enum class RandomDType { kF32, kBf16, kInt8 };

// Writes `path` with random values. The values of a tensor depend on the seed and its name
// alone. kInt8 stores the table's matrices as I8 and the rest as BF16. `talkative`, of a language model's table, adds to
// the bias in front of the decision whether to go on what makes it go on until it is cut.
void random_checkpoint(const std::vector<TableEntry>& table, RandomDType dtype, uint64_t seed, const std::string& path,
                       const LmConfig* talkative = nullptr);

}  // namespace sonant
