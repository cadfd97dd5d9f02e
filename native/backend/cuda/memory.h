// Owned device memory, page-locked host memory and streams; and the pool of cache pages that
// sequences and codec streams take from. Plain cudaMalloc throughout. Running out of memory throws
// std::bad_alloc, anything else Error("engine_failed").
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "backend/cuda/kernels.h"

namespace sonant::cuda {

// The runtime remembers a device for each thread: what is called from outside selects its own first.
void use_device(int index);

class Stream {
 public:
  explicit Stream(int device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  operator cudaStream_t() const { return stream_; }
  void wait() const;

 private:
  cudaStream_t stream_ = nullptr;
};

// `count` values of device memory.
template <class T>
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  explicit DeviceBuffer(size_t count) : count_(count) {
    if (count) check(cudaMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)), "an allocation");
  }
  ~DeviceBuffer() { cudaFree(data_); }
  DeviceBuffer(DeviceBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  T* data() const { return data_; }
  size_t size() const { return count_; }
  size_t bytes() const { return count_ * sizeof(T); }
  void zero(cudaStream_t stream) {
    if (count_) check(cudaMemsetAsync(data_, 0, bytes(), stream), "clearing memory");
  }
  // At least `count` values, zeros all of them, when there were fewer; what was there is lost then.
  void reserve(size_t count, cudaStream_t stream) {
    if (count <= count_) return;
    *this = DeviceBuffer();
    *this = DeviceBuffer(count);
    zero(stream);
  }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

// Host memory that copies reach without a detour.
template <class T>
class PinnedBuffer {
 public:
  PinnedBuffer() = default;
  explicit PinnedBuffer(size_t count) : count_(count) { check(cudaMallocHost(reinterpret_cast<void**>(&data_), count * sizeof(T)), "an allocation"); }
  ~PinnedBuffer() {
    if (data_) cudaFreeHost(data_);
  }
  PinnedBuffer(PinnedBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)), count_(std::exchange(other.count_, 0)) {}
  PinnedBuffer& operator=(PinnedBuffer&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(count_, other.count_);
    return *this;
  }
  T* data() const { return data_; }
  T& operator[](size_t i) const { return data_[i]; }
  size_t size() const { return count_; }

 private:
  T* data_ = nullptr;
  size_t count_ = 0;
};

// A pair of equal buffers, written here and read there or the other way round.
template <class T>
class Mirror {
 public:
  Mirror() = default;
  explicit Mirror(size_t count) : host(count), device(count) {}
  void upload(size_t count, cudaStream_t stream) const {
    check(cudaMemcpyAsync(device.data(), host.data(), count * sizeof(T), cudaMemcpyHostToDevice, stream), "a copy to the GPU");
  }
  void download(size_t count, cudaStream_t stream) const {
    check(cudaMemcpyAsync(host.data(), device.data(), count * sizeof(T), cudaMemcpyDeviceToHost, stream), "a copy from the GPU");
  }
  // The same as part of a kernel's copies.
  Copy up(size_t count) const { return {host.data(), device.data(), words(count)}; }
  Copy down(size_t count) const { return {device.data(), host.data(), words(count)}; }

  PinnedBuffer<T> host;
  DeviceBuffer<T> device;

 private:
  static size_t words(size_t count) {
    static_assert(sizeof(T) % sizeof(uint32_t) == 0);
    return count * (sizeof(T) / sizeof(uint32_t));
  }
};

// Copies `count` values to device memory and waits.
template <class T>
DeviceBuffer<T> to_device(const T* values, size_t count, cudaStream_t stream) {
  DeviceBuffer<T> buffer(count);
  check(cudaMemcpyAsync(buffer.data(), values, count * sizeof(T), cudaMemcpyHostToDevice, stream), "a copy to the GPU");
  check(cudaStreamSynchronize(stream), "a copy to the GPU");
  return buffer;
}
template <class T>
DeviceBuffer<T> to_device(const std::vector<T>& values, cudaStream_t stream) {
  return to_device(values.data(), values.size(), stream);
}

// Pages of one size, taken from the device in slabs and kept for reuse. A page comes with numbers that
// are finite wherever a cache layout has padding: new ones are zeros, and padding is never written.
class PagePool {
 public:
  PagePool(size_t page_bytes, cudaStream_t stream) : page_bytes_(page_bytes), stream_(stream) {}

  size_t page_bytes() const { return page_bytes_; }

  // Gives its page back to the pool, which has to be alive.
  class Page {
   public:
    Page(PagePool& pool, void* data) : pool_(pool), data_(data) {}
    ~Page() { pool_.free_.push_back(data_); }
    Page(const Page&) = delete;
    void* data() const { return data_; }

   private:
    PagePool& pool_;
    void* data_;
  };
  std::shared_ptr<Page> take();

 private:
  const size_t page_bytes_;
  const cudaStream_t stream_;
  std::vector<DeviceBuffer<std::byte>> slabs_;
  std::vector<void*> free_;
};

}  // namespace sonant::cuda
