// Float samples as they leave the engine: fewer channels, and the 16-bit integers that leave the server.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace sonant {

// Samples [n] to integers [n]: clipped to [-1, 1] and rounded down to steps of 2^-15 as libsndfile does, NaN
// to 0. Number for number what toPcm16 of server/audio/pcm.ts gives.
std::vector<int16_t> to_pcm16(std::span<const float> samples);

// Interleaved samples [n][channels] to the mean of each n's.
std::vector<float> to_mono(std::span<const float> samples, int channels);

}  // namespace sonant
