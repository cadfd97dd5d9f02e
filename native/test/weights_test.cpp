// Resolving weights by name: official and legacy names, folding, ties, shapes.
#include "model/weights.h"

#include <cmath>
#include <cstring>

#include "test/check.h"

using namespace sonant;
using test::fixture;

namespace {

std::map<std::string, TensorOut> contents(const std::string& folder) {
  const auto file = Checkpoint::open(folder);
  std::map<std::string, TensorOut> out;
  for (const auto& [name, tensor] : file->tensors()) {
    out[name] = {tensor.dtype, tensor.shape, {tensor.data, tensor.data + tensor.bytes}};
  }
  return out;
}

std::shared_ptr<Checkpoint> write(const std::map<std::string, TensorOut>& tensors) {
  const std::string path = test::temporary_folder() + "/model.safetensors";
  write_safetensors(path, tensors);
  return Checkpoint::open_file(path);
}

void rename_all(std::map<std::string, TensorOut>& tensors, const std::string& from, const std::string& to) {
  std::map<std::string, TensorOut> result;
  bool found = false;
  for (auto& [name, tensor] : tensors) {
    const size_t at = name.find(from);
    found = found || at != std::string::npos;
    result[at == std::string::npos ? name : name.substr(0, at) + to + name.substr(at + from.size())] = tensor;
  }
  CHECK(found);
  tensors = std::move(result);
}

std::vector<float> floats(const Tensor& tensor) {
  std::vector<float> out(static_cast<size_t>(tensor.count()));
  read_f32(tensor, out.data());
  return out;
}

LmConfig lm_config() { return read_lm_config(fixture("lm-tiny/config.json")); }
CodecConfig codec_config() { return read_codec_config(fixture("codec-tiny/config.json")); }

}  // namespace

TEST(weights_resolve_language_model) {
  const LmWeights w = resolve_lm_weights(Checkpoint::open(fixture("lm-tiny")), lm_config());
  CHECK_EQUAL(w.global_layers.size(), 2u);
  CHECK_EQUAL(w.local_layers.size(), 1u);
  CHECK_EQUAL(w.audio_embeddings.size(), 4u);
  CHECK_EQUAL(w.wte.rows(), 300);
  CHECK_EQUAL(w.global_layers[1].fc_out_w.name, "transformer.h.1.mlp.fc_out.weight");
  CHECK_EQUAL(w.local_layers[0].attn_w.cols(), 64);
}

TEST(weights_ignore_heads_and_refuse_wrong_tensors) {
  auto tensors = contents(fixture("lm-tiny"));
  TensorOut head = tensors["transformer.wte.weight"];
  std::fill(head.data.begin(), head.data.end(), std::byte{0});
  tensors["text_lm_head.weight"] = head;
  tensors["transformer.wpe.weight"] = head;
  const auto original = Checkpoint::open(fixture("lm-tiny"));
  CHECK(floats(resolve_lm_weights(write(tensors), lm_config()).wte) == floats(original->get("transformer.wte.weight")));

  auto missing = tensors;
  missing.erase("transformer.h.1.ln_2.bias");
  CHECK_THROWS_SAYING(resolve_lm_weights(write(missing), lm_config()), "model_invalid", "\"transformer.h.1.ln_2.bias\" is missing");
  auto reshaped = tensors;
  reshaped["local_transformer.h.0.mlp.fc_in.weight"].shape = {64, 128};
  CHECK_THROWS_SAYING(resolve_lm_weights(write(reshaped), lm_config()), "model_invalid", "[64, 128] but the config asks for [128, 64]");
  auto integers = tensors;
  integers["transformer.ln_f.weight"].dtype = DType::kI32;
  CHECK_THROWS_SAYING(resolve_lm_weights(write(integers), lm_config()), "model_invalid", "I32");
}

TEST(weights_fold_weight_norm) {
  const auto file = Checkpoint::open(fixture("codec-tiny"));
  const CodecWeights w = resolve_codec_weights(file, codec_config());
  CHECK_EQUAL(w.encoder.size(), 4u);
  CHECK_EQUAL(w.decoder[3].layers.size(), 2u);
  CHECK_EQUAL(w.books.size(), 4u);
  CHECK_EQUAL(w.books[0].size(), 32u * 8u);
  const std::vector<float> g = floats(file->get("quantizer.input_proj.parametrizations.weight.original0"));
  const std::vector<float> v = floats(file->get("quantizer.input_proj.parametrizations.weight.original1"));
  for (size_t r = 0; r < 24; ++r) {
    double norm = 0;
    for (size_t c = 0; c < 64; ++c) norm += static_cast<double>(w.quantizer_in.weight[r * 64 + c]) * w.quantizer_in.weight[r * 64 + c];
    CHECK_NEAR(std::sqrt(norm), std::fabs(g[r]), 1e-5);
    CHECK((w.quantizer_in.weight[r * 64] > 0) == (v[r * 64] * g[r] > 0));
  }
  auto zero = contents(fixture("codec-tiny"));
  auto& direction = zero["quantizer.quantizers.2.out_proj.parametrizations.weight.original1"];
  std::fill(direction.data.begin(), direction.data.end(), std::byte{0});
  CHECK_THROWS_SAYING(resolve_codec_weights(write(zero), codec_config()), "model_invalid", "quantizer.quantizers.2.out_proj.weight");
}

TEST(weights_accept_legacy_names) {
  const CodecWeights official = resolve_codec_weights(Checkpoint::open(fixture("codec-tiny")), codec_config());
  auto tensors = contents(fixture("codec-tiny"));
  rename_all(tensors, "parametrizations.weight.original0", "weight_g");
  rename_all(tensors, "parametrizations.weight.original1", "weight_v");
  rename_all(tensors, "ffn.0.weight", "linear1.weight");
  rename_all(tensors, "ffn.2.weight", "linear2.weight");
  rename_all(tensors, "self_attn.out_proj.weight", "self_attn.out_projs.0.weight");
  auto other = tensors;
  rename_all(tensors, "self_attn.in_proj.weight", "self_attn.in_proj_weight");
  rename_all(other, "self_attn.in_proj.weight", "self_attn.in_projs.0.weight");
  for (const auto& legacy : {tensors, other}) {
    const CodecWeights w = resolve_codec_weights(write(legacy), codec_config());
    CHECK(w.book_out[3].weight == official.book_out[3].weight);
    CHECK(floats(w.decoder[1].layers[0].in_proj) == floats(official.decoder[1].layers[0].in_proj));
    CHECK(floats(w.encoder[0].layers[1].ffn2) == floats(official.encoder[0].layers[1].ffn2));
    CHECK(floats(w.encoder[0].layers[1].out_proj) == floats(official.encoder[0].layers[1].out_proj));
  }
}

TEST(weights_accept_folded_convolutions) {
  const CodecWeights official = resolve_codec_weights(Checkpoint::open(fixture("codec-tiny")), codec_config());
  auto tensors = contents(fixture("codec-tiny"));
  const std::string prefix = "quantizer.output_proj.";
  tensors.erase(prefix + "parametrizations.weight.original0");
  tensors.erase(prefix + "parametrizations.weight.original1");
  TensorOut folded{DType::kF32, {64, 24, 1}, std::vector<std::byte>(64 * 24 * sizeof(float))};
  std::memcpy(folded.data.data(), official.quantizer_out.weight.data(), folded.data.size());
  tensors[prefix + "weight"] = folded;
  CHECK(resolve_codec_weights(write(tensors), codec_config()).quantizer_out.weight == official.quantizer_out.weight);
  tensors[prefix + "weight"].shape = {24, 64, 1};
  CHECK_THROWS_SAYING(resolve_codec_weights(write(tensors), codec_config()), "model_invalid", "quantizer.output_proj.weight");
}
