#include "backend/devices.h"

#include <dlfcn.h>

#include "model/error.h"

namespace sonant {

namespace {

constexpr const char* kLibrary = "libsonant_cuda.so";

// The folder that this code was loaded from: the addon's, or the executable's.
std::string own_folder() {
  Dl_info info{};
  if (!dladdr(reinterpret_cast<const void*>(&own_folder), &info) || !info.dli_fname) return ".";
  const std::string path = info.dli_fname;
  const size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

template <class Function>
Function function(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

std::unique_ptr<Backend> create_cuda_backend(const BackendOptions& options) {
  const std::string path = own_folder() + "/" + kLibrary;
  // Never closed: what it has thrown and made refers to it.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Error("unsupported", "The CUDA backend could not be loaded (" + std::string(dlerror()) + "). It is built where CUDA's compiler is found.");
  const auto version = function<CudaLibraryVersion>(library, "sonant_cuda_version");
  const auto create = function<CudaLibraryCreate>(library, "sonant_cuda_create");
  if (!version || !create || version() != kCudaLibraryVersion) throw Error("unsupported", path + " belongs to another version of Sonant; build it again.");
  return std::unique_ptr<Backend>(create(options));
}

}  // namespace

Precision default_precision(const std::string& device) { return device.rfind("cuda", 0) == 0 ? Precision::kBf16 : Precision::kInt8; }

std::unique_ptr<Backend> create_backend(const std::string& device, const BackendOptions& options) {
  // A GPU is taken when it is asked for by name; "auto" stays on the CPU.
  if (device == "cpu" || device == "auto") return create_cpu_backend(options);
  const std::string prefix = "cuda:";
  const bool numbered = device.rfind(prefix, 0) == 0;
  const std::string number = numbered ? device.substr(prefix.size()) : "0";
  if (device != "cuda" && (!numbered || number.empty() || number.size() > 3 || number.find_first_not_of("0123456789") != std::string::npos))
    throw Error("bad_request", "Expected the device 'auto', 'cpu', 'cuda' or 'cuda:N', not '" + device + "'");
  BackendOptions wanted = options;
  wanted.gpu = std::stoi(number);
  return create_cuda_backend(wanted);
}

}  // namespace sonant
