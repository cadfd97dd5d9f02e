// The parity ladder: compares a backend with reference vectors of the original implementation.
// A folder holds sub-folders with config.json, a model and expected.safetensors, and
// sampling*.json files. Model specification, section 12.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace sonant {

// What each precision is held to: largest difference over largest reference value. fp32 differs
// from the original by the order of operations only. The coarser ones are measured on the
// fixtures' random weights; single scores of a trained model may be further off (sonant_parity --greedy).
struct Tolerances {
  double hidden, logits, decode;
  // Largest margin, over the largest reference score, between two choices that may change places: each score may be off, one up and one down.
  double near_tie() const { return 2 * logits; }
};

Tolerances tolerances(Precision precision);

// One comparison; it passes when `error` is at most `tolerance`.
struct Rung {
  std::string fixture, name, unit;
  double error = 0, tolerance = 0;
  bool passed = false;
};

struct LadderOptions {
  // Makes the backend under test.
  std::function<std::unique_ptr<Backend>(const BackendOptions&)> create = create_cpu_backend;
  Precision precision = Precision::kFp32;
  int threads = 0;
  std::string isa;
  bool brief = false;  // leaves out what repeats a rung in another form
};

// All rungs of a folder, in the order of their names. Throws Error("model_missing") when it has no fixtures.
std::vector<Rung> run_ladder(const std::string& folder, const LadderOptions& options);

}  // namespace sonant
