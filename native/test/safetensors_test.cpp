// Reading and writing safetensors: formats, every rule of the header, and mutation.
#include "model/safetensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>

#include "model/convert.h"
#include "test/check.h"
#include "test/mutate.h"

using namespace sonant;
using test::temporary_folder;
using test::write_file;

namespace {

std::string with_length(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes.push_back(static_cast<char>(static_cast<uint64_t>(header.size()) >> (8 * i)));
  return bytes + header + data;
}

// Opens a file with this header and data.
std::shared_ptr<Checkpoint> open_bytes(const std::string& bytes) {
  static const std::string path = temporary_folder() + "/bytes.safetensors";
  write_file(path, bytes);
  return Checkpoint::open_file(path);
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> floats(const Checkpoint& file, const std::string& name) {
  const Tensor& tensor = file.get(name);
  std::vector<float> out(static_cast<size_t>(tensor.count()));
  read_f32(tensor, out.data());
  return out;
}

constexpr const char* kPair = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"I32","shape":[1,1],"data_offsets":[8,12]}})";

}  // namespace

TEST(safetensors_round_trip) {
  const std::string path = temporary_folder() + "/model.safetensors";
  std::map<std::string, TensorOut> out;
  out["f32"] = {DType::kF32, {2, 2}, bytes_of<float>({1, -2, 3.5f, 1e-30f})};
  out["bf16"] = {DType::kBF16, {3}, bytes_of<uint16_t>({0x3f80, 0xc000, 0x0001})};
  out["f16"] = {DType::kF16, {6}, bytes_of<uint16_t>({0x3c00, 0xc000, 0x0001, 0x7bff, 0x7c00, 0x8000})};
  out["i32"] = {DType::kI32, {2}, bytes_of<int32_t>({-5, 1024})};
  out["i8"] = {DType::kI8, {2, 65}, std::vector<std::byte>(130, std::byte{0xfe})};
  out["i8.scale"] = {DType::kF32, {2, 2}, bytes_of<float>({1, 2, 3, 4})};
  out["empty"] = {DType::kF32, {0, 4}, {}};
  out["scalar"] = {DType::kF32, {}, bytes_of<float>({9})};
  write_safetensors(path, out);

  const auto file = Checkpoint::open(std::filesystem::path(path).parent_path().string());
  CHECK_EQUAL(file->tensors().size(), 8u);
  CHECK(floats(*file, "f32") == (std::vector<float>{1, -2, 3.5f, 1e-30f}));
  CHECK(floats(*file, "bf16") == (std::vector<float>{1, -2, 0x1p-133f}));
  CHECK(floats(*file, "f16") == (std::vector<float>{1, -2, 0x1p-24f, 65504, INFINITY, -0.0f}));
  CHECK(floats(*file, "i32") == (std::vector<float>{-5, 1024}));
  CHECK(floats(*file, "empty").empty());
  CHECK_EQUAL(floats(*file, "scalar")[0], 9.0f);
  const std::vector<float> i8 = floats(*file, "i8");
  CHECK_EQUAL(i8[0], -2.0f);
  CHECK_EQUAL(i8[63], -2.0f);
  CHECK_EQUAL(i8[64], -4.0f);
  CHECK_EQUAL(i8[65], -6.0f);
  CHECK_EQUAL(i8[129], -8.0f);
  std::vector<float> row(65);
  read_rows_f32(file->get("i8"), 1, 1, row.data());
  CHECK_EQUAL(row[64], -8.0f);
  CHECK_THROWS_CODE(read_rows_f32(file->get("i8"), 1, 2, row.data()), "model_invalid");
  CHECK_THROWS_CODE(read_rows_f32(file->get("i8"), -1, 1, row.data()), "model_invalid");
  CHECK_THROWS_SAYING(file->get("absent"), "model_invalid", "absent");
  CHECK_THROWS_SAYING(file->get("f32", {4}), "model_invalid", "[2, 2]");
  for (const auto& [name, tensor] : file->tensors()) file->release(tensor);
  CHECK_EQUAL(floats(*file, "f32")[2], 3.5f);
}

TEST(safetensors_half_values) {
  // Every finite half against its definition.
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const int exponent = (half >> 10) & 31, mantissa = half & 1023;
    float value = 0;
    f16_to_f32(reinterpret_cast<const std::byte*>(&half), 1, &value);
    double expected = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    if (half & 0x8000) expected = -expected;
    if (exponent == 31) {
      CHECK(mantissa ? std::isnan(value) : std::isinf(value));
    } else {
      CHECK_EQUAL(value, static_cast<float>(expected));
    }
    float from_bf16 = 0;
    bf16_to_f32(reinterpret_cast<const std::byte*>(&half), 1, &from_bf16);
    uint16_t back = 0;
    f32_to_bf16(&from_bf16, 1, reinterpret_cast<std::byte*>(&back));
    CHECK(std::isnan(from_bf16) || back == half);
  }
  const float tie = 1.00390625f;  // half way between two bf16 values: goes to the even one
  uint16_t rounded = 0;
  f32_to_bf16(&tie, 1, reinterpret_cast<std::byte*>(&rounded));
  CHECK_EQUAL(rounded, 0x3f80);
}

TEST(safetensors_accepts_a_plain_file) {
  const auto file = open_bytes(with_length(kPair, std::string(12, '\0')));
  CHECK_EQUAL(file->get("b", {1, 1}).rows(), 1);
  const std::string meta = R"({"__metadata__":{"format":"pt"},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}   )";
  CHECK_EQUAL(open_bytes(with_length(meta, "1234"))->tensors().size(), 1u);
  CHECK_EQUAL(open_bytes(with_length("{}", ""))->tensors().size(), 0u);
}

TEST(safetensors_refuses_bad_files) {
  const std::string good = with_length(kPair, std::string(12, '\0'));
  CHECK_THROWS_CODE(open_bytes(""), "model_invalid");
  CHECK_THROWS_CODE(open_bytes("1234567"), "model_invalid");
  for (size_t cut = 0; cut < good.size(); ++cut) CHECK_THROWS_CODE(open_bytes(good.substr(0, cut)), "model_invalid");
  CHECK_THROWS_SAYING(open_bytes(good + "x"), "model_invalid", "last 1 bytes");
  CHECK_THROWS_CODE(open_bytes(std::string(8, '\xff') + good), "model_invalid");
  CHECK_THROWS_CODE(Checkpoint::open_file("/nowhere/model.safetensors"), "model_missing");
  CHECK_THROWS_CODE(Checkpoint::open_file("/tmp"), "model_missing");
  CHECK_THROWS_CODE(Checkpoint::open(temporary_folder()), "model_missing");

  const auto one = [](const std::string& entry, size_t bytes, const char* part) {
    CHECK_THROWS_SAYING(open_bytes(with_length("{\"the.name\":" + entry + "}", std::string(bytes, '\0'))), "model_invalid", "the.name");
    CHECK_THROWS_SAYING(open_bytes(with_length("{\"the.name\":" + entry + "}", std::string(bytes, '\0'))), "model_invalid", part);
  };
  one("3", 0, "object");
  one(R"({"shape":[1],"data_offsets":[0,4]})", 4, "dtype");
  one(R"({"dtype":"F64","shape":[1],"data_offsets":[0,8]})", 8, "F64");
  one(R"({"dtype":5,"shape":[1],"data_offsets":[0,8]})", 8, "dtype");
  one(R"({"dtype":"F32","data_offsets":[0,4]})", 4, "shape");
  one(R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})", 4, "dimension");
  one(R"({"dtype":"F32","shape":[1.5],"data_offsets":[0,4]})", 4, "dimension");
  one(R"({"dtype":"F32","shape":["1"],"data_offsets":[0,4]})", 4, "dimension");
  one(R"({"dtype":"F32","shape":[1,1,1,1,1,1,1,1,1],"data_offsets":[0,4]})", 4, "dimensions");
  one(R"({"dtype":"F32","shape":[4294967296,4294967296],"data_offsets":[0,0]})", 0, "impossible");
  one(R"({"dtype":"F32","shape":[9007199254740992,2048],"data_offsets":[0,0]})", 0, "impossible");
  one(R"({"dtype":"F32","shape":[1]})", 4, "data_offsets");
  one(R"({"dtype":"F32","shape":[1],"data_offsets":[0]})", 4, "data_offsets");
  one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,-4]})", 4, "data_offsets");
  one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,0]})", 4, "bytes");
  one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,1e30]})", 4, "data_offsets");
  one(R"({"dtype":"F32","shape":[1],"data_offsets":[0,8]})", 4, "8");
  one(R"({"dtype":"F32","shape":[2],"data_offsets":[0,4]})", 4, "takes 8");
  one(R"({"dtype":"F32","shape":[1],"data_offsets":[4,8]})", 8, "belong to no tensor");
  one(R"({"dtype":"I8","shape":[4],"data_offsets":[0,4]})", 4, ".scale");
}

TEST(safetensors_refuses_overlap_and_twins) {
  const std::string overlap = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  CHECK_THROWS_SAYING(open_bytes(with_length(overlap, std::string(8, '\0'))), "model_invalid", "overlaps");
  const std::string shared = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  CHECK_THROWS_SAYING(open_bytes(with_length(shared, std::string(8, '\0'))), "model_invalid", "overlaps");
  const std::string twins = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})";
  CHECK_THROWS_SAYING(open_bytes(with_length(twins, std::string(8, '\0'))), "model_invalid", "twice");
  const std::string scale = R"({"a":{"dtype":"I8","shape":[1,65],"data_offsets":[0,65]},"a.scale":{"dtype":"F32","shape":[1,1],"data_offsets":[65,69]}})";
  CHECK_THROWS_SAYING(open_bytes(with_length(scale, std::string(69, '\0'))), "model_invalid", "[1, 2]");
}

TEST(safetensors_reads_shards) {
  const std::string folder = temporary_folder();
  const auto tensor = [](float value) { return TensorOut{DType::kF32, {1}, bytes_of<float>({value})}; };
  write_safetensors(folder + "/one.safetensors", {{"a", tensor(1)}});
  write_safetensors(folder + "/two.safetensors", {{"b", tensor(2)}});
  const std::string index = folder + "/model.safetensors.index.json";
  write_file(index, R"({"metadata":{},"weight_map":{"a":"one.safetensors","b":"two.safetensors"}})");
  CHECK_EQUAL(floats(*Checkpoint::open(folder), "b")[0], 2.0f);

  for (const char* file : {"../one.safetensors", "/etc/passwd", "..", ".", "", "sub/one.safetensors", "one\\\\two", "a\\u0000b"}) {
    write_file(index, std::string(R"({"weight_map":{"a":")") + file + "\"}}");
    CHECK_THROWS_SAYING(Checkpoint::open(folder), "model_invalid", "outside the folder");
  }
  write_file(index, R"({"weight_map":{"a":"three.safetensors"}})");
  CHECK_THROWS_CODE(Checkpoint::open(folder), "model_missing");
  write_file(index, R"({"weight_map":{}})");
  CHECK_THROWS_CODE(Checkpoint::open(folder), "model_invalid");
  write_file(index, R"({"weight_map":{"a":1}})");
  CHECK_THROWS_CODE(Checkpoint::open(folder), "model_invalid");
  write_file(index, "[]");
  CHECK_THROWS_CODE(Checkpoint::open(folder), "model_invalid");
  write_safetensors(folder + "/three.safetensors", {{"a", tensor(3)}});
  write_file(index, R"({"weight_map":{"a":"one.safetensors","c":"three.safetensors"}})");
  CHECK_THROWS_SAYING(Checkpoint::open(folder), "model_invalid", "also in another file");
}

TEST(safetensors_writing_is_atomic) {
  const std::string folder = temporary_folder();
  const std::string path = folder + "/model.safetensors";
  write_file(path, "before");
  CHECK_THROWS_CODE(write_safetensors(path, {{"a", {DType::kF32, {2}, bytes_of<float>({1})}}}), "engine_failed");
  CHECK_EQUAL(test::read_file(path), "before");
  CHECK_THROWS_CODE(write_safetensors(path, {{"a", {DType::kF32, {-2}, {}}}}), "model_invalid");
  CHECK_THROWS_CODE(write_safetensors(folder + "/none/x.safetensors", {}), "engine_failed");
  const auto entries = std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator());
  CHECK_EQUAL(entries, 1);
}

TEST(safetensors_survives_mutation) {
  std::string header = kPair;
  header.insert(header.size() - 1, R"(,"c":{"dtype":"I8","shape":[1,3],"data_offsets":[12,15]},"c.scale":{"dtype":"F32","shape":[1,1],"data_offsets":[15,19]})");
  const std::string data(19, '\1');
  const std::string valid = with_length(header, data);
  CHECK_EQUAL(open_bytes(valid)->tensors().size(), 4u);
  test::Mutator mutator(11);
  int refused = 0;
  for (int i = 0; i < 5000; ++i) {
    std::string bytes;
    if (i % 3 == 0) {
      bytes = mutator.mutate(valid);
    } else if (i % 3 == 1) {
      bytes = with_length(mutator.mutate(header), data);  // the length stays true, so the JSON is reached
    } else {
      bytes = valid;
      for (int k = 0; k < 8; ++k) {
        if (mutator.below(3) == 0) bytes[static_cast<size_t>(k)] = static_cast<char>(mutator.below(256));
      }
      bytes.resize(mutator.below(bytes.size() + 1));
    }
    try {
      const auto file = open_bytes(bytes);
      for (const auto& [name, tensor] : file->tensors()) {
        CHECK(tensor.count() <= 64);
        std::vector<float> out(static_cast<size_t>(tensor.count()));
        read_f32(tensor, out.data());
      }
    } catch (const Error& error) {
      CHECK_EQUAL(error.code(), "model_invalid");
      ++refused;
    }
  }
  CHECK(refused > 2500);
}
