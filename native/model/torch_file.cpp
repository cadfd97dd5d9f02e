// Makes tensors of what a pickle says of them. The form is that of torch.serialization:
// _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks), where the storage is the
// persistent ("storage", class, key, device, elements) and its bytes are the entry data/KEY.
#include "model/torch_file.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "model/file_error.h"
#include "model/pickle.h"
#include "model/shape.h"
#include "model/utf8.h"
#include "model/zip.h"

namespace sonant {
namespace {

using Kind = PickleValue::Kind;

constexpr std::string_view kTensor = "torch._utils._rebuild_tensor_v2", kParameter = "torch._utils._rebuild_parameter";
constexpr size_t kMaxDimensions = 8;

constexpr std::array<std::pair<std::string_view, DType>, 9> kStorages{{
    {"torch.FloatStorage", DType::kF32},
    {"torch.HalfStorage", DType::kF16},
    {"torch.BFloat16Storage", DType::kBF16},
    {"torch.CharStorage", DType::kI8},
    {"torch.ByteStorage", DType::kU8},
    {"torch.ShortStorage", DType::kI16},
    {"torch.IntStorage", DType::kI32},
    {"torch.LongStorage", DType::kI64},
    {"torch.BoolStorage", DType::kBool},
}};

const DType* storage_dtype(std::string_view name) {
  for (const auto& [known, dtype] : kStorages) {
    if (known == name) return &dtype;
  }
  return nullptr;
}

bool is_storage(std::string_view name) { return name.starts_with("torch.") && name.ends_with("Storage") && name.find('.', 6) == std::string_view::npos; }

bool may_appear(std::string_view name) { return name == kTensor || name == kParameter || is_storage(name); }

std::string known_storages() {
  std::string list;
  for (const auto& [name, dtype] : kStorages) list += (list.empty() ? "" : ", ") + std::string(name);
  return list;
}

struct Storage {
  DType dtype = DType::kF32;
  std::span<const std::byte> bytes;
  uint64_t elements = 0;
};

class TorchReader {
 public:
  TorchReader(const std::string& path, std::span<const std::byte> file) : path_(path), entries_(read_zip(path, file)) {
    for (const auto& [name, bytes] : entries_) {
      const size_t slash = name.find('/');
      if (slash == std::string_view::npos || name.substr(slash) != "/data.pkl") continue;
      if (!prefix_.empty()) invalid_file(path_, "it holds two files data.pkl");
      prefix_ = name.substr(0, slash + 1);
    }
    if (prefix_.empty()) invalid_file(path_, "it is a zip file without a data.pkl, so torch.save did not write it");
    if (entry("constants.pkl")) invalid_file(path_, "it holds a TorchScript program; only tensors that torch.save wrote can be read");
    const auto* order = entry("byteorder");
    if (order && text(*order) != "little") invalid_file(path_, "its byteorder is " + shown(text(*order)) + "; only \"little\" can be read");
    source_ = path_ + ": data.pkl";
    pickle_ = read_pickle(*entry("data.pkl"), source_, may_appear);
  }

  std::vector<Tensor> read() {
    const PickleValue* dict = &pickle_.at(pickle_.root);
    if (dict->kind != Kind::kDict) fail("it holds no dict of tensors");
    std::vector<Tensor> tensors = tensors_of(*dict);
    if (!tensors.empty()) return tensors;
    for (size_t i = 0; i < dict->items.size(); i += 2) {
      const PickleValue& key = pickle_.at(dict->items[i]);
      const PickleValue& value = pickle_.at(dict->items[i + 1]);
      if (key.kind == Kind::kString && key.text == "state_dict" && value.kind == Kind::kDict) return tensors_of(value);
    }
    return tensors;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { invalid_file(source_, what); }

  static std::string_view text(std::span<const std::byte> bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

  const std::span<const std::byte>* entry(const std::string& name) const {
    const auto at = entries_.find(std::string(prefix_) + name);
    return at == entries_.end() ? nullptr : &at->second;
  }

  // The arguments, if `value` is a call of `function`.
  const std::vector<uint32_t>* call_of(std::string_view function, const PickleValue& value) const {
    if (value.kind != Kind::kCall || pickle_.at(value.items[0]).text != function) return nullptr;
    return &pickle_.at(value.items[1]).items;
  }

  std::vector<Tensor> tensors_of(const PickleValue& dict) const {
    std::vector<Tensor> tensors;
    std::set<std::string> names;
    for (size_t i = 0; i < dict.items.size(); i += 2) {
      const PickleValue* value = &pickle_.at(dict.items[i + 1]);
      if (value->kind != Kind::kCall) continue;
      const PickleValue& key = pickle_.at(dict.items[i]);
      if (key.kind != Kind::kString) fail("a tensor has a key that is no name");
      const std::string& name = key.text;
      if (!is_utf8(name)) fail("a tensor has a name that is not UTF-8");
      if (!names.insert(name).second) fail(show_tensor(name) + " is there twice");
      if (const auto* parameter = call_of(kParameter, *value)) {
        if (parameter->size() != 3) fail(show_tensor(name) + " is a parameter that is not made of 3 values");
        value = &pickle_.at((*parameter)[0]);
      }
      const auto* arguments = call_of(kTensor, *value);
      if (!arguments) fail(show_tensor(name) + " is not made by " + std::string(kTensor));
      tensors.push_back(tensor(name, *arguments));
    }
    return tensors;
  }

  Tensor tensor(const std::string& name, const std::vector<uint32_t>& arguments) const {
    const std::string who = show_tensor(name);
    if (arguments.size() != 6 && arguments.size() != 7) fail(who + " is not made of 6 or 7 values");
    // The seventh tells of values that are stored negated or conjugated.
    if (arguments.size() == 7) {
      const PickleValue& metadata = pickle_.at(arguments[6]);
      if (metadata.kind != Kind::kNone && !(metadata.kind == Kind::kDict && metadata.items.empty())) fail(who + " is stored in a form that cannot be read");
    }
    const Storage from = storage(who, pickle_.at(arguments[0]));
    const uint64_t offset = whole(who + " has an offset", pickle_.at(arguments[1]));
    Tensor tensor;
    tensor.name = name;
    tensor.dtype = from.dtype;
    tensor.shape = dimensions(who + " has a size", pickle_.at(arguments[2]));
    const std::vector<int64_t> strides = dimensions(who + " has a stride", pickle_.at(arguments[3]));
    uint64_t bytes = 0;
    if (!checked_bytes(tensor.shape, dtype_size(from.dtype), bytes)) fail(who + " has the impossible shape " + show_shape(tensor.shape));
    const uint64_t count = bytes / dtype_size(from.dtype);
    if (offset > from.elements || count > from.elements - offset) {
      fail(who + " takes " + std::to_string(count) + " elements from " + std::to_string(offset) + " on but its storage has " + std::to_string(from.elements));
    }
    check_strides(who, tensor.shape, strides);
    tensor.data = from.bytes.data() + offset * dtype_size(from.dtype);
    tensor.bytes = static_cast<size_t>(bytes);
    return tensor;
  }

  Storage storage(const std::string& who, const PickleValue& value) const {
    if (value.kind != Kind::kPersistent) fail(who + " has no storage");
    const PickleValue& id = pickle_.at(value.items[0]);
    if (id.kind != Kind::kTuple || id.items.size() != 5) fail(who + " has a storage that is not described by 5 values");
    const PickleValue& what = pickle_.at(id.items[0]);
    const PickleValue& type = pickle_.at(id.items[1]);
    const PickleValue& key = pickle_.at(id.items[2]);
    if (what.kind != Kind::kString || what.text != "storage") fail(who + " lies in something that is no storage");
    const DType* dtype = type.kind == Kind::kGlobal ? storage_dtype(type.text) : nullptr;
    if (!dtype) fail(who + " has a storage of the type " + shown(type.text) + "; known are " + known_storages());
    if (key.kind != Kind::kString) fail(who + " has a storage whose key is no text");
    Storage storage;
    storage.dtype = *dtype;
    storage.elements = whole(who + " has a storage with a number of elements", pickle_.at(id.items[4]));
    const auto* bytes = entry("data/" + key.text);
    if (!bytes) fail(who + " lies in the entry " + shown("data/" + key.text) + " that is not there");
    storage.bytes = *bytes;
    if (bytes->size() % dtype_size(*dtype) != 0 || bytes->size() / dtype_size(*dtype) != storage.elements) {
      fail(who + " has a storage of " + std::to_string(storage.elements) + " " + dtype_name(*dtype) + " values but the entry " + shown("data/" + key.text) + " has " +
           std::to_string(bytes->size()) + " bytes");
    }
    return storage;
  }

  uint64_t whole(const std::string& what, const PickleValue& value) const {
    if (value.kind != Kind::kInt || value.integer < 0) fail(what + " that is not a whole number of at least 0");
    return static_cast<uint64_t>(value.integer);
  }

  std::vector<int64_t> dimensions(const std::string& what, const PickleValue& value) const {
    if (value.kind != Kind::kTuple) fail(what + " that is no tuple");
    if (value.items.size() > kMaxDimensions) fail(what + " of more than " + std::to_string(kMaxDimensions) + " dimensions");
    std::vector<int64_t> result;
    for (const uint32_t item : value.items) result.push_back(static_cast<int64_t>(whole(what, pickle_.at(item))));
    return result;
  }

  // Rows have to follow one another, the last index fastest. Where a dimension is 1 its stride says nothing.
  void check_strides(const std::string& who, const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) const {
    if (strides.size() != shape.size()) fail(who + " has " + std::to_string(shape.size()) + " dimensions but " + std::to_string(strides.size()) + " strides");
    for (const int64_t dim : shape) {
      if (dim == 0) return;
    }
    int64_t expected = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      if (shape[i] != 1 && strides[i] != expected) {
        fail(who + " of shape " + show_shape(shape) + " is stored with the strides " + show_shape(strides) + ", not row after row; save it again with .contiguous()");
      }
      expected *= shape[i];  // fits, since the tensor's bytes do
    }
  }

  const std::string& path_;
  std::map<std::string_view, std::span<const std::byte>> entries_;
  std::string_view prefix_;
  std::string source_;
  Pickle pickle_;
};

}  // namespace

bool begins_like_zip(std::span<const std::byte> file) {
  constexpr std::array<std::byte, 4> kMagic{std::byte{'P'}, std::byte{'K'}, std::byte{3}, std::byte{4}};
  return file.size() >= kMagic.size() && std::equal(kMagic.begin(), kMagic.end(), file.begin());
}

std::vector<Tensor> read_torch_file(const std::string& path, std::span<const std::byte> file) {
  if (!begins_like_zip(file)) {
    invalid_file(path, "it does not begin as files of torch.save do since PyTorch 1.6; load an older one with torch.load and save it again");
  }
  return TorchReader(path, file).read();
}

}  // namespace sonant
