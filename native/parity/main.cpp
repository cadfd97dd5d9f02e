// sonant_parity FOLDER [--device cpu|cuda[:N]] [--precision fp32|bf16|int8] [--threads N] [--isa NAME]
// sonant_parity --company --lm FOLDER --codec FOLDER [the same]
// sonant_parity --recovery --lm FOLDER --codec FOLDER --device cuda[:N] [the same]
// sonant_parity --greedy --lm FOLDER --prompts FILE [--frames N] [--json] [the same]
// Prints each error beside its tolerance, or with --company for each size of batch whether its first item gets what it gets alone, to
// the bit, or with --recovery what becomes of requests whose GPU fails, or with --greedy how often the best code is another one than the
// CPU's in fp32 and whether that was nearly a tie; exit status 1 when a tolerance is exceeded, something differs or is no near tie, 2 on
// bad usage.
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "backend/devices.h"
#include "model/error.h"
#include "parity/company.h"
#include "parity/greedy.h"
#include "parity/ladder.h"
#include "parity/recovery.h"

namespace {

constexpr const char* kUsage =
    "usage: sonant_parity FOLDER [--device cpu|cuda[:N]] [--precision fp32|bf16|int8] [--threads N] [--isa NAME]\n"
    "       sonant_parity --company [--lm FOLDER] [--codec FOLDER] [the same]\n"
    "       sonant_parity --recovery --lm FOLDER --codec FOLDER --device cuda[:N] [the same]\n"
    "       sonant_parity --greedy --lm FOLDER --prompts FILE [--frames N] [--json] [the same]\n";

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

struct GreedyArguments {
  std::string prompts;  // file
  int frames = 0;       // of each prompt, 0: as many as `npm run eval -- greedy`
  bool json = false;
};

int greedy(const std::string& device, const sonant::BackendOptions& wanted, const GreedyArguments& arguments) {
  const sonant::GreedyPrompts prompts = sonant::read_greedy_prompts(arguments.prompts);
  sonant::BackendOptions exact;
  exact.lm_folder = wanted.lm_folder, exact.precision = sonant::Precision::kFp32, exact.threads = wanted.threads;
  const auto reference = sonant::create_cpu_backend(exact);
  const auto opened = sonant::open_backend(device, wanted, wanted.precision);
  const auto report = check_greedy(*reference->lm, *opened.backend->lm, prompts, arguments.frames > 0 ? arguments.frames : 60, sonant::tolerances(opened.precision));
  if (arguments.json) std::printf("{\"reference\":\"%s\",\"backend\":\"%s\",\"report\":%s}\n", reference->description.c_str(), opened.backend->description.c_str(), greedy_json(report).c_str());
  else std::printf("%s beside %s, by the best scores.\n%s", opened.backend->description.c_str(), reference->description.c_str(), greedy_text(report).c_str());
  return report.far() ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  sonant::LadderOptions options;
  std::string folder, device = "cpu", lm, codec;
  GreedyArguments best;
  bool in_company = false, breaks = false, compares_best = false;
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
    } else if (arg == "--greedy") {
      compares_best = true;
    } else if (arg == "--prompts") {
      best.prompts = value();
    } else if (arg == "--frames") {
      const std::string frames = value();
      if (frames.empty() || frames.size() > 4 || frames.find_first_not_of("0123456789") != std::string::npos || (best.frames = std::atoi(frames.c_str())) == 0)
        return std::fprintf(stderr, "--frames is a whole number from 1 to 9999, not '%s'\n", frames.c_str()), 2;
    } else if (arg == "--json") {
      best.json = true;
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
  const bool of_model = in_company || breaks || compares_best;
  const bool lacks = (breaks && (lm.empty() || codec.empty())) || (compares_best && (lm.empty() || best.prompts.empty()));
  const bool excess = in_company + breaks + compares_best > 1 || (compares_best ? !codec.empty() : !best.prompts.empty() || best.frames > 0 || best.json);
  if (of_model == (lm.empty() && codec.empty()) || of_model != folder.empty() || lacks || excess) return std::fprintf(stderr, "%s", kUsage), 2;
  options.create = [&](const sonant::BackendOptions& wanted) { return sonant::open_backend(device, wanted, wanted.precision).backend; };
  try {
    if (of_model) {
      sonant::BackendOptions wanted;
      wanted.lm_folder = lm, wanted.codec_folder = codec, wanted.precision = options.precision, wanted.threads = options.threads, wanted.isa = options.isa;
      return compares_best ? greedy(device, wanted, best) : breaks ? recovery(device, wanted) : company(device, wanted);
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
