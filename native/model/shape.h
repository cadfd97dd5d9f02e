// Checked arithmetic on tensor shapes, shared by reading and writing.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace sonant {

// Bytes of a tensor of `shape` with elements of `element` bytes. False when a dimension is
// negative or the product does not fit.
inline bool checked_bytes(const std::vector<int64_t>& shape, uint64_t element, uint64_t& bytes) {
  constexpr uint64_t limit = static_cast<uint64_t>(std::numeric_limits<int64_t>::max());
  uint64_t total = element;
  bool empty = false;
  for (const int64_t dim : shape) {
    if (dim < 0) return false;
    if (dim == 0) {
      empty = true;  // still look at the rest: a negative dimension is never valid
      continue;
    }
    if (total > limit / static_cast<uint64_t>(dim)) return false;
    total *= static_cast<uint64_t>(dim);
  }
  bytes = empty ? 0 : total;
  return true;
}

inline std::string show_shape(const std::vector<int64_t>& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

}  // namespace sonant
