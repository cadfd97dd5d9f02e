#include "backend/cpu/thread_team.h"

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace sonant::cpu {

namespace {

constexpr uint32_t kOpen = 1u << 31;

}  // namespace

void ThreadTeam::pause() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

ThreadTeam::ThreadTeam(int size) : size_(std::max(1, size)), spins_(size > default_threads() ? kMinSpins : kMaxSpins) {
  for (int i = 1; i < size_; i++) threads_.emplace_back([this, i] { work(i); });
}

ThreadTeam::~ThreadTeam() {
  stop_.store(true);
  epoch_.fetch_add(1);
  epoch_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadTeam::work(int index) {
  uint32_t seen = 0;
  for (;;) {
    wait_while(epoch_, seen);
    seen = epoch_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    // Joins only while the run is open; whoever comes too late waits for the next one.
    uint32_t inside = inside_.load(std::memory_order_acquire);
    while ((inside & kOpen) && !inside_.compare_exchange_weak(inside, inside + 1, std::memory_order_acq_rel)) {
    }
    if (!(inside & kOpen)) continue;
    Member me{index, first_phase_};
    (*fn_)(me);
    if (inside_.fetch_sub(1, std::memory_order_acq_rel) == 1) inside_.notify_one();
  }
}

void ThreadTeam::run(const std::function<void(Member&)>& fn) {
  Member me{0, static_cast<uint32_t>(ticket_.load(std::memory_order_relaxed) >> 32)};
  if (size_ == 1) return fn(me);
  fn_ = &fn;
  first_phase_ = me.at;
  inside_.store(kOpen, std::memory_order_release);
  epoch_.fetch_add(1, std::memory_order_release);
  epoch_.notify_all();
  fn(me);
  uint32_t inside = inside_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  while (inside != 0) {
    wait_while(inside_, inside);
    inside = inside_.load(std::memory_order_acquire);
  }
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
