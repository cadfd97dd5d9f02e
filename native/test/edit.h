// Editing text fixtures inside tests.
#pragma once

#include <string>

#include "test/check.h"

namespace sonant::test {

// `text` with every `from` replaced; a test whose fixture no longer holds `from` fails.
inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  size_t at = text.find(from);
  record(at != std::string::npos, __FILE__, __LINE__, "the fixture does not hold " + from);
  for (; at != std::string::npos; at = text.find(from, at + to.size())) text.replace(at, from.size(), to);
  return text;
}

}  // namespace sonant::test
