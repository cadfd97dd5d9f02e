// Which device a name leads to, with libraries that stand in for the CUDA backend (devices/library.cpp).
#include "backend/devices.h"

#include "test/check.h"

namespace {

using namespace sonant;

// A folder with a library: "works", "no-driver" or "other-version".
std::string libraries(const std::string& kind) { return std::string(SONANT_TEST_LIBRARIES) + "/" + kind; }

BackendOptions options_for_tiny() {
  BackendOptions options;
  options.lm_folder = test::fixture("lm-tiny");
  options.threads = 1;
  return options;
}

OpenedBackend open(const std::string& device, const std::string& folder, std::optional<Precision> precision = {}) {
  return open_backend(device, options_for_tiny(), precision, folder);
}

TEST(devices_auto_takes_the_gpu_in_bf16) {
  const OpenedBackend opened = open("auto", libraries("works"));
  CHECK_EQUAL(opened.backend->device, "cuda");
  CHECK(opened.precision == Precision::kBf16);
  CHECK_EQUAL(opened.note, "");
  CHECK(open("auto", libraries("works"), Precision::kFp32).precision == Precision::kFp32);
}

TEST(devices_auto_says_why_it_stays_on_the_cpu) {
  const OpenedBackend opened = open("auto", libraries("no-driver"));
  CHECK_EQUAL(opened.backend->device, "cpu");
  CHECK(opened.precision == Precision::kInt8);
  CHECK_EQUAL(opened.note, "No GPU was taken: There is no NVIDIA driver on this machine.");
  CHECK(opened.backend->lm != nullptr);

  const OpenedBackend other = open("auto", libraries("other-version"));
  CHECK_EQUAL(other.backend->device, "cpu");
  CHECK(other.note.find("belongs to another version of Sonant; build it again.") != std::string::npos);

  const std::string folder = test::temporary_folder();
  test::write_file(folder + "/libsonant_cuda.so", "no library");
  CHECK(open("auto", folder).note.find("No GPU was taken: The CUDA backend could not be loaded (") == 0);
}

TEST(devices_auto_keeps_what_only_the_cpu_has) {
  const OpenedBackend opened = open("auto", libraries("works"), Precision::kInt8);
  CHECK_EQUAL(opened.backend->device, "cpu");
  CHECK(opened.precision == Precision::kInt8);
  CHECK_EQUAL(opened.note, "No GPU was taken: int8 was asked for, which only the CPU computes in.");

  BackendOptions options = options_for_tiny();
  options.isa = "generic";
  CHECK_EQUAL(open_backend("auto", options, {}, libraries("works")).backend->device, "cpu");
}

TEST(devices_auto_is_the_cpu_where_no_cuda_backend_was_built) {
  const OpenedBackend opened = open("auto", test::temporary_folder());
  CHECK_EQUAL(opened.backend->device, "cpu");
  CHECK(opened.precision == Precision::kInt8);
  CHECK_EQUAL(opened.note, "");
}

// The checkpoint is at fault, not the device, so nothing is hidden behind a GPU that was passed over.
TEST(devices_auto_refuses_a_broken_checkpoint) {
  BackendOptions options = options_for_tiny();
  options.lm_folder = test::temporary_folder();
  CHECK_THROWS_CODE(open_backend("auto", options, {}, libraries("works")), "model_missing");
}

TEST(devices_cpu_looks_for_no_library) {
  const OpenedBackend opened = open("cpu", libraries("works"));
  CHECK_EQUAL(opened.backend->device, "cpu");
  CHECK(opened.precision == Precision::kInt8);
}

TEST(devices_cuda_is_taken_or_refused_with_a_sentence) {
  for (const char* name : {"cuda", "cuda:0"}) {
    const OpenedBackend opened = open(name, libraries("works"));
    CHECK_EQUAL(opened.backend->device, "cuda");
    CHECK(opened.precision == Precision::kBf16);
  }
  CHECK_THROWS_SAYING(open("cuda:3", libraries("works")), "unsupported", "There is no GPU 3; this machine has 1, counted from 0.");
  CHECK_THROWS_SAYING(open("cuda", libraries("no-driver")), "unsupported", "There is no NVIDIA driver on this machine.");
  CHECK_THROWS_SAYING(open("cuda", libraries("other-version")), "unsupported", "belongs to another version of Sonant; build it again.");
  CHECK_THROWS_SAYING(open("cuda", test::temporary_folder()), "unsupported", "Sonant was built without its CUDA backend");
  CHECK_THROWS_SAYING(open("tpu", libraries("works")), "bad_request", "'tpu'");
}

}  // namespace
