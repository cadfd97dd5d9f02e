// Rewrites a checkpoint of any kind that can be read into one model.safetensors, which is the kind that
// opens fastest. Works piece by piece, so memory stays small whatever the size of the tensors.
#pragma once

#include <functional>
#include <string>

namespace sonant {

// Which type floating-point tensors are stored in. kBf16 and kF32 take int8 matrices back to numbers of
// their own; integers and masks are always kept.
enum class StoredAs { kKeep, kBf16, kF32, kInt8 };

// Reads `in`, a checkpoint folder or one file of weights, and writes model.safetensors into
// `out_folder`, which is made where it is absent and must be another one. Names and order are those of
// the source. kInt8 stores the matrices (see is_quantisable), apart from those for which `keep` says
// true, as I8 with a `.scale` companion, scales chosen for the least squared error, and drops tied
// heads, since readers never look at them. Small files beside the weights (config, tokenizer) are
// copied from a folder. The new file appears when it is complete. Throws Error as Checkpoint::open
// does, Error("bad_request") for one folder twice, and Error("engine_failed") when writing fails.
void rewrite_checkpoint(const std::string& in, const std::string& out_folder, StoredAs as, const std::function<bool(const std::string& name)>& keep);

// Copies the files beside the weights: what a checkpoint folder holds besides its tensors.
void copy_companions(const std::string& in_folder, const std::string& out_folder);

}  // namespace sonant
