// Zip directories: the three forms, every lie they can tell, and damage.
#include "model/zip.h"

#include <algorithm>

#include "test/check.h"
#include "test/mutate.h"
#include "test/torch_writer.h"

using namespace sonant;
using test::little;
using test::zip_file;
using test::ZipForm;

namespace {

const std::vector<test::ZipEntry> kEntries{{"a/one", "first"}, {"a/two", std::string(100, 'x')}, {"a/none", ""}};

// The entries as text. The bytes are copied to a block of exactly their size, so that a sanitizer sees a read past it.
std::map<std::string, std::string> read(const std::string& bytes) {
  const std::vector<char> file(bytes.begin(), bytes.end());
  std::map<std::string, std::string> result;
  for (const auto& [name, data] : read_zip("x.bin", std::as_bytes(std::span(file)))) {
    result[std::string(name)] = {reinterpret_cast<const char*>(data.data()), data.size()};
  }
  return result;
}

// `bytes` with a field overwritten that lies `offset` bytes behind the n-th `signature`.
std::string poke(std::string bytes, const std::string& signature, size_t offset, const std::string& value, int n = 0) {
  size_t at = bytes.find(signature);
  while (n-- > 0) at = bytes.find(signature, at + 1);
  return bytes.replace(at + offset, value.size(), value);
}

const std::string kLocal = "PK\3\4", kCentral = "PK\1\2", kEnd = "PK\5\6", kDescriptor = "PK\7\10", kEnd64 = "PK\6\6", kLocator = "PK\6\7";

}  // namespace

TEST(zip_reads_every_form) {
  for (const ZipForm form : {ZipForm::kPlain, ZipForm::kDescriptors, ZipForm::kZip64}) {
    const auto entries = read(zip_file(kEntries, form));
    REQUIRE(entries.size() == 3);
    for (const auto& [name, bytes] : kEntries) CHECK_EQUAL(entries.at(name), bytes);
  }
  CHECK(read(zip_file({})).empty());
  std::string comment = zip_file(kEntries);
  comment.replace(comment.size() - 2, 2, little(5, 2));
  CHECK_EQUAL(read(comment + "hello").size(), 3u);
}

TEST(zip_refuses_lies) {
  const std::string plain = zip_file(kEntries, ZipForm::kPlain), described = zip_file(kEntries), wide = zip_file(kEntries, ZipForm::kZip64);
  const auto refuse = [](const std::string& bytes, const char* part) { CHECK_THROWS_SAYING(read(bytes), "model_invalid", part); };
  refuse("", "end record is missing");
  refuse(plain + "x", "end record is missing");
  refuse(plain.substr(1), "fit");
  refuse(poke(plain, kCentral, 8, little(0x801, 2)), "\"a/one\" is encrypted");
  refuse(poke(plain, kLocal, 6, little(0x801, 2)), "\"a/one\" contradicts");
  refuse(poke(plain, kCentral, 10, little(8, 2), 1), "\"a/two\" is compressed (method 8)");
  refuse(poke(plain, kCentral, 20, little(4, 4)), "two lengths");
  refuse(poke(plain, kCentral, 20, little(9, 4) + little(9, 4)), "\"a/one\" contradicts");
  refuse(poke(plain, kCentral, 34, little(1, 2)), "disks");
  refuse(poke(plain, kCentral, 42, little(1, 4)), "the header of the entry \"a/one\"");
  refuse(poke(plain, kCentral, 42, little(0xfffffff0, 4)), "does not fit");
  refuse(poke(plain, kCentral, 28, little(0xffff, 2)), "does not fit");
  refuse(poke(plain, kCentral, 28, little(0, 2)), "no name");
  refuse(poke(plain, kLocal, 18, little(6, 4)), "contradicts");
  refuse(poke(plain, kLocal, 30, "b"), "contradicts");
  refuse(poke(plain, kLocal, 28, little(0xffff, 2)), "does not fit");
  refuse(poke(plain, kEnd, 4, little(1, 2)), "disks");
  refuse(poke(plain, kEnd, 8, little(2, 2) + little(2, 2)), "longer than its 2 entries");
  refuse(poke(plain, kEnd, 8, little(4, 2) + little(4, 2)), "does not fit");
  refuse(poke(plain, kEnd, 12, little(0xffffff, 4)), "does not fit");
  refuse(poke(plain, kEnd, 16, little(0, 4)), "between its directory and its end record");
  refuse(poke(described, kDescriptor, 8, little(6, 4)), "data descriptor of the entry \"a/one\"");
  refuse(poke(described, kDescriptor, 0, "QK"), "data descriptor of the entry \"a/one\"");
  refuse(poke(wide, kEnd64, 32, little(1ull << 60, 8)), "disks");
  refuse(poke(wide, kEnd64, 24, little(1ull << 60, 8) + little(1ull << 60, 8)), "at most 100000");
  refuse(poke(wide, kEnd64, 40, little(1ull << 63, 8)), "does not fit");
  refuse(poke(wide, kEnd64, 48, little(~0ull, 8)), "does not fit");
  refuse(poke(wide, kEnd64, 4, little(45, 8)), "not where it is said to be");
  refuse(poke(wide, kLocator, 8, little(~0ull, 8)), "does not fit");
  refuse(poke(wide, kEnd, 8, little(1, 2) + little(1, 2)), "contradict each other");
  refuse(poke(wide, little(1, 2) + little(24, 2), 4, little(~0ull, 8) + little(~0ull, 8)), "contradicts");
  refuse(poke(wide, little(1, 2) + little(24, 2), 2, little(8, 2)), "zip64 field");
  refuse(zip_file({{"a", "1"}, {"a", "2"}}), "\"a\" is there twice");
}

TEST(zip_refuses_overlap) {
  // The first entry claims to reach over the second, in its own header too.
  std::string bytes = zip_file({{"a", "1"}, {"b", "2"}}, ZipForm::kPlain);
  const std::string longer = little(60, 4) + little(60, 4);
  bytes = poke(poke(bytes, kLocal, 18, longer), kCentral, 20, longer);
  CHECK_THROWS_SAYING(read(bytes), "model_invalid", "\"b\" overlaps the entry \"a\"");
}

TEST(zip_survives_mutation) {
  test::Mutator mutator(23);
  int refused = 0;
  for (int i = 0; i < 6000; ++i) {
    const ZipForm form = i % 3 == 0 ? ZipForm::kPlain : i % 3 == 1 ? ZipForm::kDescriptors : ZipForm::kZip64;
    std::string bytes = zip_file(kEntries, form);
    // The damage is often done to the records, which hold few of the bytes.
    const size_t records = bytes.find(kCentral);
    bytes = i % 2 == 0 ? mutator.mutate(bytes) : bytes.substr(0, records) + mutator.mutate(bytes.substr(records));
    try {
      read(bytes);
    } catch (const Error& error) {
      CHECK_EQUAL(error.code(), "model_invalid");
      ++refused;
    }
  }
  CHECK(refused > 3000);
}
