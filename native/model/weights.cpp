// Finds every tensor a model needs by its official or legacy name and checks its shape.
#include "model/weights.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>

#include "model/error.h"
#include "model/shape.h"

namespace sonant {
namespace {

using Names = std::initializer_list<std::string>;

// The first name that the checkpoint has; when it has none, the error speaks of the official one.
const Tensor& find(const Checkpoint& file, Names names) {
  for (const std::string& name : names) {
    if (file.has(name)) return file.get(name);
  }
  return file.get(*names.begin());
}

Tensor weight(const Checkpoint& file, Names names, std::initializer_list<int64_t> shape) {
  const Tensor& found = find(file, names);
  const Tensor& tensor = file.get(found.name, std::vector<int64_t>(shape));
  if (!is_float(tensor.dtype) && tensor.dtype != DType::kI8) {
    throw Error("model_invalid", "The tensor \"" + tensor.name + "\" holds " + dtype_name(tensor.dtype) + " values where weights must be F32, F16, BF16 or I8.");
  }
  return tensor;
}

LmLayerWeights lm_layer(const Checkpoint& file, const std::string& prefix, const LmConfig& c) {
  const int64_t d = c.d_model, ff = c.d_ff;
  LmLayerWeights layer;
  layer.ln1_w = weight(file, {prefix + "ln_1.weight"}, {d});
  layer.ln1_b = weight(file, {prefix + "ln_1.bias"}, {d});
  layer.attn_w = weight(file, {prefix + "attn.c_attn.weight"}, {3 * d, d});
  layer.attn_b = weight(file, {prefix + "attn.c_attn.bias"}, {3 * d});
  layer.proj_w = weight(file, {prefix + "attn.c_proj.weight"}, {d, d});
  layer.proj_b = weight(file, {prefix + "attn.c_proj.bias"}, {d});
  layer.ln2_w = weight(file, {prefix + "ln_2.weight"}, {d});
  layer.ln2_b = weight(file, {prefix + "ln_2.bias"}, {d});
  layer.fc_in_w = weight(file, {prefix + "mlp.fc_in.weight"}, {ff, d});
  layer.fc_in_b = weight(file, {prefix + "mlp.fc_in.bias"}, {ff});
  layer.fc_out_w = weight(file, {prefix + "mlp.fc_out.weight"}, {d, ff});
  layer.fc_out_b = weight(file, {prefix + "mlp.fc_out.bias"}, {d});
  return layer;
}

CodecLayerWeights codec_layer(const Checkpoint& file, const std::string& prefix, const CodecStage& stage) {
  const int64_t d = stage.d_model, ff = stage.d_ff;
  const std::string attention = prefix + "self_attn.";
  CodecLayerWeights layer;
  layer.norm1_w = weight(file, {prefix + "norm1.weight"}, {d});
  layer.norm1_b = weight(file, {prefix + "norm1.bias"}, {d});
  layer.norm2_w = weight(file, {prefix + "norm2.weight"}, {d});
  layer.norm2_b = weight(file, {prefix + "norm2.bias"}, {d});
  layer.in_proj = weight(file, {attention + "in_proj.weight", attention + "in_proj_weight", attention + "in_projs.0.weight"}, {3 * d, d});
  layer.out_proj = weight(file, {attention + "out_proj.weight", attention + "out_projs.0.weight"}, {d, d});
  layer.ffn0 = weight(file, {prefix + "ffn.0.weight", prefix + "linear1.weight"}, {ff, d});
  layer.ffn2 = weight(file, {prefix + "ffn.2.weight", prefix + "linear2.weight"}, {d, ff});
  layer.scale1 = weight(file, {prefix + "layer_scale_1.scale"}, {d});
  layer.scale2 = weight(file, {prefix + "layer_scale_2.scale"}, {d});
  return layer;
}

std::vector<CodecStageWeights> codec_stages(const Checkpoint& file, const std::string& side, const std::vector<CodecStage>& stages) {
  std::vector<CodecStageWeights> result;
  for (const CodecStage& stage : stages) {
    const std::string prefix = side + "." + std::to_string(stage.module_index) + ".";
    CodecStageWeights weights;
    weights.input_proj = weight(file, {prefix + "input_proj.weight"}, {stage.d_model, stage.in_dim});
    weights.output_proj = weight(file, {prefix + "output_proj.weight"}, {stage.out_dim, stage.d_model});
    for (int j = 0; j < stage.n_layer; ++j) {
      weights.layers.push_back(codec_layer(file, prefix + "transformer.layers." + std::to_string(j) + ".", stage));
    }
    result.push_back(std::move(weights));
  }
  return result;
}

// Values of a tensor whose shape is `shape` apart from trailing dimensions of 1, which a 1x1
// convolution has and a plain matrix has not.
std::vector<float> values(const Checkpoint& file, Names names, const std::vector<int64_t>& shape) {
  const Tensor& tensor = find(file, names);
  std::vector<int64_t> core = tensor.shape;
  while (core.size() > shape.size() && core.back() == 1) core.pop_back();
  if (core != shape) file.get(tensor.name, shape);  // throws the sentence about the shape
  std::vector<float> out(static_cast<size_t>(tensor.count()));
  read_f32(tensor, out.data());
  return out;
}

FoldedLinear folded(const Checkpoint& file, const std::string& prefix, int rows, int cols) {
  FoldedLinear linear;
  linear.rows = rows;
  linear.cols = cols;
  linear.bias = values(file, {prefix + "bias"}, {rows});
  if (file.has(prefix + "weight")) {  // stored already folded
    linear.weight = values(file, {prefix + "weight"}, {rows, cols});
    return linear;
  }
  const std::vector<float> g = values(file, {prefix + "parametrizations.weight.original0", prefix + "weight_g"}, {rows});
  linear.weight = values(file, {prefix + "parametrizations.weight.original1", prefix + "weight_v"}, {rows, cols});
  for (int r = 0; r < rows; ++r) {
    float* row = linear.weight.data() + static_cast<size_t>(r) * static_cast<size_t>(cols);
    double square = 0;
    for (int c = 0; c < cols; ++c) square += static_cast<double>(row[c]) * row[c];
    if (!(square > 0)) {
      throw Error("model_invalid", "The weight norm of \"" + prefix + "weight\" is zero or not a number in row " + std::to_string(r) + ".");
    }
    const double factor = static_cast<double>(g[static_cast<size_t>(r)]) / std::sqrt(square);
    for (int c = 0; c < cols; ++c) row[c] = static_cast<float>(row[c] * factor);
  }
  return linear;
}

}  // namespace

LmWeights resolve_lm_weights(std::shared_ptr<Checkpoint> file, const LmConfig& c) {
  const int64_t d = c.d_model;
  LmWeights w;
  w.file = file;
  // Heads are tied: where a file stores both, the embedding counts, so heads are never looked at.
  w.wte = weight(*file, {"transformer.wte.weight"}, {c.vocab_size, d});
  for (int k = 0; k < c.n_vq; ++k) {
    w.audio_embeddings.push_back(weight(*file, {"audio_embeddings." + std::to_string(k) + ".weight"}, {c.codebook_sizes[static_cast<size_t>(k)], d}));
  }
  for (int i = 0; i < c.n_layer; ++i) w.global_layers.push_back(lm_layer(*file, "transformer.h." + std::to_string(i) + ".", c));
  w.ln_f_w = weight(*file, {"transformer.ln_f.weight"}, {d});
  w.ln_f_b = weight(*file, {"transformer.ln_f.bias"}, {d});
  for (int i = 0; i < c.local_layers; ++i) w.local_layers.push_back(lm_layer(*file, "local_transformer.h." + std::to_string(i) + ".", c));
  w.local_ln_f_w = weight(*file, {"local_transformer.ln_f.weight"}, {d});
  w.local_ln_f_b = weight(*file, {"local_transformer.ln_f.bias"}, {d});
  return w;
}

CodecWeights resolve_codec_weights(std::shared_ptr<Checkpoint> file, const CodecConfig& c) {
  CodecWeights w;
  w.file = file;
  w.encoder = codec_stages(*file, "encoder", c.encoder);
  w.decoder = codec_stages(*file, "decoder", c.decoder);
  w.quantizer_in = folded(*file, "quantizer.input_proj.", c.rvq_dim, c.code_dim);
  w.quantizer_out = folded(*file, "quantizer.output_proj.", c.code_dim, c.rvq_dim);
  for (int i = 0; i < c.n_codebooks; ++i) {
    const std::string prefix = "quantizer.quantizers." + std::to_string(i) + ".";
    w.book_in.push_back(folded(*file, prefix + "in_proj.", c.codebook_dim, c.rvq_dim));
    w.book_out.push_back(folded(*file, prefix + "out_proj.", c.rvq_dim, c.codebook_dim));
    w.books.push_back(values(*file, {prefix + "codebook.weight"}, {c.codebook_size, c.codebook_dim}));
  }
  return w;
}

std::vector<float> unit_entries(const std::vector<float>& book, int dim) {
  std::vector<float> unit = book;
  for (size_t at = 0; at < unit.size(); at += static_cast<size_t>(dim)) {
    float* entry = unit.data() + at;
    float norm = 0;
    for (int i = 0; i < dim; i++) norm += entry[i] * entry[i];
    norm = std::max(std::sqrt(norm), 1e-12f);
    for (int i = 0; i < dim; i++) entry[i] /= norm;
  }
  return unit;
}

}  // namespace sonant
