// Quantised and random checkpoints.
#include "model/quantise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numbers>

#include "model/convert.h"
#include "model/error.h"
#include "model/rewrite.h"
#include "model/safetensors_writer.h"

namespace sonant {
namespace {

int64_t groups_of(int64_t cols) { return (cols + kInt8Group - 1) / kInt8Group; }

struct Int8Matrix {
  std::vector<std::byte> values;
  std::vector<float> scales;
};

Int8Matrix to_int8(const std::vector<float>& matrix, int64_t rows, int64_t cols) {
  Int8Matrix out;
  out.values.resize(matrix.size());
  out.scales.resize(static_cast<size_t>(rows * groups_of(cols)));
  for (int64_t r = 0; r < rows; ++r) {
    f32_to_i8(matrix.data() + r * cols, static_cast<size_t>(cols), out.values.data() + r * cols, out.scales.data() + r * groups_of(cols));
  }
  return out;
}

// Normal values that depend on seed and name alone: hashed key, splitmix64 words, Box-Muller.
class Normal {
 public:
  Normal(uint64_t seed, const std::string& name) : key_(seed) {
    for (const char c : name) key_ = (key_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;  // FNV-1a
  }

  void fill(std::vector<float>& out, float deviation) {
    for (size_t i = 0; i < out.size(); i += 2) {
      const uint64_t word = next();
      const float u = (static_cast<float>(word >> 40) + 1.0f) * 0x1p-24f;  // in (0, 1]
      const float angle = static_cast<float>(word & 0xffffffu) * 0x1p-24f * 2.0f * std::numbers::pi_v<float>;
      const float radius = deviation * std::sqrt(-2.0f * std::log(u));
      out[i] = radius * std::cos(angle);
      if (i + 1 < out.size()) out[i + 1] = radius * std::sin(angle);
    }
  }

 private:
  uint64_t next() {  // splitmix64
    uint64_t z = key_ += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t key_;
};

size_t element_count(const std::vector<int64_t>& shape) {
  size_t count = 1;
  for (const int64_t dim : shape) count *= static_cast<size_t>(dim);
  return count;
}

std::vector<float> random_values(const TableEntry& entry, const std::map<std::string, const TableEntry*>& by_name, uint64_t seed) {
  std::vector<float> values(element_count(entry.shape));
  switch (entry.init) {
    case Init::kConstant: std::fill(values.begin(), values.end(), entry.scale); break;
    case Init::kNormal: Normal(seed, entry.name).fill(values, entry.scale); break;
    case Init::kRowNormsOf: {
      const auto source = by_name.find(entry.of);
      if (source == by_name.end() || source->second->init == Init::kRowNormsOf || source->second->shape.at(0) != entry.shape.at(0)) {
        throw Error("model_invalid", "The row norms \"" + entry.name + "\" have no matrix \"" + entry.of + "\".");
      }
      const std::vector<float> matrix = random_values(*source->second, by_name, seed);
      const size_t cols = matrix.size() / values.size();
      for (size_t r = 0; r < values.size(); ++r) {
        double square = 0;
        for (size_t c = 0; c < cols; ++c) square += static_cast<double>(matrix[r * cols + c]) * matrix[r * cols + c];
        values[r] = entry.scale * static_cast<float>(std::sqrt(square));
      }
    }
  }
  return values;
}

// What `bias` needs for the text logit of "go on" to be this far above that of "stop"; by chance they differ by about 1.
constexpr float kTalkativeness = 16;

void make_talkative(std::vector<float>& bias, const std::vector<float>& embeddings, const LmConfig& config) {
  const size_t width = bias.size();
  const float* go_on = &embeddings[config.assistant_slot_id * width];
  const float* stop = &embeddings[config.audio_end_id * width];
  float square = 0;
  for (size_t i = 0; i < width; ++i) square += (go_on[i] - stop[i]) * (go_on[i] - stop[i]);
  for (size_t i = 0; i < width; ++i) bias[i] += kTalkativeness * (go_on[i] - stop[i]) / square;
}

}  // namespace

void quantise_checkpoint(const std::string& in_folder, const std::string& out_folder, const std::function<bool(const std::string& name)>& keep) {
  rewrite_checkpoint(in_folder, out_folder, StoredAs::kInt8, keep);
}

void random_checkpoint(const std::vector<TableEntry>& table, RandomDType dtype, uint64_t seed, const std::string& path, const LmConfig* talkative) {
  std::map<std::string, const TableEntry*> by_name;
  for (const TableEntry& entry : table) by_name[entry.name] = &entry;
  const DType plain = dtype == RandomDType::kF32 ? DType::kF32 : DType::kBF16;
  const auto int8 = [dtype](const TableEntry& entry) { return dtype == RandomDType::kInt8 && entry.matrix; };

  std::vector<TensorSpec> specs;
  for (const auto& [name, entry] : by_name) {
    specs.push_back({name, int8(*entry) ? DType::kI8 : plain, entry->shape});
    if (int8(*entry)) specs.push_back({name + ".scale", DType::kF32, {entry->shape.at(0), groups_of(entry->shape.at(1))}});
  }
  SafetensorsWriter writer(path, specs);
  for (const auto& [name, entry] : by_name) {
    std::vector<float> values = random_values(*entry, by_name, seed);
    if (talkative && name == "local_transformer.ln_f.bias") make_talkative(values, random_values(*by_name.at("transformer.wte.weight"), by_name, seed), *talkative);
    if (int8(*entry)) {
      const Int8Matrix matrix = to_int8(values, entry->shape.at(0), entry->shape.at(1));
      writer.write(matrix.values.data(), matrix.values.size());
      writer.write(matrix.scales.data(), matrix.scales.size() * sizeof(float));
    } else if (plain == DType::kF32) {
      writer.write(values.data(), values.size() * sizeof(float));
    } else {
      std::vector<std::byte> half(values.size() * 2);
      f32_to_bf16(values.data(), values.size(), half.data());
      writer.write(half.data(), half.size());
    }
  }
  writer.finish();
}

}  // namespace sonant
