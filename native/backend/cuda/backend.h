// Makes the CUDA backend; inside of its own library (cuda/library.cu) and, emulated, in the tests.
#pragma once

#include <memory>

#include "backend/backend.h"

namespace sonant::cuda {

// Throws Error("unsupported") for int8, which this backend has no kernels for, and for shapes beyond them.
std::unique_ptr<Backend> create_backend(const BackendOptions& options);

}  // namespace sonant::cuda
