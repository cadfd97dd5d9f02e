// Rewriting checkpoints: every layout to one file, every type, and the int8 form.
#include "model/rewrite.h"

#include <cstring>
#include <filesystem>

#include "model/convert.h"
#include "model/quantise.h"
#include "model/safetensors.h"
#include "test/check.h"
#include "test/torch_writer.h"

using namespace sonant;
using namespace sonant::test;

namespace {

bool keep_none(const std::string&) { return false; }

// The folder that `in` was rewritten into.
std::string rewritten(const std::string& in, StoredAs as) {
  const std::string out = temporary_folder() + "/out";
  rewrite_checkpoint(in, out, as, keep_none);
  return out;
}

std::string weights(const std::string& folder) { return read_file(folder + "/model.safetensors"); }

std::vector<float> floats(const Tensor& tensor) {
  std::vector<float> out(static_cast<size_t>(tensor.count()));
  read_f32(tensor, out.data());
  return out;
}

// The checkpoint of a fixture as torch.save would have written it, in one file or in two with an index.
std::string as_torch(const std::string& name, bool sharded) {
  const std::string folder = temporary_folder();
  const auto file = Checkpoint::open(fixture(name));
  std::filesystem::copy_file(fixture(name) + "/config.json", folder + "/config.json");
  if (!sharded) {
    write_file(folder + "/pytorch_model.bin", torch_file(file->in_order()));
    return folder;
  }
  const std::vector<const Tensor*>& all = file->in_order();
  const auto half = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  write_file(folder + "/pytorch_model-00001-of-00002.bin", torch_file({all.begin(), half}));
  write_file(folder + "/pytorch_model-00002-of-00002.bin", torch_file({half, all.end()}));
  std::string map;
  for (auto at = all.begin(); at != all.end(); ++at) {
    map += (map.empty() ? "\"" : ",\"") + (*at)->name + "\":\"pytorch_model-0000" + (at < half ? "1" : "2") + "-of-00002.bin\"";
  }
  write_file(folder + "/pytorch_model.bin.index.json", R"({"metadata":{},"weight_map":{)" + map + "}}");
  return folder;
}

}  // namespace

TEST(rewrite_keeps_names_order_and_bytes) {
  for (const char* name : {"lm-tiny", "codec-tiny"}) {
    const std::string plain = rewritten(fixture(name), StoredAs::kKeep);
    const auto from = Checkpoint::open(fixture(name)), to = Checkpoint::open(plain);
    REQUIRE(from->in_order().size() == to->in_order().size());
    for (size_t i = 0; i < from->in_order().size(); ++i) {
      const Tensor &a = *from->in_order()[i], &b = *to->in_order()[i];
      CHECK_EQUAL(a.name, b.name);
      CHECK(a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes && std::memcmp(a.data, b.data, a.bytes) == 0);
    }
    for (const bool sharded : {false, true}) {
      const std::string out = rewritten(as_torch(name, sharded), StoredAs::kKeep);
      CHECK(weights(out) == weights(plain));
      CHECK(std::filesystem::exists(out + "/config.json"));
      CHECK_EQUAL(std::distance(std::filesystem::directory_iterator(out), std::filesystem::directory_iterator()), 2);
    }
    CHECK(weights(rewritten(as_torch(name, false) + "/pytorch_model.bin", StoredAs::kKeep)) == weights(plain));
  }
}

TEST(rewrite_stores_other_types) {
  const auto original = Checkpoint::open(fixture("lm-tiny"));
  const std::string bf16 = rewritten(as_torch("lm-tiny", false), StoredAs::kBf16);
  const auto half = Checkpoint::open(bf16), whole = Checkpoint::open(rewritten(bf16, StoredAs::kF32));
  for (const Tensor* tensor : original->in_order()) {
    const std::vector<float> values = floats(*tensor);
    std::vector<std::byte> expected(values.size() * 2);
    f32_to_bf16(values.data(), values.size(), expected.data());
    const Tensor& stored = half->get(tensor->name, tensor->shape);
    CHECK(stored.dtype == DType::kBF16 && std::memcmp(stored.data, expected.data(), expected.size()) == 0);
    CHECK(whole->get(tensor->name, tensor->shape).dtype == DType::kF32);
    CHECK(floats(whole->get(tensor->name)) == floats(stored));
  }
  CHECK(weights(rewritten(rewritten(bf16, StoredAs::kF32), StoredAs::kBf16)) == weights(bf16));
  // Integers and masks are no numbers to round.
  const auto mixed = Checkpoint::open(rewritten(fixture("torch/mixed.bin"), StoredAs::kBf16));
  CHECK(mixed->get("n.num_batches_tracked", {}).dtype == DType::kI64);
  CHECK(mixed->get("mask").dtype == DType::kBool);
  CHECK(mixed->get("scalar").dtype == DType::kBF16);
  CHECK(mixed->get("empty", {0, 4}).dtype == DType::kBF16);
}

TEST(rewrite_int8_equals_quantise) {
  for (const char* name : {"lm-tiny", "codec-tiny"}) {
    const std::string quantised = temporary_folder() + "/quantised";
    quantise_checkpoint(fixture(name), quantised, keep_none);
    const std::string int8 = rewritten(as_torch(name, true), StoredAs::kInt8);
    CHECK(weights(int8) == weights(quantised));
    CHECK(weights(rewritten(int8, StoredAs::kKeep)) == weights(int8));
    CHECK(weights(rewritten(int8, StoredAs::kInt8)) == weights(int8));
    // Back to floats: the matrices are what they stand for, and the scales have done their work.
    const auto stored = Checkpoint::open(int8), back = Checkpoint::open(rewritten(int8, StoredAs::kF32));
    CHECK_EQUAL(back->tensors().size(), Checkpoint::open(fixture(name))->tensors().size());
    for (const Tensor* tensor : back->in_order()) CHECK(floats(*tensor) == floats(stored->get(tensor->name)));
  }
}

// Rows are converted some at a time; the seams must not show.
TEST(rewrite_converts_in_pieces) {
  const std::vector<int64_t> shape{2500, 1000};
  std::vector<float> values(2500 * 1000);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i * 2654435761u % 2001) - 1000) / 997;
  TensorOut matrix{DType::kF32, shape, std::vector<std::byte>(values.size() * sizeof(float))};
  std::memcpy(matrix.data.data(), values.data(), matrix.data.size());
  const std::string folder = temporary_folder();
  write_safetensors(folder + "/model.safetensors", {{"transformer.wte.weight", matrix}});
  CHECK(weights(rewritten(folder, StoredAs::kKeep)) == weights(folder));
  const auto bf16 = Checkpoint::open(rewritten(folder, StoredAs::kBf16)), int8 = Checkpoint::open(rewritten(folder, StoredAs::kInt8));
  std::vector<std::byte> half(values.size() * 2), row(1000);
  f32_to_bf16(values.data(), values.size(), half.data());
  CHECK(std::memcmp(bf16->get("transformer.wte.weight").data, half.data(), half.size()) == 0);
  std::vector<float> scales(16);
  for (size_t r = 0; r < 2500; r += 7) {
    f32_to_i8(&values[r * 1000], 1000, row.data(), scales.data());
    CHECK(std::memcmp(int8->get("transformer.wte.weight").data + r * 1000, row.data(), row.size()) == 0);
    CHECK(std::memcmp(int8->get("transformer.wte.weight.scale").data + r * 64, scales.data(), 64) == 0);
  }
}

TEST(rewrite_loses_nothing_when_it_fails) {
  const std::string folder = as_torch("lm-tiny", false);
  CHECK_THROWS_CODE(rewrite_checkpoint(folder, folder, StoredAs::kKeep, keep_none), "bad_request");
  CHECK_THROWS_CODE(rewrite_checkpoint(folder + "/pytorch_model.bin", folder, StoredAs::kKeep, keep_none), "bad_request");
  const std::string out = temporary_folder();
  CHECK_THROWS_CODE(rewrite_checkpoint(out + "/nowhere", out, StoredAs::kKeep, keep_none), "model_missing");
  write_file(folder + "/pytorch_model.bin", read_file(folder + "/pytorch_model.bin").substr(0, 1000));
  CHECK_THROWS_CODE(rewrite_checkpoint(folder, out, StoredAs::kKeep, keep_none), "model_invalid");
  CHECK(std::filesystem::is_empty(out));
  // The int8 form would hide what is there already.
  TensorOut matrix{DType::kF32, {1, 1}, std::vector<std::byte>(4)}, other{DType::kF32, {7}, std::vector<std::byte>(28)};
  write_safetensors(folder + "/model.safetensors", {{"transformer.wte.weight", matrix}, {"transformer.wte.weight.scale", other}});
  CHECK_THROWS_SAYING(rewrite_checkpoint(folder, out, StoredAs::kInt8, keep_none), "model_invalid", "transformer.wte.weight.scale");
}
