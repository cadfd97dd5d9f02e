// Keys and values of one stream in blocks of 64 positions, each block holding all layers and
// heads. Blocks are made when first needed and may be shared between caches while nobody writes
// to them. Slots are positions for a plain cache, positions modulo a capacity for a ring.
#pragma once

#include <memory>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/memory.h"

namespace sonant::cpu {

struct KvShape {
  int layers = 0, heads = 0;
  int hd = 0;  // head size rounded up to 16; the padding is zero
  CacheType type = CacheType::kFp32;

  size_t head_bytes() const { return static_cast<size_t>(2) * kBlockSlots * hd * (type == CacheType::kFp32 ? 4 : 2); }
  size_t block_bytes() const { return head_bytes() * heads * layers; }
};

class KvCache {
 public:
  explicit KvCache(const KvShape& shape) : shape_(shape) {}

  // Makes sure that slots [0, slots) have memory. Throws std::bad_alloc.
  void reserve(int slots) {
    while (static_cast<int>(blocks_.size()) * kBlockSlots < slots) {
      blocks_.push_back(std::make_shared<Buffer<std::byte>>(shape_.block_bytes()));
      pointers_.push_back(blocks_.back()->data());
    }
  }

  // A cache with the first `slots` slots of this one: full blocks are shared, the last one copied.
  KvCache fork(int slots) const {
    KvCache copy(shape_);
    const int full = slots / kBlockSlots;
    copy.blocks_.assign(blocks_.begin(), blocks_.begin() + full);
    copy.pointers_.assign(pointers_.begin(), pointers_.begin() + full);
    if (slots % kBlockSlots) {
      copy.reserve(slots);
      std::memcpy(copy.blocks_.back()->data(), blocks_[full]->data(), shape_.block_bytes());
    }
    return copy;
  }

  const KvShape& shape() const { return shape_; }
  const void* const* blocks() const { return pointers_.data(); }
  size_t head_offset(int layer, int head) const { return (static_cast<size_t>(layer) * shape_.heads + head) * shape_.head_bytes(); }
  void* head(int layer, int head, int slot) { return blocks_[slot / kBlockSlots]->data() + head_offset(layer, head); }
  size_t bytes() const { return blocks_.size() * shape_.block_bytes(); }

 private:
  KvShape shape_;
  std::vector<std::shared_ptr<Buffer<std::byte>>> blocks_;
  std::vector<const void*> pointers_;
};

}  // namespace sonant::cpu
