// Names and shapes by role, for making checkpoints. The reading side is weights.cpp.
#include "model/table.h"

#include <cmath>

namespace sonant {
namespace {

class Builder {
 public:
  void constant(const std::string& name, std::vector<int64_t> shape, float value) { add({name, std::move(shape), Init::kConstant, value, "", false}); }
  void normal(const std::string& name, std::vector<int64_t> shape, float deviation) {
    add({name, std::move(shape), Init::kNormal, deviation, "", is_quantisable(name)});
  }
  // Keeps the variance of its input: deviation 1 / sqrt(fan in).
  void linear(const std::string& name, int64_t rows, int64_t cols, float gain = 1.0f) {
    normal(name, {rows, cols}, gain / std::sqrt(static_cast<float>(cols)));
  }
  void norm(const std::string& prefix, int64_t width) {
    constant(prefix + ".weight", {width}, 1.0f);
    constant(prefix + ".bias", {width}, 0.0f);
  }
  // A weight-normed 1x1 convolution; g holds the row norms, so that the folded weight equals v.
  void weight_norm(const std::string& prefix, int64_t rows, int64_t cols) {
    const std::string v = prefix + ".parametrizations.weight.original1";
    constant(prefix + ".bias", {rows}, 0.0f);
    add({prefix + ".parametrizations.weight.original0", {rows, 1, 1}, Init::kRowNormsOf, 1.0f, v, false});
    normal(v, {rows, cols, 1}, 1.0f / std::sqrt(static_cast<float>(cols)));
  }

  std::vector<TableEntry> take() { return std::move(entries_); }

 private:
  void add(TableEntry entry) { entries_.push_back(std::move(entry)); }
  std::vector<TableEntry> entries_;
};

void lm_layer(Builder& table, const std::string& prefix, const LmConfig& c) {
  const int64_t d = c.d_model, ff = c.d_ff;
  const auto linear = [&](const std::string& name, int64_t rows, int64_t cols) {
    table.normal(prefix + name + ".weight", {rows, cols}, 0.02f);
    table.constant(prefix + name + ".bias", {rows}, 0.0f);
  };
  table.norm(prefix + "ln_1", d);
  linear("attn.c_attn", 3 * d, d);
  linear("attn.c_proj", d, d);
  table.norm(prefix + "ln_2", d);
  linear("mlp.fc_in", ff, d);
  linear("mlp.fc_out", d, ff);
}

void codec_stage(Builder& table, const std::string& prefix, const CodecStage& stage, float output_gain) {
  const int64_t d = stage.d_model;
  table.linear(prefix + "input_proj.weight", d, stage.in_dim);
  for (int j = 0; j < stage.n_layer; ++j) {
    const std::string layer = prefix + "transformer.layers." + std::to_string(j) + ".";
    table.linear(layer + "self_attn.in_proj.weight", 3 * d, d);
    table.linear(layer + "self_attn.out_proj.weight", d, d);
    table.norm(layer + "norm1", d);
    table.norm(layer + "norm2", d);
    table.linear(layer + "ffn.0.weight", stage.d_ff, d);
    table.linear(layer + "ffn.2.weight", d, stage.d_ff);
    table.constant(layer + "layer_scale_1.scale", {d}, 0.3f);
    table.constant(layer + "layer_scale_2.scale", {d}, 0.3f);
  }
  table.linear(prefix + "output_proj.weight", stage.out_dim, d, output_gain);
}

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

}  // namespace

std::vector<TableEntry> lm_table(const LmConfig& c) {
  Builder table;
  table.normal("transformer.wte.weight", {c.vocab_size, c.d_model}, 0.02f);
  for (int i = 0; i < c.n_layer; ++i) lm_layer(table, "transformer.h." + std::to_string(i) + ".", c);
  table.norm("transformer.ln_f", c.d_model);
  for (int k = 0; k < c.n_vq; ++k) {
    table.normal("audio_embeddings." + std::to_string(k) + ".weight", {c.codebook_sizes[static_cast<size_t>(k)], c.d_model}, 0.02f);
  }
  for (int i = 0; i < c.local_layers; ++i) lm_layer(table, "local_transformer.h." + std::to_string(i) + ".", c);
  table.norm("local_transformer.ln_f", c.d_model);
  return table.take();
}

std::vector<TableEntry> codec_table(const CodecConfig& c) {
  Builder table;
  for (const CodecStage& stage : c.encoder) codec_stage(table, "encoder." + std::to_string(stage.module_index) + ".", stage, 1.0f);
  table.weight_norm("quantizer.input_proj", c.rvq_dim, c.code_dim);
  table.weight_norm("quantizer.output_proj", c.code_dim, c.rvq_dim);
  for (int i = 0; i < c.n_codebooks; ++i) {
    const std::string prefix = "quantizer.quantizers." + std::to_string(i) + ".";
    table.weight_norm(prefix + "in_proj", c.codebook_dim, c.rvq_dim);
    table.weight_norm(prefix + "out_proj", c.rvq_dim, c.codebook_dim);
    table.normal(prefix + "codebook.weight", {c.codebook_size, c.codebook_dim}, 1.0f);
  }
  for (size_t i = 0; i < c.decoder.size(); ++i) {
    const CodecStage& stage = c.decoder[i];
    // The codes' latents have a deviation of sqrt(n_codebooks); the last projection brings the
    // samples to the level of speech, well away from silence and from full scale.
    const float gain = i + 1 == c.decoder.size() ? 0.1f / std::sqrt(static_cast<float>(c.n_codebooks)) : 1.0f;
    codec_stage(table, "decoder." + std::to_string(stage.module_index) + ".", stage, gain);
  }
  return table.take();
}

bool is_quantisable(const std::string& name) {
  if (name.rfind("decoder.", 0) == 0) {
    for (const char* end : {".input_proj.weight", ".output_proj.weight", ".ffn.0.weight", ".ffn.2.weight", ".self_attn.in_proj.weight", ".self_attn.out_proj.weight",
                            ".self_attn.in_proj_weight", ".self_attn.in_projs.0.weight", ".self_attn.out_projs.0.weight", ".linear1.weight", ".linear2.weight"}) {
      if (ends_with(name, end)) return true;
    }
    return false;
  }
  if (name == "transformer.wte.weight" || (name.rfind("audio_embeddings.", 0) == 0 && ends_with(name, ".weight"))) return true;
  if (name.rfind("transformer.h.", 0) != 0 && name.rfind("local_transformer.h.", 0) != 0) return false;
  return ends_with(name, ".attn.c_attn.weight") || ends_with(name, ".attn.c_proj.weight") || ends_with(name, ".mlp.fc_in.weight") ||
         ends_with(name, ".mlp.fc_out.weight");
}

}  // namespace sonant
