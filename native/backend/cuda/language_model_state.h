// What a sequence and a shared prefix of the CUDA language model hold: pages by reference count, and a slot of the tables.
#pragma once

#include <utility>
#include <vector>

#include "backend/cuda/language_model.h"

namespace sonant::cuda {

template <class T>
class CudaLanguageModel<T>::Prefix final : public LmPrefix {
 public:
  int rows() const override { return row_count; }
  size_t bytes() const override { return size; }

  std::vector<Page> pages;
  DeviceBuffer<float> hidden;
  int row_count = 0;
  size_t size = 0;
};

template <class T>
class CudaLanguageModel<T>::Sequence final : public LmSequence {
 public:
  Sequence(CudaLanguageModel& model, int rows) : max_rows(rows), slot(model.slots_.take()), model_(model) {}
  ~Sequence() override { model_.slots_.give_back(slot); }
  int rows() const override { return row_count; }
  int frames() const override { return frame_count; }
  size_t bytes() const override { return pages.size() * model_.pages_.page_bytes(); }

  const int max_rows, slot;
  std::vector<Page> pages;  // a prefix's whole pages first, shared
  std::vector<int32_t> pending;  // row of the last frame, not yet in the cache
  int row_count = 0, frame_count = 0;

 private:
  CudaLanguageModel& model_;
};

}  // namespace sonant::cuda
