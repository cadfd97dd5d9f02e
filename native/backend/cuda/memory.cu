#include "backend/cuda/memory.h"

#include <algorithm>

namespace sonant::cuda {

namespace {

constexpr size_t kSlabBytes = 64u << 20;

}  // namespace

void use_device([[maybe_unused]] int index) {
#ifndef SONANT_CUDA_EMULATION
  check(cudaSetDevice(index), "selecting a device");
#endif
}

Stream::Stream(int device) {
  use_device(device);
#ifndef SONANT_CUDA_EMULATION
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "making a stream");
#endif
}

Stream::~Stream() {
  if (stream_) cudaStreamDestroy(stream_);
}

void Stream::wait() const { check(cudaStreamSynchronize(stream_), "its work"); }

std::shared_ptr<PagePool::Page> PagePool::take() {
  if (free_.empty()) {
    const size_t pages = std::max<size_t>(1, kSlabBytes / page_bytes_);
    DeviceBuffer<std::byte> slab(pages * page_bytes_);
    slab.zero(stream_);
    free_.reserve(free_.size() + (slabs_.size() + 1) * pages);  // giving back must not throw
    for (size_t i = pages; i-- > 0;) free_.push_back(slab.data() + i * page_bytes_);
    slabs_.push_back(std::move(slab));
  }
  void* data = free_.back();
  auto page = std::make_shared<Page>(*this, data);
  free_.pop_back();
  return page;
}

}  // namespace sonant::cuda
