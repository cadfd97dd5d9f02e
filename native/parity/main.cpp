// sonant_parity FOLDER [--device cpu|cuda[:N]] [--precision fp32|bf16|int8] [--threads N] [--isa NAME]
// Prints each error beside its tolerance; exit status 1 when one is exceeded, 2 on bad usage.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backend/devices.h"
#include "model/error.h"
#include "parity/ladder.h"

int main(int argc, char** argv) {
  sonant::LadderOptions options;
  std::string folder, device = "cpu";
  for (int i = 1; i < argc; i++) {
    const std::string arg = argv[i];
    const auto value = [&]() -> std::string {
      if (i + 1 < argc) return argv[++i];
      std::fprintf(stderr, "%s needs a value\n", arg.c_str());
      std::exit(2);
    };
    if (arg == "--device") {
      device = value();
    } else if (arg == "--precision") {
      const std::string p = value();
      if (p == "fp32") options.precision = sonant::Precision::kFp32;
      else if (p == "bf16") options.precision = sonant::Precision::kBf16;
      else if (p == "int8") options.precision = sonant::Precision::kInt8;
      else return std::fprintf(stderr, "--precision is fp32, bf16 or int8, not '%s'\n", p.c_str()), 2;
    } else if (arg == "--threads") {
      options.threads = std::atoi(value().c_str());
    } else if (arg == "--isa") {
      options.isa = value();
    } else if (arg.rfind("--", 0) == 0 || !folder.empty()) {
      return std::fprintf(stderr, "Unknown argument '%s'\n", arg.c_str()), 2;
    } else {
      folder = arg;
    }
  }
  if (folder.empty()) return std::fprintf(stderr, "usage: sonant_parity FOLDER [--device cpu|cuda[:N]] [--precision fp32|bf16|int8] [--threads N] [--isa NAME]\n"), 2;
  options.create = [&](const sonant::BackendOptions& wanted) { return sonant::open_backend(device, wanted, wanted.precision).backend; };
  try {
    int failed = 0;
    for (const sonant::Rung& rung : run_ladder(folder, options)) {
      std::printf("%-4s  %-14s  %-42s %10.3g  <= %-8.3g %s\n", rung.passed ? "ok" : "FAIL", rung.fixture.c_str(), rung.name.c_str(), rung.error,
                  rung.tolerance, rung.unit.c_str());
      failed += !rung.passed;
    }
    if (failed) std::printf("%d rungs failed\n", failed);
    return failed ? 1 : 0;
  } catch (const sonant::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}
