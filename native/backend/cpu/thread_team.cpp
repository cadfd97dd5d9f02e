#include "backend/cpu/thread_team.h"

#include <algorithm>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sonant::cpu {

namespace {

// At most some 50 microseconds: longer than a phase, shorter than a scheduler's time slice.
constexpr int kMaxSpins = 4000, kMinSpins = 30;

inline void pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadTeam::ThreadTeam(int size) : size_(std::max(1, size)), spins_(size > default_threads() ? kMinSpins : kMaxSpins) {
  for (int i = 1; i < size_; i++) threads_.emplace_back([this, i] { work(i); });
}

ThreadTeam::~ThreadTeam() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::wait_while(std::atomic<uint32_t>& value, uint32_t old) {
  const int spins = spins_.load(std::memory_order_relaxed);
  for (int i = 0; i < spins; i++) {
    if (value.load(std::memory_order_acquire) != old) {
      if (spins < kMaxSpins) spins_.store(std::min(kMaxSpins, spins + spins / 16 + 1), std::memory_order_relaxed);
      return;
    }
    pause();
  }
  spins_.store(std::max(kMinSpins, spins - spins / 4), std::memory_order_relaxed);
  while (value.load(std::memory_order_acquire) == old) value.wait(old, std::memory_order_acquire);
}

void ThreadTeam::work(int member) {
  uint32_t seen = 0;
  for (;;) {
    wait_while(epoch_, seen);
    seen++;
    if (stop_.load()) return;
    (*fn_)(member);
    if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      done_.fetch_add(1, std::memory_order_release);
      done_.notify_one();
    }
  }
}

void ThreadTeam::run(const std::function<void(int)>& fn) {
  if (size_ == 1) return fn(0);
  const uint32_t done = done_.load(std::memory_order_acquire);
  fn_ = &fn;
  running_.store(size_, std::memory_order_relaxed);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  fn(0);
  if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
    done_.fetch_add(1, std::memory_order_release);
    return;
  }
  wait_while(done_, done);
}

void ThreadTeam::barrier() {
  if (size_ == 1) return;
  const uint32_t phase = phase_.load(std::memory_order_acquire);
  if (arrived_.fetch_add(1, std::memory_order_acq_rel) == size_ - 1) {
    arrived_.store(0, std::memory_order_relaxed);
    phase_.fetch_add(1, std::memory_order_release);
    phase_.notify_all();
    return;
  }
  wait_while(phase_, phase);
}

int default_threads() {
  int cores = static_cast<int>(std::thread::hardware_concurrency());
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cores = CPU_COUNT(&set);
#endif
  return std::clamp(cores, 1, 16);
}

}  // namespace sonant::cpu
