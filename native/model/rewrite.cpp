// Rewriting checkpoints: a plan of what each tensor becomes, then one pass over the data.
#include "model/rewrite.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "model/checkpoint.h"
#include "model/convert.h"
#include "model/error.h"
#include "model/file_error.h"
#include "model/safetensors_writer.h"
#include "model/table.h"

namespace sonant {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPieceValues = 1 << 20;  // converted at a time, or one row where that is more
constexpr size_t kPieceBytes = 4u << 20;   // copied at a time

struct Item {
  const Tensor* tensor;
  DType dtype;  // that it becomes
};

bool is_tied_head(const std::string& name, const Checkpoint& file) {
  if (name == "text_lm_head.weight") return file.has("transformer.wte.weight");
  const std::string heads = "audio_lm_heads.";
  return name.starts_with(heads) && file.has("audio_embeddings." + name.substr(heads.size()));
}

// Whether `name` holds the scales of an int8 matrix.
bool is_scale(const std::string& name, const Checkpoint& file) {
  constexpr std::string_view kEnd = ".scale";
  if (!name.ends_with(kEnd)) return false;
  const std::string matrix = name.substr(0, name.size() - kEnd.size());
  return file.has(matrix) && file.get(matrix).dtype == DType::kI8;
}

int64_t groups_of(const Tensor& tensor) { return (tensor.cols() + kInt8Group - 1) / kInt8Group; }

DType new_dtype(const Tensor& tensor, StoredAs as, const std::function<bool(const std::string&)>& keep) {
  const bool number = is_float(tensor.dtype) || tensor.dtype == DType::kI8;
  if (as == StoredAs::kBf16 && number) return DType::kBF16;
  if (as == StoredAs::kF32 && number) return DType::kF32;
  if (as == StoredAs::kInt8 && is_float(tensor.dtype) && tensor.shape.size() == 2 && is_quantisable(tensor.name) && !keep(tensor.name)) return DType::kI8;
  return tensor.dtype;
}

std::vector<Item> plan(const Checkpoint& file, StoredAs as, const std::function<bool(const std::string&)>& keep) {
  std::vector<Item> items;
  for (const Tensor* tensor : file.in_order()) {
    if (as == StoredAs::kInt8 && is_tied_head(tensor->name, file)) continue;
    if ((as == StoredAs::kBf16 || as == StoredAs::kF32) && is_scale(tensor->name, file)) continue;
    const DType dtype = new_dtype(*tensor, as, keep);
    if (dtype == DType::kI8 && tensor->dtype != DType::kI8 && file.has(tensor->name + ".scale")) {
      throw Error("model_invalid", "The checkpoint already has " + show_tensor(tensor->name + ".scale") + ", which the int8 form would add.");
    }
    items.push_back({tensor, dtype});
  }
  return items;
}

// Scales come right behind their matrix, so that one pass over the data is enough.
std::vector<TensorSpec> specs_of(const std::vector<Item>& items) {
  std::vector<TensorSpec> specs;
  for (const auto& [tensor, dtype] : items) {
    specs.push_back({tensor->name, dtype, tensor->shape});
    if (dtype == DType::kI8 && tensor->dtype != DType::kI8) specs.push_back({tensor->name + ".scale", DType::kF32, {tensor->rows(), groups_of(*tensor)}});
  }
  return specs;
}

// Part of a tensor's bytes, to be given back to the system once they were used.
Tensor part(const Tensor& tensor, size_t begin, size_t bytes) {
  Tensor piece;
  piece.dtype = tensor.dtype;
  piece.data = tensor.data + begin;
  piece.bytes = bytes;
  return piece;
}

void copy(const Checkpoint& file, const Tensor& tensor, SafetensorsWriter& writer) {
  if (tensor.bytes == 0) return writer.write(nullptr, 0);
  for (size_t at = 0; at < tensor.bytes; at += kPieceBytes) {
    const Tensor piece = part(tensor, at, std::min(kPieceBytes, tensor.bytes - at));
    writer.write_part(piece.data, piece.bytes);
    file.release(piece);
  }
}

// Numbers of another type, some rows at a time. The scales of int8 wait until the matrix is complete.
void convert(const Checkpoint& file, const Item& item, SafetensorsWriter& writer) {
  const Tensor& tensor = *item.tensor;
  const int64_t rows = tensor.rows(), cols = tensor.cols(), groups = groups_of(tensor);
  const bool int8 = item.dtype == DType::kI8;
  std::vector<float> scales(int8 ? static_cast<size_t>(rows * groups) : 0);
  if (rows * cols == 0) writer.write(nullptr, 0);
  const int64_t step = std::max<int64_t>(1, kPieceValues / std::max<int64_t>(1, cols));
  std::vector<float> values;
  std::vector<std::byte> out;
  for (int64_t row = 0; row < rows && cols > 0; row += step) {
    const int64_t n = std::min(step, rows - row);
    values.resize(static_cast<size_t>(n * cols));
    out.resize(values.size() * dtype_size(item.dtype));
    read_rows_f32(tensor, row, n, values.data());
    if (int8) {
      for (int64_t r = 0; r < n; ++r) f32_to_i8(&values[static_cast<size_t>(r * cols)], static_cast<size_t>(cols), &out[static_cast<size_t>(r * cols)], &scales[static_cast<size_t>((row + r) * groups)]);
      writer.write_part(out.data(), out.size());
    } else if (item.dtype == DType::kBF16) {
      f32_to_bf16(values.data(), values.size(), out.data());
      writer.write_part(out.data(), out.size());
    } else {
      writer.write_part(values.data(), values.size() * sizeof(float));
    }
    const size_t row_bytes = static_cast<size_t>(cols) * dtype_size(tensor.dtype);
    file.release(part(tensor, static_cast<size_t>(row) * row_bytes, static_cast<size_t>(n) * row_bytes));
  }
  if (int8) writer.write(scales.data(), scales.size() * sizeof(float));
}

void make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) throw Error("engine_failed", "The folder " + folder + " cannot be made: " + error.message() + ".");
}

}  // namespace

void copy_companions(const std::string& in_folder, const std::string& out_folder) {
  constexpr std::uintmax_t kLargest = 16u << 20;
  std::error_code error;
  for (const fs::directory_entry& file : fs::directory_iterator(in_folder, error)) {
    const std::string name = file.path().filename().string();
    const std::string kind = file.path().extension().string();
    const bool weights = kind == ".safetensors" || kind == ".bin" || kind == ".pt" || name.ends_with(".index.json");
    if (weights || kind == ".py" || name.front() == '.' || !file.is_regular_file(error) || file.file_size(error) > kLargest) continue;
    const fs::path target = fs::path(out_folder) / name;
    // A copy of a read-only file would be read-only and could not be replaced the next time.
    fs::remove(target, error);
    fs::copy_file(file.path(), target, fs::copy_options::overwrite_existing, error);
    if (error) throw Error("engine_failed", "The file " + file.path().string() + " cannot be copied: " + error.message() + ".");
  }
  if (error) throw Error("model_missing", "The folder " + in_folder + " cannot be read: " + error.message() + ".");
}

void rewrite_checkpoint(const std::string& in, const std::string& out_folder, StoredAs as, const std::function<bool(const std::string& name)>& keep) {
  std::error_code error;
  const bool folder = !fs::is_regular_file(in, error);
  const auto file = folder ? Checkpoint::open(in) : Checkpoint::open_file(in);
  const std::vector<Item> items = plan(*file, as, keep);
  make_folder(out_folder);
  const fs::path source = folder ? fs::path(in) : fs::path(in).parent_path();
  if (fs::equivalent(source.empty() ? fs::path(".") : source, out_folder, error)) throw Error("bad_request", "The new checkpoint needs a folder of its own.");
  SafetensorsWriter writer(out_folder + "/model.safetensors", specs_of(items));
  for (const Item& item : items) {
    if (item.dtype == item.tensor->dtype) {
      copy(*file, *item.tensor, writer);
    } else {
      convert(*file, item, writer);
    }
  }
  writer.finish();
  if (folder) copy_companions(in, out_folder);
}

}  // namespace sonant
