// What libsonant_cuda.so exports.
#include <cstdlib>

#include "backend/cuda/backend.h"
#include "backend/devices.h"
#include "model/error.h"

#ifndef SONANT_CUDA_EMULATION

namespace {

__global__ void trap_kernel() { asm volatile("trap;"); }

}  // namespace

extern "C" {

__attribute__((visibility("default"))) int sonant_cuda_version() { return sonant::kCudaLibraryVersion; }

__attribute__((visibility("default"))) sonant::Backend* sonant_cuda_create(const sonant::BackendOptions& options) {
  // Otherwise the first request that needs a kernel waits for it to be loaded.
  setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  int driver = 0, runtime = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const auto name = [](int version) { return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10); };
  if (driver == 0) throw sonant::Error("unsupported", "There is no NVIDIA driver on this machine.");
  if (driver / 1000 < runtime / 1000)
    throw sonant::Error("unsupported", "The NVIDIA driver is too old: it supports CUDA " + name(driver) + " and this build needs " + name(runtime) + ".");
  return sonant::cuda::create_backend(options).release();
}

// What a kernel's fault leaves behind: every later call of this process fails until the device is begun anew.
__attribute__((visibility("default"))) void sonant_cuda_break(int gpu) {
  cudaSetDevice(gpu);
  trap_kernel<<<1, 1>>>();
  cudaDeviceSynchronize();
}
}

#endif
