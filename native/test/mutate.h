// Deterministic damage to a valid document, for tests that ask a reader to fail in good order.
#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace sonant::test {

class Mutator {
 public:
  explicit Mutator(uint32_t seed) : random_(seed) {}

  uint32_t below(size_t n) { return n == 0 ? 0 : static_cast<uint32_t>(random_() % n); }

  // One to four of: a bit flip, another byte, a removed or repeated span, a cut end, a digit changed.
  std::string mutate(std::string text) {
    const uint32_t steps = 1 + below(4);
    for (uint32_t i = 0; i < steps && !text.empty(); ++i) step(text);
    return text;
  }

 private:
  void step(std::string& text) {
    const size_t at = below(text.size());
    switch (below(6)) {
      case 0: text[at] = static_cast<char>(text[at] ^ (1 << below(8))); break;
      case 1: text[at] = static_cast<char>(below(256)); break;
      case 2: text.erase(at, 1 + below(8)); break;
      case 3: text.insert(at, text.substr(below(text.size()), 1 + below(16))); break;
      case 4: text.resize(at); break;
      default: {
        const size_t digit = text.find_first_of("0123456789", at);
        if (digit != std::string::npos) text[digit] = static_cast<char>('0' + below(10));
      }
    }
  }

  std::mt19937 random_;
};

}  // namespace sonant::test
