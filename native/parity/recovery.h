// What becomes of an engine whose GPU fails under it: its requests end with an error that says so, and an engine that is loaded
// after it speaks as the first one did or is refused, since some drivers give a device that has met a fault to new processes only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "backend/backend.h"

namespace sonant {

struct RecoveryCheck {
  std::string what;
  bool passed = false;
  std::string found;
};

// `open` gives the same backend each time, `break_device` leaves its device to this process as a kernel's fault does. Throws Error.
std::vector<RecoveryCheck> check_recovery(const std::function<std::unique_ptr<Backend>()>& open, const std::function<void()>& break_device);

}  // namespace sonant
