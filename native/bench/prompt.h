// A reproducible prompt, made up: reference rows with random codes, then text rows.
#pragma once

#include <cstdint>
#include <vector>

#include "model/config.h"

namespace sonant::bench {

inline std::vector<int32_t> prompt_rows(const LmConfig& config, int reference, int text, uint32_t seed) {
  std::vector<int32_t> rows;
  const auto next = [&] { return seed = seed * 1664525u + 1013904223u, seed >> 8; };
  for (int i = 0; i < reference + text; i++) {
    const bool voice = i < reference;
    rows.push_back(voice ? config.user_slot_id : static_cast<int>(next() % config.vocab_size));
    for (int k = 0; k < config.n_vq; k++) rows.push_back(voice ? static_cast<int>(next() % config.codebook_sizes[k]) : config.audio_pad_id);
  }
  return rows;
}

}  // namespace sonant::bench
