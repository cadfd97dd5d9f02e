// Mapping files, and giving their pages back.
#include "model/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

#include "model/error.h"

namespace sonant {

MappedFile::MappedFile(const std::string& path) : path_(path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a named pipe must not make us wait
  if (fd < 0) throw Error("model_missing", "The file " + path + " is not there or cannot be read.");
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(fd);
    throw Error("model_missing", "The file " + path + " is not a regular file.");
  }
  size_ = static_cast<size_t>(info.st_size);
  if (size_ > 0) base_ = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, fd, 0);
  ::close(fd);
  if (base_ == MAP_FAILED) throw Error("out_of_memory", "The file " + path + " cannot be mapped into memory.");
}

MappedFile::~MappedFile() {
  if (base_) ::munmap(base_, size_);
}

void release_pages(std::span<const std::byte> bytes) {
  // Whole pages only: what lies beside the bytes may still be in use.
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(bytes.data()) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(bytes.data()) + bytes.size()) / page * page;
  if (!bytes.empty() && begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace sonant
