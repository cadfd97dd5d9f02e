// Reading safetensors: checks the header against the file and makes tensors of it, in the order of their bytes.
#include "model/safetensors.h"

#include <algorithm>
#include <cstdint>

#include "model/file_error.h"
#include "model/json.h"
#include "model/shape.h"

namespace sonant {
namespace {

constexpr uint64_t kMaxHeaderBytes = 32u << 20;

bool parse_dtype(const std::string& name, DType& dtype) {
  for (const DType known : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kI32, DType::kI16, DType::kI64, DType::kU8, DType::kBool}) {
    if (name == dtype_name(known)) {
      dtype = known;
      return true;
    }
  }
  return false;
}

std::vector<int64_t> read_shape(const std::string& path, const std::string& name, const Json& entry) {
  const Json* list = entry.find("shape");
  if (!list || !list->is(Json::Kind::kArray)) invalid_file(path, show_tensor(name) + " has no shape");
  if (list->as_array().size() > 8) invalid_file(path, show_tensor(name) + " has more than 8 dimensions");
  std::vector<int64_t> shape;
  for (const Json& dim : list->as_array()) {
    if (!dim.is_integer() || dim.as_number() < 0) {
      invalid_file(path, show_tensor(name) + " has a dimension that is not a whole number of at least 0");
    }
    shape.push_back(dim.as_integer());
  }
  return shape;
}

struct Offsets {
  uint64_t begin, end;
};

Offsets read_offsets(const std::string& path, const std::string& name, const Json& entry, uint64_t data_bytes) {
  const Json* pair = entry.find("data_offsets");
  if (!pair || !pair->is(Json::Kind::kArray) || pair->as_array().size() != 2) {
    invalid_file(path, show_tensor(name) + " has no pair of data_offsets");
  }
  uint64_t value[2];
  for (size_t i = 0; i < 2; ++i) {
    const Json& number = pair->as_array()[i];
    if (!number.is_integer() || number.as_number() < 0) {
      invalid_file(path, show_tensor(name) + " has data_offsets that are not whole numbers of at least 0");
    }
    value[i] = static_cast<uint64_t>(number.as_integer());
  }
  if (value[0] > value[1] || value[1] > data_bytes) {
    invalid_file(path, show_tensor(name) + " claims bytes " + std::to_string(value[0]) + " to " + std::to_string(value[1]) +
                      " but the file holds " + std::to_string(data_bytes) + " bytes of data");
  }
  return {value[0], value[1]};
}

Tensor read_tensor(const std::string& path, const JsonMember& member, const std::byte* data, uint64_t data_bytes) {
  Tensor tensor;
  tensor.name = member.key;
  const Json& entry = member.value;
  if (!entry.is(Json::Kind::kObject)) invalid_file(path, show_tensor(tensor.name) + " is not described by an object");
  const Json* dtype = entry.find("dtype");
  if (!dtype || !dtype->is(Json::Kind::kString)) invalid_file(path, show_tensor(tensor.name) + " has no dtype");
  if (!parse_dtype(dtype->as_string(), tensor.dtype)) {
    invalid_file(path, show_tensor(tensor.name) + " has the dtype \"" + dtype->as_string().substr(0, 40) +
                      "\" but only F32, F16, BF16, I8, I16, I32, I64, U8 and BOOL are known");
  }
  tensor.shape = read_shape(path, tensor.name, entry);
  const Offsets offsets = read_offsets(path, tensor.name, entry, data_bytes);
  uint64_t bytes = 0;
  if (!checked_bytes(tensor.shape, dtype_size(tensor.dtype), bytes)) {
    invalid_file(path, show_tensor(tensor.name) + " has the impossible shape " + show_shape(tensor.shape));
  }
  if (offsets.end - offsets.begin != bytes) {
    invalid_file(path, show_tensor(tensor.name) + " of shape " + show_shape(tensor.shape) + " takes " + std::to_string(bytes) +
                      " bytes but its data_offsets span " + std::to_string(offsets.end - offsets.begin));
  }
  tensor.data = data + offsets.begin;
  tensor.bytes = static_cast<size_t>(bytes);
  return tensor;
}

// The data section must be covered exactly: no overlap, no gap, nothing behind the last tensor. `tensors` are in the order of their bytes.
void check_coverage(const std::string& path, const std::vector<Tensor>& tensors, const std::byte* data, uint64_t data_bytes) {
  uint64_t covered = 0;
  for (const Tensor& tensor : tensors) {
    const uint64_t begin = static_cast<uint64_t>(tensor.data - data);
    if (begin < covered) invalid_file(path, show_tensor(tensor.name) + " overlaps the tensor before it");
    if (begin > covered) {
      invalid_file(path, "the " + std::to_string(begin - covered) + " bytes before " + show_tensor(tensor.name) + " belong to no tensor");
    }
    covered += tensor.bytes;
  }
  if (covered != data_bytes) {
    invalid_file(path, "the last " + std::to_string(data_bytes - covered) + " bytes belong to no tensor");
  }
}

uint64_t load_u64(const std::byte* data) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = (value << 8) | static_cast<uint64_t>(data[i]);
  return value;
}

}  // namespace

std::vector<Tensor> read_safetensors(const std::string& path, std::span<const std::byte> file) {
  if (file.size() < 8) invalid_file(path, "the file has " + std::to_string(file.size()) + " bytes; a safetensors file has at least 8");
  const uint64_t header = load_u64(file.data());
  if (header > kMaxHeaderBytes || header > file.size() - 8) {
    invalid_file(path, "the header claims " + std::to_string(header) + " bytes but the file has " + std::to_string(file.size() - 8) +
                           " after its length (at most " + std::to_string(kMaxHeaderBytes) + " are allowed)");
  }
  const Json json = Json::parse({reinterpret_cast<const char*>(file.data() + 8), static_cast<size_t>(header)}, path + ": the header");
  if (!json.is(Json::Kind::kObject)) invalid_file(path, "the header is not an object");
  const std::byte* data = file.data() + 8 + header;
  const uint64_t data_bytes = file.size() - 8 - header;
  std::vector<Tensor> tensors;
  for (const JsonMember& member : json.as_object()) {
    if (member.key == "__metadata__") continue;
    tensors.push_back(read_tensor(path, member, data, data_bytes));
  }
  std::stable_sort(tensors.begin(), tensors.end(), [](const Tensor& a, const Tensor& b) {
    return a.data != b.data ? a.data < b.data : a.bytes < b.bytes;
  });
  check_coverage(path, tensors, data, data_bytes);
  return tensors;
}

}  // namespace sonant
