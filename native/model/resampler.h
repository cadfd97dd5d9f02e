// Windowed-sinc resampling as torchaudio's functional.resample defines it by default
// (Hann window, 6 zero crossings, roll-off 0.99). Model specification, section 6.7.
#pragma once

#include <cstddef>
#include <vector>

namespace sonant {

// One channel: `in` at `from_hz` to `to_hz`; returns ceil(to * n / from) samples after both
// rates are divided by their greatest common divisor. Equal rates return a copy.
// Throws Error("bad_request") for rates outside 1000 .. 768000 Hz.
std::vector<float> resample(const float* in, size_t n, int from_hz, int to_hz);

}  // namespace sonant
