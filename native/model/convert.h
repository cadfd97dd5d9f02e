// Conversions between stored number formats and fp32. Stored bytes may be unaligned, hence the
// memcpy loads. Plain loops, written so that the compiler turns them into vector code.
#pragma once

#include <cstddef>

namespace sonant {

// `in` holds `n` values; `out` takes n floats.
void bf16_to_f32(const std::byte* in, size_t n, float* out);
void f16_to_f32(const std::byte* in, size_t n, float* out);
// One row of int8 values with one fp32 scale for each started group of kInt8Group columns.
void i8_to_f32(const std::byte* in, const std::byte* scales, size_t n, float* out);

// Rounds to nearest even; NaN stays NaN. `out` takes 2 n bytes.
void f32_to_bf16(const float* in, size_t n, std::byte* out);
// One row; chooses each group's scale for the least squared error. `out` takes n bytes and
// `scales` ceil(n / kInt8Group) floats. Values are within -127 .. 127.
void f32_to_i8(const float* in, size_t n, std::byte* out, float* scales);

}  // namespace sonant
