// Cache-line aligned, zero-initialised memory.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <utility>

namespace sonant::cpu {

template <class T>
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(size_t count) : count_(count) {
    if (count == 0) return;
    const size_t bytes = (count * sizeof(T) + 63) / 64 * 64;
    data_ = static_cast<T*>(std::aligned_alloc(64, bytes));
    if (!data_) throw std::bad_alloc();
    std::memset(static_cast<void*>(data_), 0, bytes);
  }
  Buffer(Buffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  Buffer& operator=(Buffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Buffer() { std::free(data_); }

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](size_t i) { return data_[i]; }
  const T& operator[](size_t i) const { return data_[i]; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }
  // Makes room for at least `count` elements; the contents are lost when it grows.
  void reserve(size_t count) {
    if (count > count_) *this = Buffer(count);
  }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

}  // namespace sonant::cpu
