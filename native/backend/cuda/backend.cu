#include "backend/cuda/backend.h"

#include <string>

#include "backend/cuda/codec.h"
#include "backend/cuda/language_model.h"
#include "model/error.h"

namespace sonant::cuda {

namespace {

// Checks the device, selects it for the calling thread and returns its name.
std::string select_device([[maybe_unused]] int index) {
#ifdef SONANT_CUDA_EMULATION
  return "emulated GPU";
#else
  int count = 0;
  check(cudaGetDeviceCount(&count), "looking for devices");
  if (index < 0 || index >= count)
    throw Error("unsupported", "There is no GPU " + std::to_string(index) + "; this machine has " + std::to_string(count) + ", counted from 0.");
  // A fault leaves nothing usable of a device to this process, not even after the engine that met it is gone. A reset may help;
  // after a kernel's trap, driver 580 gives the device to no other than a new process.
  if (cudaSetDevice(index) != cudaSuccess || cudaFree(nullptr) != cudaSuccess) {
    cudaGetLastError();
    cudaDeviceReset();
    if (const cudaError_t error = cudaSetDevice(index); error != cudaSuccess)
      throw Error("engine_failed", "The GPU gives this process nothing any more, which a new one may mend (" + std::string(cudaGetErrorString(error)) + ").");
  }
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, index), "asking for its properties");
  if (properties.major < 8) throw Error("unsupported", std::string(properties.name) + " is too old: compute capability 8.0 or later is needed.");
  return properties.name;
#endif
}

template <class T>
void load(Backend& backend, const BackendOptions& options) {
  if (!options.lm_folder.empty()) {
    const LmConfig config = read_lm_config(options.lm_folder + "/config.json");
    auto lm = std::make_unique<CudaLanguageModel<T>>(options.gpu, config, resolve_lm_weights(Checkpoint::open(options.lm_folder), config));
    backend.weight_bytes += lm->weight_bytes();
    backend.lm = std::move(lm);
  }
  if (!options.codec_folder.empty()) {
    const CodecConfig config = read_codec_config(options.codec_folder + "/config.json");
    auto codec = std::make_unique<CudaCodec<T>>(options.gpu, config, resolve_codec_weights(Checkpoint::open(options.codec_folder), config));
    backend.weight_bytes += codec->weight_bytes();
    backend.codec = std::move(codec);
  }
}

}  // namespace

std::unique_ptr<Backend> create_backend(const BackendOptions& options) {
  if (options.precision == Precision::kInt8) throw Error("unsupported", "The CUDA backend computes in bf16 or fp32, not in int8.");
  auto backend = std::make_unique<Backend>();
  const bool is_float = options.precision == Precision::kFp32;
  backend->device = "cuda";
  backend->description = select_device(options.gpu) + ", " + (is_float ? "fp32" : "bf16");
  if (is_float) load<float>(*backend, options);
  else load<bf16>(*backend, options);
  // A pass takes hundreds of rows in the time of a few, so what would be cut small for the others' sake need not be.
  backend->sequences = 512;
  backend->prefill_rows = 2048;
  backend->encode_frames = 32;
  return backend;
}

}  // namespace sonant::cuda
