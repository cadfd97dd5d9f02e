// Time as the engine measures it: a steady clock, and milliseconds as doubles.
#pragma once

#include <chrono>

namespace sonant {

using Clock = std::chrono::steady_clock;
using Time = Clock::time_point;

inline double ms_between(Time from, Time to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace sonant
