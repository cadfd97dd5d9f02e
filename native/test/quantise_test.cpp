// Int8 and random checkpoints, and that the full-size table is the official one.
#include "model/quantise.h"

#include <cmath>
#include <filesystem>
#include <set>

#include "model/convert.h"
#include "model/json.h"
#include "model/weights.h"
#include "test/check.h"

using namespace sonant;
using test::fixture;

namespace {

LmConfig full_lm() {
  LmConfig c;
  c.n_vq = 16;
  c.vocab_size = 16384;
  c.codebook_sizes.assign(16, 1024);
  c.d_model = 768;
  c.n_layer = 12;
  c.local_layers = 1;
  c.n_head = 12;
  c.head_dim = 64;
  c.d_ff = 3072;
  return c;
}

CodecConfig full_codec() {
  CodecConfig c;
  c.code_dim = 768;
  c.rvq_dim = 512;
  c.codebook_dim = 8;
  c.n_codebooks = 16;
  c.codebook_size = 1024;
  const auto stage = [](int index, int in, int out, int layers) {
    CodecStage s;
    s.in_dim = in;
    s.d_model = 256;
    s.out_dim = out;
    s.d_ff = 1024;
    s.n_layer = layers;
    s.module_index = index;
    return s;
  };
  c.encoder = {stage(1, 240, 384, 4), stage(3, 768, 384, 2), stage(5, 768, 384, 2), stage(7, 768, 192, 4)};
  c.decoder = {stage(1, 192, 768, 4), stage(3, 384, 768, 2), stage(5, 384, 768, 2), stage(7, 384, 240, 4)};
  return c;
}

void check_table(const std::vector<TableEntry>& table, const Json& official, int64_t parameters) {
  int64_t count = 0;
  std::set<std::string> names;
  for (const TableEntry& entry : table) {
    const Json* shape = official.find(entry.name);
    REQUIRE(shape != nullptr);
    std::vector<int64_t> expected;
    for (const Json& dim : shape->as_array()) expected.push_back(dim.as_integer());
    CHECK(entry.shape == expected);
    int64_t product = 1;
    for (const int64_t dim : entry.shape) product *= dim;
    count += product;
    names.insert(entry.name);
  }
  for (const JsonMember& member : official.as_object()) {
    CHECK(names.count(member.key) == 1 || member.key.find("lm_head") != std::string::npos);
  }
  CHECK_EQUAL(names.size(), table.size());
  CHECK_EQUAL(count, parameters);
}

std::vector<float> floats(const Tensor& tensor) {
  std::vector<float> out(static_cast<size_t>(tensor.count()));
  read_f32(tensor, out.data());
  return out;
}

double signal_to_noise_db(const std::vector<float>& signal, const std::vector<float>& other) {
  double power = 0, noise = 0;
  for (size_t i = 0; i < signal.size(); ++i) {
    power += static_cast<double>(signal[i]) * signal[i];
    noise += std::pow(static_cast<double>(signal[i]) - other[i], 2);
  }
  return 10 * std::log10(power / noise);
}

}  // namespace

TEST(table_equals_official_names_and_shapes) {
  const Json names = Json::parse_file(fixture("tensor-names.json"));
  check_table(lm_table(full_lm()), *names.find("lm"), 117311232);
  check_table(codec_table(full_codec()), *names.find("codec"), 21969664);
}

TEST(table_equals_small_checkpoints) {
  for (const char* folder : {"lm-tiny", "lm-small", "codec-tiny"}) {
    const std::string config = fixture(folder) + "/config.json";
    const auto table = std::string(folder) == "codec-tiny" ? codec_table(read_codec_config(config)) : lm_table(read_lm_config(config));
    const auto file = Checkpoint::open(fixture(folder));
    CHECK_EQUAL(table.size(), file->tensors().size());
    for (const TableEntry& entry : table) file->get(entry.name, entry.shape);
  }
}

TEST(quantise_rows) {
  std::vector<float> row(150);
  for (size_t i = 0; i < row.size(); ++i) row[i] = static_cast<float>(std::sin(static_cast<double>(i * i)) * (i < 64 ? 1e-3 : 10));
  std::vector<std::byte> values(150);
  std::vector<float> scales(3), back(150);
  f32_to_i8(row.data(), row.size(), values.data(), scales.data());
  i8_to_f32(values.data(), reinterpret_cast<const std::byte*>(scales.data()), row.size(), back.data());
  CHECK(signal_to_noise_db(row, back) > 40);
  CHECK(signal_to_noise_db({row.begin(), row.begin() + 64}, {back.begin(), back.begin() + 64}) > 40);
  // Never worse than the plain scale.
  double plain = 0, chosen = 0;
  for (size_t i = 64; i < 128; ++i) {
    float peak = 0;
    for (size_t k = 64; k < 128; ++k) peak = std::max(peak, std::fabs(row[k]));
    const float scale = peak / 127;
    plain += std::pow(row[i] - scale * std::nearbyint(row[i] / scale), 2);
    chosen += std::pow(row[i] - back[i], 2);
  }
  CHECK(chosen <= plain * 1.000001);

  for (const float constant : {0.0f, 1e-38f, 5.0f}) {
    std::fill(row.begin(), row.end(), constant);
    f32_to_i8(row.data(), row.size(), values.data(), scales.data());
    i8_to_f32(values.data(), reinterpret_cast<const std::byte*>(scales.data()), row.size(), back.data());
    for (const float x : back) CHECK_NEAR(x, constant, std::max(1e-30, constant * 1e-6));
  }
}

TEST(quantise_checkpoint_round_trip) {
  const std::string out = test::temporary_folder() + "/int8";
  quantise_checkpoint(fixture("lm-tiny"), out, [](const std::string& name) { return name == "transformer.h.0.mlp.fc_in.weight"; });
  const LmConfig config = read_lm_config(out + "/config.json");
  const auto original = Checkpoint::open(fixture("lm-tiny")), int8 = Checkpoint::open(out);
  resolve_lm_weights(int8, config);
  int quantised = 0;
  for (const auto& [name, tensor] : original->tensors()) {
    const Tensor& other = int8->get(name, tensor.shape);
    if (other.dtype == DType::kI8) {
      ++quantised;
      CHECK(signal_to_noise_db(floats(tensor), floats(other)) > 40);
    } else {
      CHECK(other.dtype == tensor.dtype && floats(other) == floats(tensor));
    }
  }
  CHECK_EQUAL(quantised, 4 * 3 - 1 + 5);
  CHECK_THROWS_CODE(quantise_checkpoint(out, out, [](const std::string&) { return false; }), "bad_request");
  CHECK_THROWS_CODE(quantise_checkpoint("/nowhere", out, [](const std::string&) { return false; }), "model_missing");

  const std::string codec = test::temporary_folder() + "/codec";
  quantise_checkpoint(fixture("codec-tiny"), codec, [](const std::string&) { return false; });
  const auto file = Checkpoint::open(codec);
  resolve_codec_weights(file, read_codec_config(codec + "/config.json"));
  CHECK(file->get("decoder.3.transformer.layers.0.ffn.0.weight").dtype == DType::kI8);
  CHECK(file->get("encoder.3.transformer.layers.0.ffn.0.weight").dtype == DType::kF32);
  CHECK(file->get("quantizer.quantizers.0.codebook.weight").dtype == DType::kF32);
}

TEST(random_checkpoints) {
  const std::string folder = test::temporary_folder();
  const CodecConfig codec = read_codec_config(fixture("codec-tiny/config.json"));
  const LmConfig lm = read_lm_config(fixture("lm-tiny/config.json"));
  const auto make = [&](const char* name, const auto& table, RandomDType dtype, uint64_t seed) {
    const std::string path = folder + "/" + name;
    random_checkpoint(table, dtype, seed, path);
    return Checkpoint::open_file(path);
  };
  const auto f32 = make("f32", codec_table(codec), RandomDType::kF32, 1);
  resolve_codec_weights(f32, codec);
  make("again", codec_table(codec), RandomDType::kF32, 1);
  CHECK(test::read_file(folder + "/f32") == test::read_file(folder + "/again"));
  const auto other = make("other", codec_table(codec), RandomDType::kF32, 2);
  const std::string matrix = "decoder.1.transformer.layers.0.ffn.0.weight";
  CHECK(floats(f32->get(matrix)) != floats(other->get(matrix)));
  CHECK(floats(f32->get(matrix)) != floats(f32->get("decoder.1.transformer.layers.1.ffn.0.weight")));
  double square = 0;
  for (const float x : floats(f32->get(matrix))) square += static_cast<double>(x) * x;
  CHECK_NEAR(std::sqrt(square / (64 * 32)), 1 / std::sqrt(32.0), 0.01);
  CHECK_EQUAL(floats(f32->get("decoder.1.transformer.layers.0.norm1.weight"))[3], 1.0f);
  CHECK_EQUAL(floats(f32->get("decoder.1.transformer.layers.0.layer_scale_2.scale"))[3], 0.3f);
  // The stored norms are those of the stored directions, so folding changes nothing.
  const std::vector<float> folded = resolve_codec_weights(f32, codec).quantizer_in.weight;
  const std::vector<float> direction = floats(f32->get("quantizer.input_proj.parametrizations.weight.original1"));
  for (size_t i = 0; i < folded.size(); ++i) CHECK_NEAR(folded[i], direction[i], 1e-6);

  const auto int8 = make("int8", lm_table(lm), RandomDType::kInt8, 1);
  resolve_lm_weights(int8, lm);
  CHECK(int8->get("transformer.wte.weight").dtype == DType::kI8);
  CHECK(int8->get("transformer.ln_f.weight").dtype == DType::kBF16);
  const auto bf16 = make("bf16", lm_table(lm), RandomDType::kBf16, 1);
  CHECK(signal_to_noise_db(floats(bf16->get("transformer.wte.weight")), floats(int8->get("transformer.wte.weight"))) > 35);

  random_checkpoint(lm_table(lm), RandomDType::kF32, 1, folder + "/talkative", &lm);
  const auto talkative = Checkpoint::open_file(folder + "/talkative");
  const std::vector<float> bias = floats(talkative->get("local_transformer.ln_f.bias")), rows = floats(talkative->get("transformer.wte.weight"));
  double go_on = 0, stop = 0;
  for (size_t i = 0; i < bias.size(); ++i) {
    go_on += bias[i] * rows[lm.assistant_slot_id * bias.size() + i];
    stop += bias[i] * rows[lm.audio_end_id * bias.size() + i];
  }
  CHECK_NEAR(go_on - stop, 16, 1e-3);
}
