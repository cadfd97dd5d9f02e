// How the readers of checkpoints complain: one sentence that begins with the file.
#pragma once

#include <string>
#include <string_view>

#include "model/error.h"

namespace sonant {

// Throws Error("model_invalid", "PATH: WHAT.").
[[noreturn]] inline void invalid_file(const std::string& path, const std::string& what) {
  throw Error("model_invalid", path + ": " + what + ".");
}

// Text from a file, fit for a sentence: a hostile one neither floods it nor moves the cursor.
inline std::string shown(std::string_view text) {
  std::string out(text.substr(0, 200));
  for (char& c : out) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return "\"" + out + (text.size() > 200 ? "...\"" : "\"");
}

inline std::string show_tensor(std::string_view name) { return "the tensor " + shown(name); }

}  // namespace sonant
