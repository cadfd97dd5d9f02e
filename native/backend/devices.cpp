#include "backend/devices.h"

#include <dlfcn.h>

#include <filesystem>
#include <new>

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

bool exists(const std::string& path) {
  std::error_code unreadable;
  return std::filesystem::exists(path, unreadable);
}

OpenedBackend open_cpu(BackendOptions options, std::optional<Precision> precision, std::string note = "") {
  options.precision = precision.value_or(Precision::kInt8);
  return {create_cpu_backend(options), options.precision, std::move(note)};
}

// The library, whose version is checked. Never closed: what it has thrown and made refers to it.
void* cuda_library(const std::string& path) {
  if (!exists(path)) throw Error("unsupported", "Sonant was built without its CUDA backend: there is no " + path + ". It is built where CUDA's compiler and a GPU are found.");
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library) throw Error("unsupported", "The CUDA backend could not be loaded (" + std::string(dlerror()) + ").");
  const auto version = function<CudaLibraryVersion>(library, "sonant_cuda_version");
  if (!version || version() != kCudaLibraryVersion) throw Error("unsupported", path + " belongs to another version of Sonant; build it again.");
  return library;
}

OpenedBackend open_cuda(BackendOptions options, std::optional<Precision> precision, int gpu, const std::string& path) {
  const auto create = function<CudaLibraryCreate>(cuda_library(path), "sonant_cuda_create");
  options.gpu = gpu;
  options.precision = precision.value_or(Precision::kBf16);
  return {std::unique_ptr<Backend>(create(options)), options.precision, ""};
}

// N of "cuda:N", 0 of "cuda".
int gpu_of(const std::string& device) {
  const std::string prefix = "cuda:";
  const bool numbered = device.rfind(prefix, 0) == 0;
  const std::string number = numbered ? device.substr(prefix.size()) : "0";
  if (device != "cuda" && (!numbered || number.empty() || number.size() > 3 || number.find_first_not_of("0123456789") != std::string::npos))
    throw Error("bad_request", "Expected the device 'auto', 'cpu', 'cuda' or 'cuda:N', not '" + device + "'");
  return std::stoi(number);
}

// A GPU that cannot be used, for whatever reason, is no reason not to speak. What is wrong with a checkpoint is wrong on
// the CPU as well, which then says it.
OpenedBackend open_any(const BackendOptions& options, std::optional<Precision> precision, const std::string& path) {
  if (!exists(path)) return open_cpu(options, precision);
  if (precision == Precision::kInt8) return open_cpu(options, precision, "No GPU was taken: int8 was asked for, which only the CPU computes in.");
  if (!options.isa.empty()) return open_cpu(options, precision, "No GPU was taken: an instruction set was asked for, which only a CPU has.");
  std::string reason;
  try {
    return open_cuda(options, precision, 0, path);
  } catch (const std::bad_alloc&) {
    reason = "The model did not fit into memory.";
  } catch (const std::exception& error) {
    reason = error.what();
  }
  return open_cpu(options, precision, "No GPU was taken: " + reason);
}

}  // namespace

OpenedBackend open_backend(const std::string& device, const BackendOptions& options, std::optional<Precision> precision, const std::string& library_folder) {
  const std::string path = (library_folder.empty() ? own_folder() : library_folder) + "/" + kLibrary;
  if (device == "cpu") return open_cpu(options, precision);
  if (device == "auto") return open_any(options, precision, path);
  return open_cuda(options, precision, gpu_of(device), path);
}

void break_device(const std::string& device) {
  const int gpu = gpu_of(device);
  function<CudaLibraryBreak>(cuda_library(own_folder() + "/" + kLibrary), "sonant_cuda_break")(gpu);
}

}  // namespace sonant
