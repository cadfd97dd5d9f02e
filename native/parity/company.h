// Whether a sequence or a stream gets the same numbers in every company, to the bit: what each batch size computes beside what
// the first one does alone. For any model folder, on the device at hand.
#pragma once

#include <string>
#include <vector>

#include "backend/backend.h"

namespace sonant {

struct CompanyOptions {
  std::vector<int> sizes = {2, 4, 7, 9, 16, 17, 32, 33, 64, 65, 128, 129, 256, 300, 512};
  int lm_frames = 24;
  int codec_frames = 140;  // past the longest window of the official codec
};

// What was compared, and where it parts first; empty: nowhere.
struct CompanyResult {
  std::string what;  // "language model" or "codec"
  int size = 0;
  std::string difference;
};

// Throws Error.
std::vector<CompanyResult> check_company(Backend& backend, const CompanyOptions& options);

}  // namespace sonant
