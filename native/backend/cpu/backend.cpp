// Puts the CPU backend together: kernels for the machine, a thread team, the two models.
#include "backend/backend.h"

#include <string>

#include "backend/cpu/codec.h"
#include "backend/cpu/language_model.h"
#include "model/error.h"

namespace sonant {

namespace {

// The team outlives the models that run on it.
struct CpuBackend final : Backend {
  explicit CpuBackend(int members) : team(members) {}
  ~CpuBackend() override {
    lm.reset();
    codec.reset();
  }
  cpu::ThreadTeam team;
};

// How many a processor speaks side by side at most: more than that many caches are no longer small beside the weights. How
// many it can keep up with is measured by whoever lets them in.
constexpr size_t kSmallModelBytes = 64u << 20;

const char* precision_label(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return "fp32";
    case Precision::kBf16: return "bf16";
    case Precision::kInt8: return "int8";
  }
  return "";
}

}  // namespace

std::unique_ptr<Backend> create_cpu_backend(const BackendOptions& options) {
  if (options.threads < 0 || options.threads > 256)
    throw Error("bad_request", "Expected 0 (automatic) to 256 threads, not " + std::to_string(options.threads));
  const cpu::Kernels& kernels = cpu::select_kernels(options.isa.c_str());
  auto backend = std::make_unique<CpuBackend>(options.threads ? options.threads : cpu::default_threads());
  backend->device = "cpu";
  backend->threads = backend->team.size();
  backend->description = std::string(kernels.name) + ", " + precision_label(options.precision) + ", " + std::to_string(backend->threads) +
                         (backend->threads == 1 ? " thread" : " threads");
  if (!options.lm_folder.empty()) {
    const LmConfig config = read_lm_config(options.lm_folder + "/config.json");
    auto lm = std::make_unique<cpu::CpuLanguageModel>(kernels, backend->team, config,
                                                      resolve_lm_weights(Checkpoint::open(options.lm_folder), config), options.precision);
    backend->weight_bytes += lm->weight_bytes();
    backend->lm = std::move(lm);
  }
  if (!options.codec_folder.empty()) {
    const CodecConfig config = read_codec_config(options.codec_folder + "/config.json");
    auto codec = std::make_unique<cpu::CpuCodec>(kernels, backend->team, config,
                                                 resolve_codec_weights(Checkpoint::open(options.codec_folder), config), options.precision);
    backend->weight_bytes += codec->weight_bytes();
    backend->codec = std::move(codec);
  }
  backend->sequences = backend->weight_bytes <= kSmallModelBytes ? 32 : 16;
  backend->prefill_rows = 64;
  backend->encode_frames = 8;
  return backend;
}

}  // namespace sonant
