// A weight matrix in the order that the kernels read, and the activations that go into it.
#pragma once

#include <cstdint>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/memory.h"
#include "model/safetensors.h"

namespace sonant::cpu {

// Rows of fp32 with, for int8 matrices, their quantised twin. Quantised rows are made by whoever
// fills the activations; fp32 and bf16 matrices never look at them.
struct Activations {
  const float* values = nullptr;  // [m][ld]
  int ld = 0;
  Quantised quantised;
};

// y = W x for W [n, k]; no bias (kernels add it afterwards).
class Linear {
 public:
  Linear() = default;
  // Packs `weight` [n, k] at `precision`; int8 keeps an int8 tensor's own numbers.
  Linear(const Kernels& kernels, const Tensor& weight, Precision precision);
  Linear(const Kernels& kernels, const float* weight, int n, int k, Precision precision);

  int n() const { return n_; }
  int k() const { return k_; }
  int padded_n() const { return panels() * kPanel; }
  int panels() const { return (n_ + kPanel - 1) / kPanel; }
  bool quantised() const { return precision_ == Precision::kInt8; }
  size_t bytes() const { return data_.bytes() + scale_.bytes(); }

  // out [m][ldo], columns of panels [p0, p1); ldo >= padded_n().
  void apply(const Activations& in, int m, int p0, int p1, float* out, int ldo) const;

 private:
  void pack_float(const float* rows, int row0, int count);
  void pack_int8_row(int row, const int8_t* values, const float* scale);

  const Kernels* kernels_ = nullptr;
  int n_ = 0, k_ = 0, groups_ = 0;
  Precision precision_ = Precision::kFp32;
  Buffer<std::byte> data_;
  Buffer<float> scale_;  // int8: [panel][group][16]
};

}  // namespace sonant::cpu
