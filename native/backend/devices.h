// From the name of a device to its backend. The CUDA backend lies in a library of its own, which is
// looked for when a GPU may be taken, so that one build runs on machines with and without a GPU.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "backend/backend.h"

namespace sonant {

struct OpenedBackend {
  std::unique_ptr<Backend> backend;
  Precision precision;  // that it computes in
  std::string note;     // a sentence that says why "auto" went past the GPU; empty where it took one or no CUDA backend was built
};

// `device` is "cpu", "cuda", "cuda:N" or "auto": the first GPU if the CUDA backend was built and can use it, else the CPU.
// Without a `precision` it is what suits the device that is taken: int8 on a CPU, which is bound by its memory, bf16 on a
// GPU, which has no int8 here; options.precision is not read. `library_folder` holds the CUDA backend, empty: the folder
// that this code was loaded from. Throws Error("unsupported") when the device that is named does not exist or has no
// library, or its driver is missing or too old; "bad_request" for another name.
OpenedBackend open_backend(const std::string& device, const BackendOptions& options, std::optional<Precision> precision,
                           const std::string& library_folder = "");

// For checks of recovery: leaves the GPU "cuda" or "cuda:N" to this process as a kernel's fault does. Throws Error like open_backend.
void break_device(const std::string& device);

// What the CUDA library exports; both sides are built from one source, which the number says.
inline constexpr int kCudaLibraryVersion = 3;
using CudaLibraryVersion = int (*)();
using CudaLibraryCreate = Backend* (*)(const BackendOptions& options);  // throws like open_backend
using CudaLibraryBreak = void (*)(int gpu);

}  // namespace sonant
