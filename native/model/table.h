// The tensors a checkpoint of given sizes consists of: names, shapes, and how random weights of
// a sensible magnitude look for each. Tied heads are left out; they are stored once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/config.h"

namespace sonant {

enum class Init {
  kConstant,     // every value is `scale`
  kNormal,       // normal with standard deviation `scale`
  kRowNormsOf,   // weight norm's g: the row norms of the tensor named `of`, times `scale`
};

struct TableEntry {
  std::string name;
  std::vector<int64_t> shape;
  Init init = Init::kConstant;
  float scale = 0;
  std::string of;
  bool matrix = false;  // takes part in int8 quantisation
};

// In checkpoint order, official names.
std::vector<TableEntry> lm_table(const LmConfig& config);
std::vector<TableEntry> codec_table(const CodecConfig& config);

// Whether a tensor of this name is one that the int8 form of a checkpoint stores as I8: the
// language model's projections and embeddings, and the projections of the codec's decoder. The
// encoder stays, because its deep codebooks depend on small differences.
bool is_quantisable(const std::string& name);

}  // namespace sonant
