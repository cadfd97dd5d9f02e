// Reading zip directories after APPNOTE.TXT, sections 4.3 to 4.5: the end record, its zip64 form,
// the central directory, and the local header and data descriptor of every entry.
#include "model/zip.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/file_error.h"

namespace sonant {
namespace {

constexpr uint32_t kLocalHeader = 0x04034b50, kCentralHeader = 0x02014b50, kEnd = 0x06054b50;
constexpr uint32_t kZip64End = 0x06064b50, kZip64Locator = 0x07064b50, kDescriptor = 0x08074b50;
constexpr uint64_t kEndBytes = 22, kLocatorBytes = 20, kZip64EndBytes = 56, kCentralBytes = 46, kLocalBytes = 30;
constexpr uint64_t kMaxComment = 0xffff, kMaxEntries = 100'000;
constexpr uint32_t kInZip64 = 0xffffffff;  // "the true value stands in the zip64 field"
constexpr unsigned kEncrypted = 1u << 0 | 1u << 6 | 1u << 13, kHasDescriptor = 1u << 3;

struct Directory {
  uint64_t entries, begin, end;
};

struct Entry {
  std::string_view name;
  uint64_t header;  // where the local header begins
  uint64_t end;     // where the data, or its descriptor, ends
};

class ZipReader {
 public:
  ZipReader(const std::string& path, std::span<const std::byte> file) : path_(path), file_(file) {}

  std::map<std::string_view, std::span<const std::byte>> read() {
    const Directory directory = find_directory();
    uint64_t at = directory.begin;
    for (uint64_t i = 0; i < directory.entries; ++i) at = read_entry(at, directory);
    if (at != directory.end) fail("its directory is longer than its " + std::to_string(directory.entries) + " entries");
    check_overlap();
    return std::move(result_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const { invalid_file(path_, what); }

  // Throws unless bytes [at, at + bytes) lie before `limit`, which lies within the file.
  void need(uint64_t at, uint64_t bytes, uint64_t limit, const std::string& what) const {
    if (at > limit || bytes > limit - at) fail("it is cut short or lies about its lengths: " + what + " does not fit");
  }
  uint64_t number(uint64_t at, int bytes) const {
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; --i) value = value << 8 | std::to_integer<uint64_t>(file_[at + static_cast<uint64_t>(i)]);
    return value;
  }
  uint16_t u16(uint64_t at) const { return static_cast<uint16_t>(number(at, 2)); }
  uint32_t u32(uint64_t at) const { return static_cast<uint32_t>(number(at, 4)); }
  uint64_t u64(uint64_t at) const { return number(at, 8); }
  std::string_view text(uint64_t at, uint64_t bytes) const {
    return {reinterpret_cast<const char*>(file_.data()) + at, static_cast<size_t>(bytes)};
  }

  uint64_t find_end() const {
    if (file_.size() >= kEndBytes) {
      const uint64_t last = file_.size() - kEndBytes;
      for (uint64_t comment = 0; comment <= std::min(last, kMaxComment); ++comment) {
        if (u32(last - comment) == kEnd && u16(last - comment + 20) == comment) return last - comment;
      }
    }
    fail("it is no zip file, or one that was cut short: its end record is missing");
  }

  Directory find_directory() const {
    const uint64_t at = find_end();
    if (u16(at + 4) != 0 || u16(at + 6) != 0 || u16(at + 8) != u16(at + 10)) fail("it is part of a zip file that is spread over several disks");
    uint64_t entries = u16(at + 10), bytes = u32(at + 12), begin = u32(at + 16), limit = at;
    if (at >= kLocatorBytes && u32(at - kLocatorBytes) == kZip64Locator) {
      const uint64_t locator = at - kLocatorBytes;
      const uint64_t record = u64(locator + 8);
      need(record, kZip64EndBytes, locator, "the zip64 end record");
      if (u32(record) != kZip64End || u64(record + 4) != locator - record - 12) fail("its zip64 end record is not where it is said to be");
      const bool one_disk = u32(locator + 4) == 0 && u32(locator + 16) <= 1 && u32(record + 16) == 0 && u32(record + 20) == 0 && u64(record + 24) == u64(record + 32);
      if (!one_disk) fail("it is part of a zip file that is spread over several disks");
      const auto agrees = [](uint64_t field, uint64_t saturated, uint64_t value) { return field == saturated || field == value; };
      if (!agrees(entries, 0xffff, u64(record + 32)) || !agrees(bytes, kInZip64, u64(record + 40)) || !agrees(begin, kInZip64, u64(record + 48))) {
        fail("its two end records contradict each other");
      }
      entries = u64(record + 32);
      bytes = u64(record + 40);
      begin = u64(record + 48);
      limit = record;
    }
    need(begin, bytes, limit, "the directory");
    if (begin + bytes != limit) fail("there are " + std::to_string(limit - begin - bytes) + " bytes between its directory and its end record");
    if (entries > kMaxEntries) fail("it claims " + std::to_string(entries) + " entries; at most " + std::to_string(kMaxEntries) + " are allowed");
    return {entries, begin, limit};
  }

  // The zip64 field among the extra fields in [at, at + bytes): replaces those of `values` that are
  // saturated, in the order that the format gives them.
  void widen(uint64_t at, uint64_t bytes, std::initializer_list<uint64_t*> values, const std::string& name) const {
    const uint64_t end = at + bytes;
    while (end - at >= 4) {
      const uint64_t id = u16(at), size = u16(at + 2);
      at += 4;
      need(at, size, end, "an extra field of the entry " + name);
      if (id == 1) {
        uint64_t field = at;
        for (uint64_t* value : values) {
          if (*value != kInZip64) continue;
          need(field, 8, at + size, "the zip64 field of the entry " + name);
          *value = u64(field);
          field += 8;
        }
        return;
      }
      at += size;
    }
  }

  // Where the data descriptor behind the data of an entry ends.
  uint64_t after_descriptor(uint64_t at, uint64_t bytes, uint64_t limit, const std::string& name) const {
    need(at, 16, limit, "the data descriptor of the entry " + name);
    if (u32(at) == kDescriptor) {
      if (u32(at + 8) == bytes && u32(at + 12) == bytes) return at + 16;
      if (limit - at >= 24 && u64(at + 8) == bytes && u64(at + 16) == bytes) return at + 24;
    }
    fail("the data descriptor of the entry " + name + " contradicts the directory");
  }

  // One entry of the directory at `at`, with its local header; returns where the next one begins.
  uint64_t read_entry(uint64_t at, const Directory& directory) {
    need(at, kCentralBytes, directory.end, "an entry of the directory");
    if (u32(at) != kCentralHeader) fail("its directory has fewer entries than it claims");
    const unsigned flags = u16(at + 8), method = u16(at + 10);
    uint64_t stored = u32(at + 20), bytes = u32(at + 24), header = u32(at + 42);
    const uint64_t name_bytes = u16(at + 28), extra_bytes = u16(at + 30), comment_bytes = u16(at + 32);
    need(at + kCentralBytes, name_bytes + extra_bytes + comment_bytes, directory.end, "an entry of the directory");
    const std::string_view name = text(at + kCentralBytes, name_bytes);
    const std::string quoted = shown(name);
    if (name.empty()) fail("an entry has no name");
    if (u16(at + 34) != 0) fail("it is part of a zip file that is spread over several disks");
    if (flags & kEncrypted) fail("the entry " + quoted + " is encrypted");
    if (method != 0) fail("the entry " + quoted + " is compressed (method " + std::to_string(method) + "); weights must be stored as they are");
    widen(at + kCentralBytes + name_bytes, extra_bytes, {&bytes, &stored, &header}, quoted);
    if (stored != bytes) fail("the entry " + quoted + " is stored as it is but claims two lengths");

    need(header, kLocalBytes, directory.begin, "the header of the entry " + quoted);
    const uint64_t local_name = u16(header + 26), local_extra = u16(header + 28);
    need(header + kLocalBytes, local_name + local_extra, directory.begin, "the header of the entry " + quoted);
    if (u32(header) != kLocalHeader || text(header + kLocalBytes, local_name) != name || u16(header + 8) != method || (u16(header + 6) & kEncrypted)) {
      fail("the header of the entry " + quoted + " contradicts the directory");
    }
    const bool has_descriptor = u16(header + 6) & kHasDescriptor;
    uint64_t local_stored = u32(header + 18), local_bytes = u32(header + 22);
    widen(header + kLocalBytes + local_name, local_extra, {&local_bytes, &local_stored}, quoted);
    for (const uint64_t claimed : {local_stored, local_bytes}) {
      if (claimed != bytes && !(has_descriptor && claimed == 0)) fail("the header of the entry " + quoted + " contradicts the directory");
    }
    const uint64_t data = header + kLocalBytes + local_name + local_extra;
    need(data, bytes, directory.begin, "the entry " + quoted);
    const uint64_t end = has_descriptor ? after_descriptor(data + bytes, bytes, directory.begin, quoted) : data + bytes;
    if (!result_.emplace(name, file_.subspan(data, bytes)).second) fail("the entry " + quoted + " is there twice");
    entries_.push_back({name, header, end});
    return at + kCentralBytes + name_bytes + extra_bytes + comment_bytes;
  }

  void check_overlap() {
    std::sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) { return a.header < b.header; });
    for (size_t i = 1; i < entries_.size(); ++i) {
      if (entries_[i].header < entries_[i - 1].end) fail("the entry " + shown(entries_[i].name) + " overlaps the entry " + shown(entries_[i - 1].name));
    }
  }

  const std::string& path_;
  const std::span<const std::byte> file_;
  std::vector<Entry> entries_;
  std::map<std::string_view, std::span<const std::byte>> result_;
};

}  // namespace

std::map<std::string_view, std::span<const std::byte>> read_zip(const std::string& path, std::span<const std::byte> file) {
  return ZipReader(path, file).read();
}

}  // namespace sonant
