// A whole file mapped read-only into memory. Another process that shortens the file while it is
// mapped can still raise SIGBUS; checkpoints are expected not to be edited in place.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace sonant {

class MappedFile {
 public:
  // Throws Error("model_missing") where there is no readable regular file and
  // Error("out_of_memory") where it cannot be mapped.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::string& path() const { return path_; }
  std::span<const std::byte> bytes() const { return {static_cast<const std::byte*>(base_), size_}; }

 private:
  std::string path_;
  void* base_ = nullptr;
  size_t size_ = 0;
};

// Tells the system that the whole pages inside these bytes of a mapping are no longer needed; they stay readable.
void release_pages(std::span<const std::byte> bytes);

}  // namespace sonant
