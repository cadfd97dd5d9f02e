// Reading safetensors: maps the files, validates headers, and converts values to fp32.
// A file that another process shortens while it is mapped can still raise SIGBUS; checkpoints
// are expected not to be edited in place.
#include "model/safetensors.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "model/convert.h"
#include "model/error.h"
#include "model/json.h"
#include "model/shape.h"

namespace sonant {
namespace {

constexpr uint64_t kMaxHeaderBytes = 32u << 20;
constexpr size_t kMaxShards = 1000;

[[noreturn]] void invalid(const std::string& path, const std::string& what) {
  throw Error("model_invalid", path + ": " + what + ".");
}

// Names come from the file; keep a hostile one from flooding the sentence.
std::string show_name(const std::string& name) {
  return "the tensor \"" + (name.size() > 200 ? name.substr(0, 200) + "..." : name) + "\"";
}

bool parse_dtype(const std::string& name, DType& dtype) {
  for (const DType known : {DType::kF32, DType::kF16, DType::kBF16, DType::kI8, DType::kI32}) {
    if (name == dtype_name(known)) {
      dtype = known;
      return true;
    }
  }
  return false;
}

bool exists(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0;
}

std::vector<int64_t> read_shape(const std::string& path, const std::string& name, const Json& entry) {
  const Json* list = entry.find("shape");
  if (!list || !list->is(Json::Kind::kArray)) invalid(path, show_name(name) + " has no shape");
  if (list->as_array().size() > 8) invalid(path, show_name(name) + " has more than 8 dimensions");
  std::vector<int64_t> shape;
  for (const Json& dim : list->as_array()) {
    if (!dim.is_integer() || dim.as_number() < 0) {
      invalid(path, show_name(name) + " has a dimension that is not a whole number of at least 0");
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
    invalid(path, show_name(name) + " has no pair of data_offsets");
  }
  uint64_t value[2];
  for (size_t i = 0; i < 2; ++i) {
    const Json& number = pair->as_array()[i];
    if (!number.is_integer() || number.as_number() < 0) {
      invalid(path, show_name(name) + " has data_offsets that are not whole numbers of at least 0");
    }
    value[i] = static_cast<uint64_t>(number.as_integer());
  }
  if (value[0] > value[1] || value[1] > data_bytes) {
    invalid(path, show_name(name) + " claims bytes " + std::to_string(value[0]) + " to " + std::to_string(value[1]) +
                      " but the file holds " + std::to_string(data_bytes) + " bytes of data");
  }
  return {value[0], value[1]};
}

Tensor read_tensor(const std::string& path, const JsonMember& member, const std::byte* data, uint64_t data_bytes) {
  Tensor tensor;
  tensor.name = member.key;
  const Json& entry = member.value;
  if (!entry.is(Json::Kind::kObject)) invalid(path, show_name(tensor.name) + " is not described by an object");
  const Json* dtype = entry.find("dtype");
  if (!dtype || !dtype->is(Json::Kind::kString)) invalid(path, show_name(tensor.name) + " has no dtype");
  if (!parse_dtype(dtype->as_string(), tensor.dtype)) {
    invalid(path, show_name(tensor.name) + " has the dtype \"" + dtype->as_string().substr(0, 40) +
                      "\" but only F32, F16, BF16, I8 and I32 are known");
  }
  tensor.shape = read_shape(path, tensor.name, entry);
  const Offsets offsets = read_offsets(path, tensor.name, entry, data_bytes);
  uint64_t bytes = 0;
  if (!checked_bytes(tensor.shape, dtype_size(tensor.dtype), bytes)) {
    invalid(path, show_name(tensor.name) + " has the impossible shape " + show_shape(tensor.shape));
  }
  if (offsets.end - offsets.begin != bytes) {
    invalid(path, show_name(tensor.name) + " of shape " + show_shape(tensor.shape) + " takes " + std::to_string(bytes) +
                      " bytes but its data_offsets span " + std::to_string(offsets.end - offsets.begin));
  }
  tensor.data = data + offsets.begin;
  tensor.bytes = static_cast<size_t>(bytes);
  return tensor;
}

// The data section must be covered exactly: no overlap, no gap, nothing behind the last tensor.
void check_coverage(const std::string& path, const std::vector<Tensor>& tensors, const std::byte* data, uint64_t data_bytes) {
  std::vector<const Tensor*> order;
  for (const Tensor& tensor : tensors) order.push_back(&tensor);
  std::sort(order.begin(), order.end(), [](const Tensor* a, const Tensor* b) {
    return a->data != b->data ? a->data < b->data : a->bytes < b->bytes;
  });
  uint64_t covered = 0;
  for (const Tensor* tensor : order) {
    const uint64_t begin = static_cast<uint64_t>(tensor->data - data);
    if (begin < covered) invalid(path, show_name(tensor->name) + " overlaps the tensor before it");
    if (begin > covered) {
      invalid(path, "the " + std::to_string(begin - covered) + " bytes before " + show_name(tensor->name) + " belong to no tensor");
    }
    covered += tensor->bytes;
  }
  if (covered != data_bytes) {
    invalid(path, "the last " + std::to_string(data_bytes - covered) + " bytes belong to no tensor");
  }
}

uint64_t load_u64(const std::byte* data) {
  uint64_t value = 0;
  for (int i = 7; i >= 0; --i) value = (value << 8) | static_cast<uint64_t>(data[i]);
  return value;
}

std::vector<Tensor> read_header(const std::string& path, const std::byte* file, size_t size) {
  if (size < 8) invalid(path, "the file has " + std::to_string(size) + " bytes; a safetensors file has at least 8");
  const uint64_t header = load_u64(file);
  if (header > kMaxHeaderBytes || header > size - 8) {
    invalid(path, "the header claims " + std::to_string(header) + " bytes but the file has " + std::to_string(size - 8) +
                      " after its length (at most " + std::to_string(kMaxHeaderBytes) + " are allowed)");
  }
  const Json json = Json::parse({reinterpret_cast<const char*>(file + 8), static_cast<size_t>(header)}, path + ": the header");
  if (!json.is(Json::Kind::kObject)) invalid(path, "the header is not an object");
  const std::byte* data = file + 8 + header;
  const uint64_t data_bytes = size - 8 - header;
  std::vector<Tensor> tensors;
  for (const JsonMember& member : json.as_object()) {
    if (member.key == "__metadata__") continue;
    tensors.push_back(read_tensor(path, member, data, data_bytes));
  }
  check_coverage(path, tensors, data, data_bytes);
  return tensors;
}

// Shards named by an index, each a plain file name inside the index's own folder.
std::set<std::string> read_index(const std::string& path) {
  const Json json = Json::parse_file(path);
  const Json* map = json.find("weight_map");
  if (!map || !map->is(Json::Kind::kObject)) invalid(path, "it has no weight_map");
  std::set<std::string> files;
  for (const JsonMember& member : map->as_object()) {
    if (!member.value.is(Json::Kind::kString)) invalid(path, show_name(member.key) + " is not mapped to a file name");
    const std::string& file = member.value.as_string();
    const bool plain = !file.empty() && file.size() <= 255 && file[0] != '.' &&
                       file.find_first_of(std::string_view("/\\:\0", 4)) == std::string::npos;
    if (!plain) invalid(path, show_name(member.key) + " is mapped to a file outside the folder or without a name");
    files.insert(file);
    if (files.size() > kMaxShards) invalid(path, "it names more than " + std::to_string(kMaxShards) + " files");
  }
  if (files.empty()) invalid(path, "its weight_map is empty");
  return files;
}

}  // namespace

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "F32";
    case DType::kF16: return "F16";
    case DType::kBF16: return "BF16";
    case DType::kI8: return "I8";
    case DType::kI32: return "I32";
  }
  return "unknown";
}

size_t dtype_size(DType dtype) {
  switch (dtype) {
    case DType::kF32:
    case DType::kI32: return 4;
    case DType::kF16:
    case DType::kBF16: return 2;
    case DType::kI8: return 1;
  }
  return 0;
}

int64_t Tensor::count() const { return static_cast<int64_t>(bytes / dtype_size(dtype)); }
int64_t Tensor::rows() const { return shape.empty() ? 1 : shape[0]; }
int64_t Tensor::cols() const {
  int64_t product = 1;
  for (size_t i = 1; i < shape.size(); ++i) {
    if (shape[i] == 0) return 0;
    product *= shape[i];
  }
  return product;
}

struct Checkpoint::Mapping {
  std::string path;
  void* base = nullptr;
  size_t size = 0;

  explicit Mapping(const std::string& file) : path(file) {
    const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) throw Error("model_missing", "The file " + file + " is not there or cannot be read.");
    struct stat info {};
    if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
      ::close(fd);
      throw Error("model_missing", "The file " + file + " is not a regular file.");
    }
    size = static_cast<size_t>(info.st_size);
    if (size > 0) base = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    ::close(fd);
    if (base == MAP_FAILED) {
      base = nullptr;
      throw Error("out_of_memory", "The file " + file + " cannot be mapped into memory.");
    }
  }
  ~Mapping() {
    if (base) ::munmap(base, size);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
};

Checkpoint::~Checkpoint() = default;

void Checkpoint::add_file(const std::string& path) {
  mappings_.push_back(std::make_unique<Mapping>(path));
  const Mapping& mapping = *mappings_.back();
  for (Tensor& tensor : read_header(path, static_cast<const std::byte*>(mapping.base), mapping.size)) {
    const std::string name = tensor.name;
    if (!tensors_.emplace(name, std::move(tensor)).second) invalid(path, show_name(name) + " is also in another file of the model");
  }
}

void Checkpoint::attach_scales() {
  for (auto& [name, tensor] : tensors_) {
    if (tensor.dtype != DType::kI8) continue;
    const std::vector<int64_t> expected{tensor.rows(), (tensor.cols() + kInt8Group - 1) / kInt8Group};
    const auto scale = tensors_.find(name + ".scale");
    if (scale == tensors_.end()) invalid(mappings_[0]->path, show_name(name) + " is I8 but has no companion \"" + name.substr(0, 200) + ".scale\"");
    if (scale->second.dtype != DType::kF32 || scale->second.shape != expected) {
      invalid(mappings_[0]->path, show_name(scale->first) + " is " + dtype_name(scale->second.dtype) + " " +
                                      show_shape(scale->second.shape) + " but must be F32 " + show_shape(expected));
    }
    tensor.scale = scale->second.data;
  }
}

std::shared_ptr<Checkpoint> Checkpoint::open(const std::string& folder) {
  const std::string single = folder + "/model.safetensors";
  const std::string index = folder + "/model.safetensors.index.json";
  if (exists(single)) return open_file(single);
  if (!exists(index)) {
    throw Error("model_missing", "The folder " + folder + " holds neither model.safetensors nor model.safetensors.index.json.");
  }
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint);
  for (const std::string& file : read_index(index)) checkpoint->add_file(folder + "/" + file);
  checkpoint->attach_scales();
  return checkpoint;
}

std::shared_ptr<Checkpoint> Checkpoint::open_file(const std::string& path) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint);
  checkpoint->add_file(path);
  checkpoint->attach_scales();
  return checkpoint;
}

bool Checkpoint::has(const std::string& name) const { return tensors_.count(name) != 0; }

const Tensor& Checkpoint::get(const std::string& name) const {
  const auto at = tensors_.find(name);
  if (at == tensors_.end()) invalid(mappings_[0]->path, show_name(name) + " is missing");
  return at->second;
}

const Tensor& Checkpoint::get(const std::string& name, const std::vector<int64_t>& shape) const {
  const Tensor& tensor = get(name);
  if (tensor.shape != shape) {
    invalid(mappings_[0]->path, show_name(name) + " has the shape " + show_shape(tensor.shape) + " but the config asks for " + show_shape(shape));
  }
  return tensor;
}

void Checkpoint::release(const Tensor& tensor) const {
  // Whole pages inside the tensor only: its neighbours may still be in use.
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(tensor.data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(tensor.data) + tensor.bytes) / page * page;
  if (tensor.bytes != 0 && begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

void read_rows_f32(const Tensor& tensor, int64_t row, int64_t n, float* out) {
  if (row < 0 || n < 0 || row > tensor.rows() || n > tensor.rows() - row) {
    throw Error("model_invalid", "Rows " + std::to_string(row) + " to " + std::to_string(row + n) + " of " + show_name(tensor.name) +
                                     " were asked for but it has " + std::to_string(tensor.rows()) + ".");
  }
  const int64_t cols = tensor.cols();
  if (n == 0 || cols == 0) return;
  const auto count = static_cast<size_t>(n * cols);
  const std::byte* data = tensor.data + static_cast<size_t>(row * cols) * dtype_size(tensor.dtype);
  switch (tensor.dtype) {
    case DType::kF32: std::memcpy(out, data, count * sizeof(float)); return;
    case DType::kBF16: bf16_to_f32(data, count, out); return;
    case DType::kF16: f16_to_f32(data, count, out); return;
    case DType::kI32: i32_to_f32(data, count, out); return;
    case DType::kI8: {
      const int64_t groups = (cols + kInt8Group - 1) / kInt8Group;
      const std::byte* scale = tensor.scale + static_cast<size_t>(row * groups) * sizeof(float);
      for (int64_t r = 0; r < n; ++r) {
        i8_to_f32(data + r * cols, scale + static_cast<size_t>(r * groups) * sizeof(float), static_cast<size_t>(cols), out + r * cols);
      }
      return;
    }
  }
}

void read_f32(const Tensor& tensor, float* out) { read_rows_f32(tensor, 0, tensor.rows(), out); }

}  // namespace sonant
