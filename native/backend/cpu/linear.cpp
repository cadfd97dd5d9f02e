#include "backend/cpu/linear.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "model/error.h"

namespace sonant::cpu {

namespace {

constexpr int kPackRows = 64;  // rows converted at a time, so that packing needs little memory

uint16_t to_bf16(float f) {
  uint32_t x;
  std::memcpy(&x, &f, 4);
  return static_cast<uint16_t>((x + 0x7fffu + ((x >> 16) & 1)) >> 16);
}

}  // namespace

Linear::Linear(const Kernels& kernels, const float* weight, int n, int k, Precision precision)
    : kernels_(&kernels), n_(n), k_(k), groups_((k + kGroup - 1) / kGroup), precision_(precision) {
  const size_t columns = static_cast<size_t>(padded_n());
  if (precision == Precision::kInt8) {
    data_ = Buffer<std::byte>(columns * groups_ * kGroup);
    scale_ = Buffer<float>(columns * groups_);
    // Padding rows and columns hold zero, which is 128 in the offset form.
    if (kernels.unsigned_weights) std::memset(data_.data(), 128, data_.size());
  } else {
    data_ = Buffer<std::byte>(columns * k * (precision == Precision::kBf16 ? 2 : 4));
  }
  if (weight) pack_float(weight, 0, n);
}

Linear::Linear(const Kernels& kernels, const Tensor& weight, Precision precision)
    : Linear(kernels, nullptr, static_cast<int>(weight.rows()), static_cast<int>(weight.cols()), precision) {
  if (precision == Precision::kInt8 && weight.dtype == DType::kI8) {
    std::vector<float> scale(groups_);
    for (int row = 0; row < n_; row++) {
      std::memcpy(scale.data(), weight.scale + static_cast<size_t>(row) * groups_ * 4, static_cast<size_t>(groups_) * 4);
      pack_int8_row(row, reinterpret_cast<const int8_t*>(weight.data) + static_cast<size_t>(row) * k_, scale.data());
    }
    return;
  }
  std::vector<float> rows(static_cast<size_t>(kPackRows) * k_);
  for (int row = 0; row < n_; row += kPackRows) {
    const int count = std::min(kPackRows, n_ - row);
    read_rows_f32(weight, row, count, rows.data());
    pack_float(rows.data(), row, count);
  }
}

void Linear::pack_float(const float* rows, int row0, int count) {
  for (int i = 0; i < count; i++) {
    const int row = row0 + i, panel = row / kPanel, lane = row % kPanel;
    const float* x = rows + static_cast<size_t>(i) * k_;
    const size_t base = static_cast<size_t>(panel) * k_ * kPanel + lane;
    if (precision_ == Precision::kFp32) {
      float* out = reinterpret_cast<float*>(data_.data()) + base;
      for (int c = 0; c < k_; c++) out[static_cast<size_t>(c) * kPanel] = x[c];
    } else if (precision_ == Precision::kBf16) {
      uint16_t* out = reinterpret_cast<uint16_t*>(data_.data()) + base;
      for (int c = 0; c < k_; c++) out[static_cast<size_t>(c) * kPanel] = to_bf16(x[c]);
    } else {
      std::vector<int8_t> q(k_);
      std::vector<float> scale(groups_);
      for (int g = 0; g < groups_; g++) {
        const int begin = g * kGroup, end = std::min(k_, begin + kGroup);
        float peak = 0;
        for (int c = begin; c < end; c++) peak = std::max(peak, std::fabs(x[c]));
        scale[g] = peak / 127.0f;
        const float inverse = peak > 0 ? 127.0f / peak : 0.0f;
        for (int c = begin; c < end; c++) q[c] = static_cast<int8_t>(std::lrintf(x[c] * inverse));
      }
      pack_int8_row(row, q.data(), scale.data());
    }
  }
}

void Linear::pack_int8_row(int row, const int8_t* values, const float* scale) {
  const int panel = row / kPanel, lane = row % kPanel;
  uint8_t* out = reinterpret_cast<uint8_t*>(data_.data()) + static_cast<size_t>(panel) * groups_ * kGroup * kPanel;
  for (int c = 0; c < k_; c++) {
    // -128 would overflow the sign trick of the AVX2 kernel; the symmetric range never needs it.
    const int value = std::max<int>(values[c], -127);
    out[static_cast<size_t>(c / 4) * 4 * kPanel + lane * 4 + c % 4] = static_cast<uint8_t>(kernels_->unsigned_weights ? value + 128 : value);
  }
  for (int g = 0; g < groups_; g++) scale_[(static_cast<size_t>(panel) * groups_ + g) * kPanel + lane] = scale[g];
}

void Linear::apply(const Activations& in, int m, int p0, int p1, float* out, int ldo) const {
  if (p0 >= p1 || m == 0) return;
  switch (precision_) {
    case Precision::kFp32:
      return kernels_->gemm_f32(in.values, in.ld, m, k_, reinterpret_cast<const float*>(data_.data()), p0, p1, out, ldo);
    case Precision::kBf16:
      return kernels_->gemm_bf16(in.values, in.ld, m, k_, reinterpret_cast<const uint16_t*>(data_.data()), p0, p1, out, ldo);
    case Precision::kInt8:
      return kernels_->gemm_i8(in.quantised, m, reinterpret_cast<const uint8_t*>(data_.data()), scale_.data(), p0, p1, out, ldo);
  }
}

}  // namespace sonant::cpu
