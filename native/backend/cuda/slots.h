// Places for what has state on the device: a slot gives each sequence or stream its row of every
// table. Slot 0 belongs to nobody; the places that fill up a batch work on it.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "model/error.h"

namespace sonant::cuda {

class Slots {
 public:
  explicit Slots(int count) : count_(count) {
    for (int slot = count - 1; slot > 0; slot--) free_.push_back(slot);
  }
  // Throws Error("overloaded") when all are taken.
  int take() {
    if (free_.empty()) throw Error("overloaded", "All " + std::to_string(count_ - 1) + " places on the GPU are taken.");
    const int slot = free_.back();
    free_.pop_back();
    return slot;
  }
  void give_back(int slot) noexcept { free_.push_back(slot); }

 private:
  int count_;
  std::vector<int> free_;  // its capacity never shrinks, so giving back does not allocate
};

}  // namespace sonant::cuda
