// From the name of a device to its backend. The CUDA backend lies in a library of its own, which is
// looked for when it is asked for, so that one build runs on machines with and without a GPU.
#pragma once

#include <memory>
#include <string>

#include "backend/backend.h"

namespace sonant {

// `device` is "cpu", "cuda", "cuda:N" or "auto". Throws Error("unsupported") when there is no such device, no
// library for it, or a driver that is missing or too old; "bad_request" for another name.
std::unique_ptr<Backend> create_backend(const std::string& device, const BackendOptions& options);

// What suits a device of that name: int8 on a CPU, which is bound by its memory, bf16 on a GPU, which has no int8 here.
Precision default_precision(const std::string& device);

// What the CUDA library exports; both sides are built from one source, which the number says.
inline constexpr int kCudaLibraryVersion = 1;
using CudaLibraryVersion = int (*)();
using CudaLibraryCreate = Backend* (*)(const BackendOptions& options);  // throws like create_backend

}  // namespace sonant
