// sonant_parity FOLDER [--device cpu|cuda[:N]] [--precision fp32|bf16|int8] [--threads N] [--isa NAME]
// sonant_parity --company --lm FOLDER --codec FOLDER [the same]
// sonant_parity --recovery --lm FOLDER --codec FOLDER --device cuda[:N] [the same]
// Prints each error beside its tolerance, or with --company for each size of batch whether its first item gets what it gets alone, to
// the bit, or with --recovery what becomes of requests whose GPU fails; exit status 1 when a tolerance is exceeded or something differs,
// 2 on bad usage.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backend/devices.h"
#include "model/error.h"
#include "parity/company.h"
#include "parity/ladder.h"
#include "parity/recovery.h"

namespace {

constexpr const char* kUsage =
    "usage: sonant_parity FOLDER [--device cpu|cuda[:N]] [--precision fp32|bf16|int8] [--threads N] [--isa NAME]\n"
    "       sonant_parity --company [--lm FOLDER] [--codec FOLDER] [the same]\n"
    "       sonant_parity --recovery --lm FOLDER --codec FOLDER --device cuda[:N] [the same]\n";

int company(const std::string& device, const sonant::BackendOptions& wanted) {
  const auto opened = sonant::open_backend(device, wanted, wanted.precision);
  int differ = 0;
  for (const sonant::CompanyResult& result : check_company(*opened.backend, {})) {
    std::printf("%-4s  %-14s  %3d together%s%s\n", result.difference.empty() ? "ok" : "FAIL", result.what.c_str(), result.size,
                result.difference.empty() ? "" : ": parts at ", result.difference.c_str());
    differ += !result.difference.empty();
  }
  return differ ? 1 : 0;
}

int recovery(const std::string& device, const sonant::BackendOptions& wanted) {
  int failed = 0;
  const auto open = [&] { return sonant::open_backend(device, wanted, wanted.precision).backend; };
  for (const sonant::RecoveryCheck& check : sonant::check_recovery(open, [&] { sonant::break_device(device); })) {
    std::printf("%-4s  %s (%s)\n", check.passed ? "ok" : "FAIL", check.what.c_str(), check.found.c_str());
    failed += !check.passed;
  }
  return failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  sonant::LadderOptions options;
  std::string folder, device = "cpu", lm, codec;
  bool in_company = false, breaks = false;
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
    } else if (arg == "--company") {
      in_company = true;
    } else if (arg == "--recovery") {
      breaks = true;
    } else if (arg == "--lm") {
      lm = value();
    } else if (arg == "--codec") {
      codec = value();
    } else if (arg.rfind("--", 0) == 0 || !folder.empty()) {
      return std::fprintf(stderr, "Unknown argument '%s'\n", arg.c_str()), 2;
    } else {
      folder = arg;
    }
  }
  const bool of_model = in_company || breaks;
  if (of_model == (lm.empty() && codec.empty()) || of_model != folder.empty() || (breaks && (lm.empty() || codec.empty()))) return std::fprintf(stderr, "%s", kUsage), 2;
  options.create = [&](const sonant::BackendOptions& wanted) { return sonant::open_backend(device, wanted, wanted.precision).backend; };
  try {
    if (of_model) {
      sonant::BackendOptions wanted;
      wanted.lm_folder = lm, wanted.codec_folder = codec, wanted.precision = options.precision, wanted.threads = options.threads, wanted.isa = options.isa;
      return breaks ? recovery(device, wanted) : company(device, wanted);
    }
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
