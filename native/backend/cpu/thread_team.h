// A fixed team of threads that works through phases of tasks together. A phase ends when its tasks
// are done, not when every member has come by: a member that the system has put aside holds up at
// most the task in its hands, and the others go on without it. So a team on busy cores is slower,
// but never much slower than one thread alone.
//
// Waiting spins for a short while (a phase of the model lasts microseconds), then sleeps, so an
// idle engine costs nothing. How long it spins adapts to how often waits end in sleep.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <thread>
#include <vector>

namespace sonant::cpu {

class ThreadTeam {
 public:
  // `size` members, the calling thread of run() among them.
  explicit ThreadTeam(int size);
  ~ThreadTeam();
  ThreadTeam(const ThreadTeam&) = delete;
  ThreadTeam& operator=(const ThreadTeam&) = delete;

  struct Member {
    int index;     // 0 .. size - 1, for memory of its own
    uint32_t at;   // the phase it comes to next
  };

  int size() const { return size_; }

  // Runs fn on the calling thread and on every member that gets to it in time; returns when all
  // phases are done and nobody is in fn any more. fn must not throw, must go through the same phases
  // with the same numbers of tasks on every member, and may touch what phases write only inside tasks.
  void run(const std::function<void(Member&)>& fn);

  // Inside fn: the tasks 0 .. tasks-1, each done by one member, in any order. On return all are done.
  template <class Task>
  void phase(Member& me, int tasks, Task&& task) {
    if (tasks <= 0) return;
    if (size_ == 1) {
      for (int i = 0; i < tasks; i++) task(i);
      return;
    }
    const uint32_t mine = me.at++;
    for (;;) {
      uint64_t ticket = ticket_.load(std::memory_order_acquire);
      if (static_cast<uint32_t>(ticket >> 32) != mine) return;  // finished without this member
      const int next = static_cast<int>(static_cast<uint32_t>(ticket));
      if (next >= tasks) return wait_while(ticket_, ticket);  // all taken: it changes when the last is done
      if (!ticket_.compare_exchange_weak(ticket, ticket + 1, std::memory_order_acq_rel)) continue;
      task(next);
      if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 < tasks) continue;
      done_.store(0, std::memory_order_relaxed);
      ticket_.store(static_cast<uint64_t>(mine + 1) << 32, std::memory_order_release);
      ticket_.notify_all();
      return;
    }
  }

 private:
  void work(int index);
  template <class T>
  void wait_while(std::atomic<T>& value, T old) {
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
  static void pause();

  // At most some 50 microseconds: longer than a phase, shorter than a scheduler's time slice.
  static constexpr int kMaxSpins = 4000, kMinSpins = 30;

  const int size_;
  std::vector<std::thread> threads_;
  const std::function<void(Member&)>* fn_ = nullptr;
  uint32_t first_phase_ = 0;                       // of the current run
  alignas(64) std::atomic<uint64_t> ticket_{0};    // phase << 32 | its next task
  alignas(64) std::atomic<int> done_{0};           // tasks of the phase that are done
  alignas(64) std::atomic<uint32_t> epoch_{0};     // a new run is there
  alignas(64) std::atomic<uint32_t> inside_{0};    // kOpen while members may join, plus how many have
  std::atomic<int> spins_;
  std::atomic<bool> stop_{false};
};

// Threads to use when the caller does not say: the cores this process may run on, at most 16,
// because the phases of this small model stop gaining there.
int default_threads();

}  // namespace sonant::cpu
