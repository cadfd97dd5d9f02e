#include "backend/cuda/emulation/emulation.h"

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#if !defined(__x86_64__)
#include <ucontext.h>
#endif

namespace sonant::cuda::emulation {

namespace {

constexpr size_t kStackBytes = 64 * 1024;

#if defined(__x86_64__)
// Saves the callee's registers on the old stack and takes them from the new one.
extern "C" void sonant_emulation_switch(void** from, void* to);
asm(R"(
.text
.p2align 4
sonant_emulation_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
)");

class Context {
 public:
  void start(std::vector<unsigned char>& stack, void (*entry)()) {
    auto top = reinterpret_cast<uintptr_t>(stack.data() + stack.size()) & ~uintptr_t{15};
    auto* slots = reinterpret_cast<void**>(top) - 2;  // the entry finds the stack as after a call
    *slots = reinterpret_cast<void*>(entry);
    at_ = slots - 6;
    std::memset(at_, 0, 6 * sizeof(void*));
  }
  void enter(Context& from) { sonant_emulation_switch(&from.at_, at_); }

 private:
  void* at_ = nullptr;
};
#else
class Context {
 public:
  void start(std::vector<unsigned char>& stack, void (*entry)()) {
    getcontext(&context_);
    context_.uc_stack.ss_sp = stack.data();
    context_.uc_stack.ss_size = stack.size();
    makecontext(&context_, entry, 0);
  }
  void enter(Context& from) { swapcontext(&from.context_, &context_); }

 private:
  ucontext_t context_;
};
#endif

struct Barrier {
  int arrived = 0;
  uint64_t round = 0;
};

struct Fiber {
  std::vector<unsigned char> stack = std::vector<unsigned char>(kStackBytes);
  Context context;
  Place place;
  bool done = false;
  uint64_t exchanges = 0;  // of its warp, that it has taken part in
  const Barrier* waits_for = nullptr;
  uint64_t round = 0;      // of that barrier, which has to end

  bool can_run() const { return !done && (!waits_for || waits_for->round != round); }
};

struct Warp {
  Barrier barrier;
  std::array<std::array<uint64_t, 32>, 2> values;  // of this exchange and of the one before
};

// One block at work; each OS thread has its own.
struct Block {
  std::vector<std::unique_ptr<Fiber>> fibers;  // reused between blocks
  std::vector<Warp> warps;
  Barrier barrier;
  std::array<int, 2> count{};  // of block_count, of this round and of the one before
  int threads = 0, running = 0;
  Fiber* current = nullptr;
  Context scheduler;
  const std::function<void()>* body = nullptr;
};
thread_local Block block;

void yield() { block.scheduler.enter(block.current->context); }

void wait(Barrier& barrier, int members) {
  const uint64_t round = barrier.round;
  if (++barrier.arrived == members) {
    barrier.arrived = 0;
    barrier.round++;
    return;
  }
  block.current->waits_for = &barrier;
  block.current->round = round;
  yield();
  block.current->waits_for = nullptr;
}

void entry() {
  (*block.body)();
  block.current->done = true;
  block.running--;
  yield();
}

std::mutex memory;
std::unordered_map<void*, size_t> sizes;
size_t in_use = 0, limit = SIZE_MAX;
thread_local cudaError_t last_error = cudaSuccess;

}  // namespace

Place& place() { return block.current->place; }

namespace {

void run_block(dim3 grid, dim3 at, int threads, std::vector<uint64_t>& shared, const std::function<void()>& body) {
  auto base = reinterpret_cast<uintptr_t>(shared.data());
  auto* aligned = reinterpret_cast<unsigned char*>((base + 15) & ~uintptr_t{15});
  std::memset(shared.data(), 0xff, shared.size() * 8);  // what nobody wrote is not a number
  block.warps.assign(static_cast<size_t>(threads + 31) / 32, {});
  block.barrier = {};
  block.threads = block.running = threads;
  block.body = &body;
  while (static_cast<int>(block.fibers.size()) < threads) block.fibers.push_back(std::make_unique<Fiber>());
  for (int t = 0; t < threads; t++) {
    Fiber& fiber = *block.fibers[static_cast<size_t>(t)];
    fiber.place = {dim3(static_cast<unsigned>(t)), at, dim3(static_cast<unsigned>(threads)), grid, aligned};
    fiber.done = false;
    fiber.exchanges = 0;
    fiber.waits_for = nullptr;
    fiber.context.start(fiber.stack, entry);
  }
  while (block.running > 0)
    for (int t = 0; t < threads; t++) {
      block.current = block.fibers[static_cast<size_t>(t)].get();
      if (block.current->can_run()) block.current->context.enter(block.scheduler);
    }
}

// A second thread for blocks, which keeps its fibers from launch to launch.
class Helper {
 public:
  ~Helper() {
    hand_over(nullptr);
    thread_.join();
  }
  // Runs `work` there too; returns when both have ended.
  void run_with(const std::function<void()>& work) {
    hand_over(&work);
    work();
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !waiting_; });
  }

 private:
  void hand_over(const std::function<void()>* work) {
    const std::lock_guard lock(mutex_);
    work_ = work;
    waiting_ = true;
    changed_.notify_all();
  }
  void serve() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [&] { return waiting_; });
      if (!work_) return;
      lock.unlock();
      (*work_)();
      lock.lock();
      waiting_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  const std::function<void()>* work_ = nullptr;
  bool waiting_ = false;
  std::thread thread_{[this] { serve(); }};
};

std::mutex launching;

}  // namespace

void run(dim3 grid, int threads, size_t shared_bytes, const std::function<void()>& body) {
  const unsigned blocks = grid.x * grid.y * grid.z;
  std::atomic<unsigned> next{0};
  const auto work = [&] {
    std::vector<uint64_t> shared(shared_bytes / 8 + 2);
    for (unsigned i = next++; i < blocks; i = next++) run_block(grid, dim3(i % grid.x, i / grid.x % grid.y, i / grid.x / grid.y), threads, shared, body);
  };
  if (blocks == 1) return work();
  static Helper helper;
  const std::lock_guard lock(launching);
  helper.run_with(work);
}

void block_barrier() { wait(block.barrier, block.threads); }

int block_count(int predicate) {
  int& count = block.count[block.barrier.round % 2];
  if (block.barrier.arrived == 0) count = 0;
  count += predicate != 0;
  block_barrier();
  return count;
}

int block_or(int predicate) { return block_count(predicate) > 0; }

const std::array<uint64_t, 32>& exchange(uint64_t mine) {
  Fiber& me = *block.current;
  const unsigned thread = me.place.thread.x;
  Warp& warp = block.warps[thread / 32];
  auto& values = warp.values[me.exchanges++ % 2];
  values[thread % 32] = mine;
  wait(warp.barrier, 32);
  return values;
}

void multiply_add(float (&c)[4], std::array<uint32_t, 4> a, std::array<uint32_t, 2> b) {
  const auto pair = [](uint32_t low, uint32_t high) { return static_cast<uint64_t>(high) << 32 | low; };
  const auto a01 = exchange(pair(a[0], a[1])), a23 = exchange(pair(a[2], a[3]));  // copies: two more exchanges follow the first
  const auto& b01 = exchange(pair(b[0], b[1]));
  const unsigned lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  const auto half = [](uint64_t words, int word, int index) {
    const auto bits = static_cast<uint32_t>(words >> (32 * word));
    return __uint_as_float(index ? bits & 0xffff0000u : bits << 16);
  };
  for (int i = 0; i < 4; i++) {
    const int row_half = i / 2;                        // row g or g + 8
    const unsigned column = 2 * t + static_cast<unsigned>(i % 2);
    float sum = 0;
    for (unsigned k = 0; k < 16; k++) {
      const unsigned owner = k % 8 / 2, which = k % 2;
      const auto& words = k < 8 ? a01 : a23;
      sum += half(words[g * 4 + owner], row_half, static_cast<int>(which)) * half(b01[column * 4 + owner], k < 8 ? 0 : 1, static_cast<int>(which));
    }
    c[i] += sum;
  }
}

size_t allocated_bytes() {
  const std::lock_guard lock(memory);
  return in_use;
}

void limit_bytes(size_t bytes) {
  const std::lock_guard lock(memory);
  limit = bytes;
}

}  // namespace sonant::cuda::emulation

cudaError_t cudaGetLastError() { return std::exchange(sonant::cuda::emulation::last_error, cudaSuccess); }

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
  using namespace sonant::cuda::emulation;
  const std::lock_guard lock(memory);
  if (bytes > limit || in_use > limit - bytes) return last_error = cudaErrorMemoryAllocation;
  *pointer = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  std::memset(*pointer, 0xff, bytes);  // what nobody wrote is not a number
  sizes[*pointer] = bytes;
  in_use += bytes;
  return cudaSuccess;
}

cudaError_t cudaFree(void* pointer) {
  using namespace sonant::cuda::emulation;
  if (!pointer) return cudaSuccess;
  const std::lock_guard lock(memory);
  in_use -= sizes[pointer];
  sizes.erase(pointer);
  std::free(pointer);
  return cudaSuccess;
}
