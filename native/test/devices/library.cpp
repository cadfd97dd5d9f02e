// Stands in for libsonant_cuda.so in the tests of devices: a GPU that computes on the CPU, and says which one it would
// be. With SONANT_TEST_REFUSAL it refuses with that sentence; with SONANT_TEST_VERSION it is of another version.
#include <string>

#include "backend/devices.h"
#include "model/error.h"

#ifndef SONANT_TEST_VERSION
#define SONANT_TEST_VERSION sonant::kCudaLibraryVersion
#endif

extern "C" {

__attribute__((visibility("default"))) int sonant_cuda_version() { return SONANT_TEST_VERSION; }

__attribute__((visibility("default"))) sonant::Backend* sonant_cuda_create([[maybe_unused]] const sonant::BackendOptions& options) {
#ifdef SONANT_TEST_REFUSAL
  throw sonant::Error("unsupported", SONANT_TEST_REFUSAL);
#else
  if (options.gpu > 0) throw sonant::Error("unsupported", "There is no GPU " + std::to_string(options.gpu) + "; this machine has 1, counted from 0.");
  auto backend = sonant::create_cpu_backend(options);
  backend->device = "cuda";
  backend->description = "test GPU";
  backend->sequences = 512;
  backend->prefill_rows = 2048;
  backend->encode_frames = 32;
  return backend.release();
#endif
}
}
