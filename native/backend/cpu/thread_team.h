// A fixed team of threads that runs one function on all members at once, with a barrier for the
// phases inside. Waiting spins for a short while (a phase of the model lasts microseconds), then
// sleeps, so an idle engine costs nothing. How long it spins adapts: where waits keep ending in
// sleep, because the cores are shared with others, it soon hardly spins at all.
#pragma once

#include <atomic>
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

  int size() const { return size_; }

  // Runs fn(member) on every member, 0 .. size-1, and returns when all are done. `fn` must not throw.
  void run(const std::function<void(int)>& fn);

  // Only inside fn, by every member: returns when all have arrived.
  void barrier();

 private:
  void work(int member);
  void wait_while(std::atomic<uint32_t>& value, uint32_t old);

  const int size_;
  std::vector<std::thread> threads_;
  const std::function<void(int)>* fn_ = nullptr;
  alignas(64) std::atomic<uint32_t> epoch_{0};    // a new function is there
  alignas(64) std::atomic<int> running_{0};       // members that have not finished it
  alignas(64) std::atomic<int> arrived_{0};
  alignas(64) std::atomic<uint32_t> phase_{0};    // barriers passed
  alignas(64) std::atomic<uint32_t> done_{0};     // functions finished
  std::atomic<int> spins_;
  std::atomic<bool> stop_{false};
};

// The columns, rows or tasks [begin, end) of `count` that a member takes, in steps of `unit`.
struct Share {
  int begin, end;
};
inline Share share(int count, int member, int members, int unit = 1) {
  const int units = (count + unit - 1) / unit;
  const auto cut = [&](int i) {
    const int at = static_cast<int>(static_cast<int64_t>(units) * i / members) * unit;
    return at < count ? at : count;
  };
  return {cut(member), cut(member + 1)};
}

// Threads to use when the caller does not say: the cores this process may run on, at most 16,
// because the phases of this small model stop gaining there.
int default_threads();

}  // namespace sonant::cpu
