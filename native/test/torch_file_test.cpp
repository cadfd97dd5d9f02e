// Files of torch.save: the same weights to the bit as safetensors, one that PyTorch itself wrote,
// every refusal, and damage.
#include "model/torch_file.h"

#include <cstring>
#include <functional>
#include <limits>

#include "model/checkpoint.h"
#include "model/config.h"
#include "model/weights.h"
#include "test/check.h"
#include "test/mutate.h"
#include "test/torch_writer.h"

using namespace sonant;
using namespace sonant::test;

namespace {

// Reads from a block of exactly the file's size, so that a sanitizer sees a read past it.
struct Read {
  std::vector<char> block;
  std::vector<Tensor> tensors;
};

Read read(const std::string& bytes) {
  Read result{{bytes.begin(), bytes.end()}, {}};
  result.tensors = read_torch_file("x.bin", std::as_bytes(std::span(result.block)));
  return result;
}

std::string one(const std::string& value, const std::string& storage = std::string(24, '\1')) {
  return torch_zip(p_whole(p_dict({{"the.name", value}})), {{"0", storage}});
}

const TorchTensor kGood{"FloatStorage", "0", 6, 0, {2, 3}, {3, 1}};

TorchTensor changed(const std::function<void(TorchTensor&)>& change) {
  TorchTensor tensor = kGood;
  change(tensor);
  return tensor;
}

std::vector<float> floats(const Checkpoint& file, const std::string& name) {
  const Tensor& tensor = file.get(name);
  std::vector<float> out(static_cast<size_t>(tensor.count()));
  read_f32(tensor, out.data());
  return out;
}

}  // namespace

TEST(torch_file_equals_safetensors) {
  for (const char* name : {"lm-tiny", "codec-tiny"}) {
    const auto original = Checkpoint::open(fixture(name));
    for (const ZipForm form : {ZipForm::kDescriptors, ZipForm::kZip64}) {
      const std::string folder = temporary_folder();
      write_file(folder + "/pytorch_model.bin", torch_file(original->in_order(), form));
      const auto read = Checkpoint::open(folder);
      REQUIRE(read->tensors().size() == original->tensors().size());
      for (size_t i = 0; i < read->in_order().size(); ++i) {
        const Tensor &a = *read->in_order()[i], &b = *original->in_order()[i];
        CHECK_EQUAL(a.name, b.name);
        CHECK(a.dtype == b.dtype && a.shape == b.shape && a.bytes == b.bytes && std::memcmp(a.data, b.data, a.bytes) == 0);
      }
      if (std::string(name) == "lm-tiny") resolve_lm_weights(read, read_lm_config(fixture("lm-tiny/config.json")));
    }
  }
}

// Written by torch.save of PyTorch 1.13 from the state dict of a module with a Linear(3, 2), a
// BatchNorm1d(2) and what else a state dict may hold; parameter number i counts from 10 i on.
TEST(torch_file_of_pytorch_itself) {
  const auto file = Checkpoint::open_file(fixture("torch/mixed.bin"));
  const std::vector<std::string> names{"a.weight", "a.bias", "n.weight", "n.bias", "n.running_mean", "n.running_var", "n.num_batches_tracked", "tied", "half", "bf", "i8", "i16", "i32", "mask", "row", "empty", "scalar", "par"};
  REQUIRE(file->in_order().size() == names.size());
  for (size_t i = 0; i < names.size(); ++i) CHECK_EQUAL(file->in_order()[i]->name, names[i]);
  const auto holds = [&](const char* name, DType dtype, const std::vector<int64_t>& shape, const std::vector<float>& values) {
    CHECK(file->get(name, shape).dtype == dtype);
    CHECK(floats(*file, name) == values);
  };
  holds("a.weight", DType::kF32, {2, 3}, {0, 1, 2, 3, 4, 5});
  holds("a.bias", DType::kF32, {2}, {10, 11});
  holds("n.bias", DType::kF32, {2}, {30, 31});
  holds("n.num_batches_tracked", DType::kI64, {}, {0});
  holds("tied", DType::kF32, {2, 3}, {0, 1, 2, 3, 4, 5});
  CHECK(file->get("tied").data == file->get("a.weight").data);
  holds("half", DType::kF16, {3}, {1, -2, 0.5f});
  holds("bf", DType::kBF16, {1, 2}, {1, -2});
  holds("i8", DType::kU8, {2}, {1, 254});
  holds("i16", DType::kI16, {1}, {-300});
  holds("i32", DType::kI32, {1}, {-70000});
  holds("mask", DType::kBool, {2}, {1, 0});
  holds("row", DType::kF32, {4}, {4, 5, 6, 7});
  holds("empty", DType::kF32, {0, 4}, {});
  holds("scalar", DType::kF32, {}, {2.5f});
  holds("par", DType::kF32, {2}, {7, 8});
}

TEST(torch_file_finds_the_state_dict) {
  CHECK_EQUAL(read(one(p_tensor(kGood))).tensors.size(), 1u);
  CHECK_EQUAL(read(one(p_parameter(p_tensor(kGood)))).tensors.at(0).name, "the.name");
  const std::string nested = p_dict({{"epoch", "K\3"}, {"state_dict", p_dict({{"w", p_tensor(kGood)}, {"note", p_text("x")}})}});
  CHECK_EQUAL(read(torch_zip(p_whole(nested), {{"0", std::string(24, '\1')}})).tensors.at(0).name, "w");
  CHECK(read(one("N")).tensors.empty());
  // A dimension of 1 may have any stride, and a tensor of no elements too.
  CHECK_EQUAL(read(one(p_tensor(changed([](TorchTensor& t) { t.shape = {1, 3}, t.strides = {77, 1}; })))).tensors.at(0).bytes, 12u);
  CHECK_EQUAL(read(one(p_tensor(changed([](TorchTensor& t) { t.shape = {0, 3}, t.strides = {9, 9}; })))).tensors.at(0).bytes, 0u);
}

TEST(torch_file_refuses_lies) {
  const auto refuse = [](const std::string& bytes, const char* part) { CHECK_THROWS_SAYING(read(bytes), "model_invalid", part); };
  const auto tensor = [&](const std::function<void(TorchTensor&)>& change, const char* part) {
    refuse(one(p_tensor(changed(change))), "the tensor \"the.name\"");
    refuse(one(p_tensor(changed(change))), part);
  };
  tensor([](TorchTensor& t) { t.key = "1"; }, "\"data/1\" that is not there");
  tensor([](TorchTensor& t) { t.key = "../data.pkl"; }, "that is not there");
  tensor([](TorchTensor& t) { t.elements = 7; }, "7 F32 values but the entry \"data/0\" has 24 bytes");
  tensor([](TorchTensor& t) { t.elements = 1ll << 62; }, "24 bytes");
  tensor([](TorchTensor& t) { t.elements = -1; }, "whole number");
  tensor([](TorchTensor& t) { t.type = "HalfStorage"; }, "6 F16 values");
  tensor([](TorchTensor& t) { t.type = "DoubleStorage"; }, "torch.DoubleStorage");
  tensor([](TorchTensor& t) { t.offset = 1; }, "takes 6 elements from 1 on but its storage has 6");
  tensor([](TorchTensor& t) { t.offset = -1; }, "whole number");
  tensor([](TorchTensor& t) { t.offset = std::numeric_limits<int64_t>::max(); }, "but its storage has 6");
  tensor([](TorchTensor& t) { t.shape = {3, 3}; }, "takes 9 elements");
  tensor([](TorchTensor& t) { t.shape = {1ll << 40, 1ll << 40}; }, "impossible shape");
  tensor([](TorchTensor& t) { t.shape = {0, 1ll << 40, 1ll << 40}; }, "impossible shape");
  tensor([](TorchTensor& t) { t.shape = {-2, -3}; }, "whole number");
  tensor([](TorchTensor& t) { t.shape = {1, 1, 1, 1, 1, 1, 1, 2, 3}; }, "more than 8 dimensions");
  tensor([](TorchTensor& t) { t.strides = {1, 2}; }, "save it again with .contiguous()");
  tensor([](TorchTensor& t) { t.strides = {0, 0}; }, ".contiguous()");
  tensor([](TorchTensor& t) { t.strides = {1}; }, "2 dimensions but 1 strides");
  tensor([](TorchTensor& t) { t.strides = {-3, -1}; }, "whole number");

  const std::string good = p_whole(p_dict({{"w", p_tensor(kGood)}}));
  const std::map<std::string, std::string> storages{{"0", std::string(24, '\1')}};
  refuse(torch_zip(good, storages, ZipForm::kDescriptors, "big"), "byteorder is \"big\"");
  refuse(zip_file({{"a/other", ""}}), "without a data.pkl");
  refuse(zip_file({{"a/data.pkl", good}, {"b/data.pkl", good}}), "two files data.pkl");
  refuse(zip_file({{"a/data.pkl", good}, {"a/constants.pkl", ""}}), "TorchScript");
  refuse("\x80\x02\x8a\nl\xfc\x9c", "since PyTorch 1.6");
  refuse("", "since PyTorch 1.6");
  refuse(torch_zip(p_whole("]"), {}), "no dict of tensors");
  refuse(torch_zip(p_whole(p_dict({{"w", p_tensor(kGood)}, {"w", p_tensor(kGood)}})), storages), "\"w\" is there twice");
  refuse(torch_zip(p_whole("}(K\1" + p_tensor(kGood) + "u"), storages), "no name");
  refuse(torch_zip(p_whole(p_dict({{"w\xff", p_tensor(kGood)}})), storages), "not UTF-8");
  refuse(one(p_global("torch.nn.modules.linear", "Linear") + ")R"), "\"torch.nn.modules.linear.Linear\", which is refused");
  refuse(one(p_global("os", "system") + p_tuple({p_text("true")}) + "R"), "\"os.system\", which is refused");
  refuse(one(p_global("torch", "FloatStorage") + ")R"), "is not made by torch._utils._rebuild_tensor_v2");
  refuse(one(p_parameter("N")), "is not made by");
  refuse(one(p_global("torch._utils", "_rebuild_parameter") + ")R"), "3 values");
  refuse(one(p_global("torch._utils", "_rebuild_tensor_v2") + ")R"), "6 or 7 values");
  const auto made_of = [&](const std::vector<std::string>& arguments, const char* part) { refuse(one(p_global("torch._utils", "_rebuild_tensor_v2") + p_tuple(arguments) + "R"), part); };
  const std::string storage = p_storage(kGood), zero = p_int(0), shape = p_ints({6}), strides = p_ints({1});
  made_of({"N", zero, shape, strides, "\x89", "}"}, "no storage");
  made_of({"NQ", zero, shape, strides, "\x89", "}"}, "5 values");
  made_of({p_tuple({p_text("module"), "N", "N", "N", "N"}) + "Q", zero, shape, strides, "\x89", "}"}, "no storage");
  made_of({p_tuple({p_text("storage"), "N", "N", "N", "N"}) + "Q", zero, shape, strides, "\x89", "}"}, "storage of the type");
  made_of({p_tuple({p_text("storage"), p_global("torch", "FloatStorage"), "N", "N", "N"}) + "Q", zero, shape, strides, "\x89", "}"}, "key is no text");
  made_of({storage, "N", shape, strides, "\x89", "}"}, "whole number");
  made_of({storage, zero, "N", strides, "\x89", "}"}, "no tuple");
  made_of({storage, zero, shape, strides, "\x89", "}", p_dict({{"neg", "\x88"}})}, "cannot be read");
}

TEST(torch_file_survives_mutation) {
  const std::string pickle = p_whole(p_dict({{"a", p_tensor(kGood)}, {"b", p_parameter(p_tensor(changed([](TorchTensor& t) { t.offset = 3, t.shape = {3}, t.strides = {1}; })))}}, p_ordered_dict()));
  const std::map<std::string, std::string> storages{{"0", std::string(24, '\1')}};
  const std::string valid = torch_zip(pickle, storages);
  CHECK_EQUAL(read(valid).tensors.size(), 2u);
  test::Mutator mutator(31);
  int refused = 0;
  for (int i = 0; i < 10'000; ++i) {
    std::string bytes;
    switch (i % 4) {
      case 0: bytes = mutator.mutate(valid); break;
      case 1: bytes = valid.substr(0, mutator.below(valid.size())); break;
      case 2: bytes = torch_zip(mutator.mutate(pickle), storages, ZipForm::kZip64); break;  // the zip stays true, so the pickle is reached
      default: {  // a length or a place becomes another
        bytes = valid;
        const std::string lie = little(mutator.below(2) ? mutator.below(bytes.size() + 64) : 0xffffff00u + mutator.below(256), 1 << mutator.below(3));
        const size_t at = mutator.below(bytes.size() - 8);
        bytes.replace(at, lie.size(), lie);
      }
    }
    try {
      const Read result = read(bytes);
      for (const Tensor& tensor : result.tensors) {
        CHECK(tensor.count() <= 64);
        std::vector<float> out(static_cast<size_t>(tensor.count()));
        if (tensor.dtype != DType::kI8) read_f32(tensor, out.data());
      }
    } catch (const Error& error) {
      CHECK_EQUAL(error.code(), "model_invalid");
      ++refused;
    }
  }
  CHECK(refused > 5000);
}
