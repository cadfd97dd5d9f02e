// Checkpoint folders: which file is taken, and checkpoints that lie in several.
#include "model/checkpoint.h"

#include <cstring>
#include <filesystem>

#include "model/safetensors.h"
#include "test/check.h"
#include "test/torch_writer.h"

using namespace sonant;
using namespace sonant::test;

namespace {

TensorOut number(float value) {
  TensorOut out{DType::kF32, {1}, std::vector<std::byte>(sizeof value)};
  std::memcpy(out.data.data(), &value, sizeof value);
  return out;
}

float value_of(const std::string& folder, const std::string& name) {
  float value = 0;
  read_f32(Checkpoint::open(folder)->get(name), &value);
  return value;
}

// A pytorch_model.bin of one number.
std::string torch_number(const std::string& name, float value) {
  Tensor tensor;
  tensor.name = name;
  tensor.shape = {1};
  tensor.data = reinterpret_cast<const std::byte*>(&value);
  tensor.bytes = sizeof value;
  return torch_file({&tensor});
}

}  // namespace

TEST(checkpoint_takes_the_first_of_four_layouts) {
  const std::string folder = temporary_folder();
  CHECK_THROWS_SAYING(Checkpoint::open(folder), "model_missing", "pytorch_model.bin.index.json");
  write_file(folder + "/shard.bin", torch_number("a", 4));
  write_file(folder + "/pytorch_model.bin.index.json", R"({"weight_map":{"a":"shard.bin"}})");
  CHECK_EQUAL(value_of(folder, "a"), 4.0f);
  write_file(folder + "/pytorch_model.bin", torch_number("a", 3));
  CHECK_EQUAL(value_of(folder, "a"), 3.0f);
  write_safetensors(folder + "/shard.safetensors", {{"a", number(2)}});
  write_file(folder + "/model.safetensors.index.json", R"({"weight_map":{"a":"shard.safetensors"}})");
  CHECK_EQUAL(value_of(folder, "a"), 2.0f);
  write_safetensors(folder + "/model.safetensors", {{"a", number(1)}});
  CHECK_EQUAL(value_of(folder, "a"), 1.0f);
}

TEST(checkpoint_checks_its_index) {
  for (const std::string kind : {"safetensors", "bin"}) {
    const std::string folder = temporary_folder();
    const bool torch = kind == "bin";
    const std::string index = folder + (torch ? "/pytorch_model.bin.index.json" : "/model.safetensors.index.json");
    const auto shard = [&](const std::string& file, const std::string& name, float value) {
      if (torch) {
        write_file(folder + "/" + file, torch_number(name, value));
      } else {
        write_safetensors(folder + "/" + file, {{name, number(value)}});
      }
    };
    const std::string one = "one." + kind, two = "two." + kind;
    shard(one, "a", 1);
    shard(two, "b", 2);
    const auto indexed = [&](const std::string& map, const std::string& metadata = "{}") { write_file(index, R"({"metadata":)" + metadata + R"(,"weight_map":{)" + map + "}}"); };
    const std::string both = R"("a":")" + one + R"(","b":")" + two + "\"";
    const auto refuse = [&](const char* code, const std::string& part) { CHECK_THROWS_SAYING(Checkpoint::open(folder), code, part); };

    indexed(both, R"({"total_size":8})");
    CHECK_EQUAL(value_of(folder, "b"), 2.0f);
    indexed(both, R"({"total_size":4})");  // tied weights count once
    CHECK_EQUAL(value_of(folder, "a"), 1.0f);
    indexed(both, R"({"total_size":9})");
    refuse("model_invalid", "total_size is 9 bytes but the tensors of its files have 8");
    indexed(both, R"({"total_size":-1})");
    refuse("model_invalid", "total_size");
    indexed(both, R"({"total_size":"8"})");
    refuse("model_invalid", "total_size");
    indexed(both + R"(,"c":"three.)" + kind + "\"");
    refuse("model_missing", "three." + kind);
    indexed(both + R"(,"c":")" + two + "\"");
    refuse("model_invalid", "the tensor \"c\" is not in the file \"" + two + "\"");
    indexed(R"("b":")" + one + R"(","c":")" + two + "\"");
    refuse("model_invalid", "the tensor \"b\" is not in the file \"" + one + "\"");
    indexed(R"("a":"../)" + one + "\"");
    refuse("model_invalid", "outside the folder");
    shard(two, "a", 3);
    indexed(R"("a":")" + one + R"(","b":")" + two + "\"");
    refuse("model_invalid", "also in another file");
  }
}
