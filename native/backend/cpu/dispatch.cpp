// Picks the kernels for the machine at run time.
#include <string>

#include "backend/cpu/kernels.h"
#include "model/error.h"

namespace sonant::cpu {

namespace {

#if defined(__x86_64__)
bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"); }
bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
         __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vnni");
}
#endif

}  // namespace

const Kernels& select_kernels(const char* name) {
  const std::string wanted = name ? name : "";
#if defined(__x86_64__)
  if (has_avx512() && (wanted.empty() || wanted == "avx512")) return kKernelsAvx512;
  if (has_avx2() && (wanted.empty() || wanted == "avx2")) return kKernelsAvx2;
#elif defined(__aarch64__)
  if (wanted.empty() || wanted == "neon") return kKernelsNeon;
#endif
  if (wanted.empty() || wanted == "generic") return kKernelsGeneric;
  throw Error("unsupported", "Instruction set '" + wanted + "' is not available on this machine; leave it empty for the best one, "
                             "or choose among avx512, avx2, neon and generic");
}

}  // namespace sonant::cpu
