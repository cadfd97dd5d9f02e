// The one exception type that crosses the engine's inner borders.
// `code` is stable and machine-readable; `what()` is a sentence for people that
// names what was wrong and what is allowed. The addon turns it into a JS error.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace sonant {

class Error : public std::runtime_error {
 public:
  Error(std::string code, const std::string& message)
      : std::runtime_error(message), code_(std::move(code)) {}
  const std::string& code() const noexcept { return code_; }

 private:
  std::string code_;
};

// Codes in use: model_missing (a file is not there), model_invalid (a file or tensor is not
// what the config promises), bad_request (arguments of one call), overloaded (no room),
// out_of_memory, unsupported (this build or machine cannot do it), engine_failed, closed.

}  // namespace sonant
