// Writes the files that torch.save writes, and wrong ones: zip files with stored entries, and
// pickles put together from pieces.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/tensor.h"

namespace sonant::test {

inline std::string little(uint64_t value, int bytes) {
  std::string out;
  for (int i = 0; i < bytes; ++i) out.push_back(static_cast<char>(value >> (8 * i)));
  return out;
}

struct ZipEntry {
  std::string name, bytes;
};

enum class ZipForm { kPlain, kDescriptors, kZip64 };

// A zip file as torch.save lays it out: data at multiples of 64, and with kZip64 every length and
// place in its 64-bit form, as from 4 GB on.
inline std::string zip_file(const std::vector<ZipEntry>& entries, ZipForm form = ZipForm::kDescriptors) {
  const bool wide = form == ZipForm::kZip64, descriptor = form != ZipForm::kPlain;
  const std::string flags = little(0x0800 | (descriptor ? 8 : 0), 2);
  std::string file, directory;
  for (const auto& [name, bytes] : entries) {
    const size_t header = file.size();
    const std::string sizes = wide ? little(~0ull, 8) : little(bytes.size(), 4) + little(bytes.size(), 4);
    const std::string wide_sizes = little(bytes.size(), 8) + little(bytes.size(), 8);
    std::string extra = wide ? little(1, 2) + little(16, 2) + wide_sizes : "";
    const size_t padding = 63 - (header + 30 + name.size() + extra.size() + 4 + 63) % 64;
    extra += "FB" + little(padding, 2) + std::string(padding, 'Z');
    file += "PK\3\4" + little(0, 2) + flags + little(0, 2) + little(0, 8) + (form == ZipForm::kDescriptors ? little(0, 8) : sizes) + little(name.size(), 2) +
            little(extra.size(), 2) + name + extra + bytes;
    if (descriptor) file += "PK\7\10" + little(0, 4) + (wide ? wide_sizes : sizes);
    const std::string central_extra = wide ? little(1, 2) + little(24, 2) + wide_sizes + little(header, 8) : "";
    directory += "PK\1\2" + little(0, 2) + little(0, 2) + flags + little(0, 2) + little(0, 8) + sizes + little(name.size(), 2) + little(central_extra.size(), 2) +
                 little(0, 2) + little(0, 2) + little(0, 2) + little(0, 4) + (wide ? little(~0u, 4) : little(header, 4)) + name + central_extra;
  }
  const size_t begin = file.size();
  file += directory;
  const size_t end = file.size();
  if (wide) {
    file += "PK\6\6" + little(44, 8) + little(45, 2) + little(45, 2) + little(0, 8) + little(entries.size(), 8) + little(entries.size(), 8) + little(directory.size(), 8) +
            little(begin, 8) + "PK\6\7" + little(0, 4) + little(end, 8) + little(1, 4);
  }
  const std::string count = wide ? little(0xffff, 2) : little(entries.size(), 2);
  return file + "PK\5\6" + little(0, 4) + count + count + (wide ? little(~0ull, 8) : little(directory.size(), 4) + little(begin, 4)) + little(0, 2);
}

// Pieces of pickles. Each puts one value on the stack.
inline std::string p_global(const std::string& module, const std::string& name) { return "c" + module + "\n" + name + "\n"; }
inline std::string p_text(const std::string& text) { return "X" + little(text.size(), 4) + text; }
inline std::string p_int(int64_t value) { return "\x8a\x08" + little(static_cast<uint64_t>(value), 8); }
inline std::string p_tuple(const std::vector<std::string>& items) {
  std::string out = "(";
  for (const std::string& item : items) out += item;
  return out + "t";
}
inline std::string p_ints(const std::vector<int64_t>& values) {
  std::vector<std::string> items;
  for (const int64_t value : values) items.push_back(p_int(value));
  return p_tuple(items);
}
inline std::string p_ordered_dict() { return p_global("collections", "OrderedDict") + ")R"; }
// Keys are names; values are pieces.
inline std::string p_dict(const std::vector<std::pair<std::string, std::string>>& items, const std::string& empty = "}") {
  std::string out = empty + "(";
  for (const auto& [key, value] : items) out += p_text(key) + value;
  return out + "u";
}
inline std::string p_whole(const std::string& piece) { return "\x80\x02" + piece + "."; }

struct TorchTensor {
  std::string type = "FloatStorage";
  std::string key = "0";
  int64_t elements = 0;
  int64_t offset = 0;
  std::vector<int64_t> shape, strides;
};

inline std::string p_storage(const TorchTensor& t) { return p_tuple({p_text("storage"), p_global("torch", t.type), p_text(t.key), p_text("cpu"), p_int(t.elements)}) + "Q"; }
inline std::string p_tensor(const TorchTensor& t) {
  return p_global("torch._utils", "_rebuild_tensor_v2") + p_tuple({p_storage(t), p_int(t.offset), p_ints(t.shape), p_ints(t.strides), "\x89", p_ordered_dict()}) + "R";
}
inline std::string p_parameter(const std::string& tensor) { return p_global("torch._utils", "_rebuild_parameter") + p_tuple({tensor, "\x88", p_ordered_dict()}) + "R"; }

inline std::vector<int64_t> row_strides(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * std::max<int64_t>(1, shape[i]);
  return strides;
}

inline const char* storage_type(DType dtype) {
  switch (dtype) {
    case DType::kF32: return "FloatStorage";
    case DType::kF16: return "HalfStorage";
    case DType::kBF16: return "BFloat16Storage";
    case DType::kI8: return "CharStorage";
    case DType::kI32: return "IntStorage";
    case DType::kI16: return "ShortStorage";
    case DType::kI64: return "LongStorage";
    case DType::kU8: return "ByteStorage";
    case DType::kBool: return "BoolStorage";
  }
  return "";
}

// A file of this pickle and these storages, by key.
inline std::string torch_zip(const std::string& pickle, const std::map<std::string, std::string>& storages, ZipForm form = ZipForm::kDescriptors,
                             const std::string& byteorder = "little") {
  std::vector<ZipEntry> entries{{"archive/data.pkl", pickle}, {"archive/byteorder", byteorder}};
  for (const auto& [key, bytes] : storages) entries.push_back({"archive/data/" + key, bytes});
  entries.push_back({"archive/version", "3\n"});
  return zip_file(entries, form);
}

// What torch.save makes of a state dict of these tensors.
inline std::string torch_file(const std::vector<const Tensor*>& tensors, ZipForm form = ZipForm::kDescriptors) {
  std::vector<std::pair<std::string, std::string>> items;
  std::map<std::string, std::string> storages;
  for (const Tensor* tensor : tensors) {
    const std::string key = std::to_string(items.size());
    items.emplace_back(tensor->name, p_tensor({storage_type(tensor->dtype), key, tensor->count(), 0, tensor->shape, row_strides(tensor->shape)}));
    storages[key] = {reinterpret_cast<const char*>(tensor->data), tensor->bytes};
  }
  return torch_zip(p_whole(p_dict(items, p_ordered_dict())), storages, form);
}

}  // namespace sonant::test
