// What backend.h asks of callers, checked in one place for all backends, and the way through calls of several frames.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "backend/backend.h"

namespace sonant {

// Throw Error("bad_request") that names what was wrong and what is allowed.
void check_capacity(const LmConfig& config, int max_rows);
// One prompt's rows for a sequence of that capacity.
void check_prompt(const LmConfig& config, const PrefillItem& item, int max_rows);
// Before a frame; `is_pending`: the row of the last frame still has to go into the cache.
void check_step(const LmSequence& sequence, bool is_pending, int max_rows);
void check_codes(const CodecConfig& config, const int32_t* codes, int n_frames, int n_books);

// Calls run(batch, frame) for one frame after the other, with the items that have such a frame, in order and at most
// `most` at a time.
template <class Item, class Run>
void by_frames(std::span<Item> items, size_t most, Run run) {
  int longest = 0;
  for (const Item& item : items) longest = std::max(longest, item.n_frames);
  for (int frame = 0; frame < longest; frame++) {
    std::vector<Item*> batch;
    for (Item& item : items) {
      if (frame < item.n_frames) batch.push_back(&item);
      if (batch.size() == most) run(batch, frame), batch.clear();
    }
    if (!batch.empty()) run(batch, frame);
  }
}

}  // namespace sonant
