// A reader of Python pickles of protocol 2 that never does what they say: it understands values,
// plain containers and the names of a few functions, and returns a tree that tells what would
// be called with what. Any other name is refused. Input is hostile: bytes, values, stack and memo
// are bounded, and nothing recurses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sonant {

struct PickleValue {
  enum class Kind {
    kNone,
    kBool,
    kInt,
    kFloat,
    kString,
    kTuple,
    kList,
    kDict,        // also an OrderedDict; `items` holds key, value, key, value, ...
    kGlobal,      // `text` is "module.name"
    kCall,        // `items` holds the kGlobal and the kTuple of its arguments
    kPersistent,  // `items` holds the one value that names an object outside the pickle
  };
  Kind kind = Kind::kNone;
  int64_t integer = 0;  // kBool, kInt
  double number = 0;    // kFloat
  std::string text;
  std::vector<uint32_t> items;  // places in Pickle::values; containers may contain themselves
};

struct Pickle {
  std::vector<PickleValue> values;
  uint32_t root = 0;

  const PickleValue& at(uint32_t place) const { return values[place]; }
};

struct PickleLimits {
  size_t max_bytes = 32u << 20;
  size_t max_values = 500'000;  // made, on the stack, or in the memo
};

// `source` names the pickle in errors. `allowed` decides which "module.name" may appear, besides
// collections.OrderedDict. Throws Error("model_invalid") with the name that is refused, or with the
// place in bytes of what cannot be read.
Pickle read_pickle(std::span<const std::byte> bytes, const std::string& source, bool (*allowed)(std::string_view name), const PickleLimits& limits = {});

}  // namespace sonant
