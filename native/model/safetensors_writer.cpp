// The writing side of safetensors. Never leaves a half-written file under the final name.
#include "model/safetensors_writer.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "model/error.h"
#include "model/shape.h"

namespace sonant {
namespace {

std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out.push_back('\\');
    if (static_cast<unsigned char>(c) < 0x20) throw Error("model_invalid", "A tensor name holds a control character.");
    out.push_back(c);
  }
  return out + "\"";
}

std::string temporary_name(const std::string& path) {
  static std::atomic<unsigned> counter{0};
  return path + "." + std::to_string(::getpid()) + "." + std::to_string(counter++) + ".tmp";
}

}  // namespace

SafetensorsWriter::SafetensorsWriter(const std::string& path, std::vector<TensorSpec> tensors)
    : path_(path), temporary_(temporary_name(path)), tensors_(std::move(tensors)) {
  std::string header = "{";
  uint64_t offset = 0;
  for (const TensorSpec& tensor : tensors_) {
    uint64_t bytes = 0;
    if (!checked_bytes(tensor.shape, dtype_size(tensor.dtype), bytes) || offset + bytes < offset) {
      throw Error("model_invalid", "The tensor " + tensor.name + " has a shape that cannot be written.");
    }
    if (header.size() > 1) header += ",";
    header += quoted(tensor.name) + ":{\"dtype\":\"" + dtype_name(tensor.dtype) + "\",\"shape\":[";
    for (size_t i = 0; i < tensor.shape.size(); ++i) header += (i ? "," : "") + std::to_string(tensor.shape[i]);
    header += "],\"data_offsets\":[" + std::to_string(offset) + "," + std::to_string(offset + bytes) + "]}";
    offset += bytes;
  }
  header += "}";
  header.append((8 - header.size() % 8) % 8, ' ');  // keeps the data 8-byte aligned

  file_ = std::fopen(temporary_.c_str(), "wb");
  if (!file_) fail("cannot be created");
  unsigned char length[8];
  for (int i = 0; i < 8; ++i) length[i] = static_cast<unsigned char>(static_cast<uint64_t>(header.size()) >> (8 * i));
  try {
    put(length, sizeof length);
    put(header.data(), header.size());
  } catch (...) {  // the destructor does not run for an object that was never complete
    std::fclose(file_);
    ::unlink(temporary_.c_str());
    throw;
  }
}

SafetensorsWriter::~SafetensorsWriter() {
  if (!file_) return;
  std::fclose(file_);
  ::unlink(temporary_.c_str());
}

void SafetensorsWriter::fail(const std::string& doing) const {
  throw Error("engine_failed", "The file " + path_ + " " + doing + ": " + std::strerror(errno) + ".");
}

void SafetensorsWriter::put(const void* data, size_t bytes) {
  if (bytes != 0 && std::fwrite(data, 1, bytes, file_) != bytes) fail("cannot be written");
}

uint64_t SafetensorsWriter::next_bytes() const {
  if (next_ == tensors_.size()) throw Error("engine_failed", "More tensors were written than the header of " + path_ + " names.");
  uint64_t bytes = 0;
  checked_bytes(tensors_[next_].shape, dtype_size(tensors_[next_].dtype), bytes);
  return bytes;
}

void SafetensorsWriter::write(const void* data, size_t bytes) {
  const uint64_t expected = next_bytes();
  if (bytes != expected || written_ != 0) {
    throw Error("engine_failed", "The tensor " + tensors_[next_].name + " takes " + std::to_string(expected) + " bytes but " +
                                     std::to_string(bytes) + " were given.");
  }
  write_part(data, bytes);
}

void SafetensorsWriter::write_part(const void* data, size_t bytes) {
  const uint64_t expected = next_bytes();
  if (bytes > expected - written_) {
    throw Error("engine_failed", "The tensor " + tensors_[next_].name + " takes " + std::to_string(expected) + " bytes but more were given.");
  }
  put(data, bytes);
  written_ += bytes;
  if (written_ != expected) return;
  written_ = 0;
  ++next_;
}

void SafetensorsWriter::finish() {
  if (next_ != tensors_.size()) throw Error("engine_failed", "The tensor " + tensors_[next_].name + " of " + path_ + " was not written.");
  if (std::fflush(file_) != 0 || ::fsync(::fileno(file_)) != 0) fail("cannot be written");
  if (std::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot be renamed into place");
  std::fclose(file_);
  file_ = nullptr;
  // Makes the rename itself durable; a folder that cannot be synced is no reason to fail.
  const size_t slash = path_.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd >= 0) {
    ::fsync(fd);
    ::close(fd);
  }
}

void write_safetensors(const std::string& path, const std::map<std::string, TensorOut>& tensors) {
  std::vector<TensorSpec> specs;
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.dtype, tensor.shape});
  SafetensorsWriter writer(path, std::move(specs));
  for (const auto& [name, tensor] : tensors) writer.write(tensor.data.data(), tensor.data.size());
  writer.finish();
}

}  // namespace sonant
