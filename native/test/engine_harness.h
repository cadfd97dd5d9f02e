// An engine over the fake backend with a listener that keeps every event and checks the rules
// that all of them share: frames without gaps, exactly one kDone, nothing after it.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "engine/engine.h"
#include "test/check.h"
#include "test/fake_backend.h"

namespace sonant::test {

// Everything one request has delivered.
struct Heard {
  std::vector<float> pcm;
  std::vector<int16_t> pcm16;
  std::vector<int32_t> codes;
  std::vector<int> chunks;  // frames of each
  int frames = 0;
  bool done = false;
  Event end;  // the kDone
};

class Listener {
 public:
  void hear(std::vector<Event>&& events) {
    const std::lock_guard lock(mutex_);
    ++batches_;
    for (Event& event : events) {
      Heard& heard = by_id_[event.id];
      CHECK(!heard.done);
      if (event.kind == Event::Kind::kDone) {
        heard.done = true;
        heard.end = std::move(event);
        continue;
      }
      CHECK_EQUAL(event.first_frame, heard.frames);
      CHECK(event.frames > 0);
      heard.frames += event.frames;
      heard.chunks.push_back(event.frames);
      heard.pcm.insert(heard.pcm.end(), event.pcm.begin(), event.pcm.end());
      heard.pcm16.insert(heard.pcm16.end(), event.pcm16.begin(), event.pcm16.end());
      heard.codes.insert(heard.codes.end(), event.codes.begin(), event.codes.end());
    }
    changed_.notify_all();
  }

  Heard wait_done(RequestId id) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return by_id_[id].done; });
    return by_id_[id];
  }
  void wait_frames(RequestId id, int frames) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return by_id_[id].frames >= frames || by_id_[id].done; });
  }
  Heard so_far(RequestId id) {
    const std::lock_guard lock(mutex_);
    return by_id_[id];
  }
  int batches() {
    const std::lock_guard lock(mutex_);
    return batches_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RequestId, Heard> by_id_;
  int batches_ = 0;
};

// Lets the scheduler's thread through one step (or prefill) at a time, while it is closed.
class Gate {
 public:
  void wait() {
    std::unique_lock lock(mutex_);
    ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_ || passes_ > 0; });
    if (!open_) --passes_;
  }
  // Returns when the scheduler stands at the gate for the n-th time.
  void wait_arrival(int n) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= n; });
  }
  void pass() {
    const std::lock_guard lock(mutex_);
    ++passes_;
    changed_.notify_all();
  }
  void open() {
    const std::lock_guard lock(mutex_);
    open_ = true;
    changed_.notify_all();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0, passes_ = 0;
  bool open_ = false;
};

struct Rig {
  explicit Rig(const EngineLimits& limits = {}) : Rig(limits, std::make_shared<FakeState>()) {}
  Rig(const EngineLimits& limits, std::shared_ptr<FakeState> given) : Rig(limits, given, fake_backend(given)) {}
  Rig(const EngineLimits& limits, std::shared_ptr<FakeState> given, std::unique_ptr<Backend> backend) : state(std::move(given)) {
    engine = std::make_unique<Engine>(std::move(backend), limits,
                                      [this](std::vector<Event>&& events) { listener.hear(std::move(events)); });
  }
  Heard run(const GenerateRequest& request) { return listener.wait_done(engine->generate(request)); }
  // Nothing of any request is alive; prefixes in the voice cache may be.
  void check_nothing_left() {
    const EngineStats stats = engine->stats();
    CHECK_EQUAL(stats.live, 0);
    CHECK_EQUAL(stats.waiting, 0);
    CHECK_EQUAL(stats.sequence_bytes, 0u);
    CHECK_EQUAL(state->sequences.load(), 0);
    CHECK_EQUAL(state->streams.load(), 0);
    CHECK_EQUAL(stats.submitted, stats.finished + stats.cancelled + stats.failed);
  }

  std::shared_ptr<FakeState> state;
  Listener listener;
  std::unique_ptr<Engine> engine;  // last: its thread uses the others
};

inline std::vector<int32_t> rows(int n, int32_t text, int32_t last_text) {
  std::vector<int32_t> out;
  for (int i = 0; i < n; ++i) {
    out.push_back(i + 1 == n ? last_text : text);
    out.insert(out.end(), 4, 64);
  }
  return out;
}

// A request of `n` text rows that ends as `last_text` says (see FakeText).
inline GenerateRequest request(int n, int32_t last_text, uint64_t seed = 1) {
  GenerateRequest out;
  out.text_rows = rows(n, 600, last_text);
  out.sampling.seed = seed;
  out.buffer_frames = 1000;
  out.want_codes = true;
  return out;
}

// One that speaks until it is cancelled, with `state` set to steps slow enough that it does.
inline GenerateRequest running(FakeState& state) {
  state.on_step = [](int) { std::this_thread::sleep_for(std::chrono::microseconds(200)); };
  GenerateRequest out = request(2, kEndless);
  out.max_frames = 4900;
  out.buffer_frames = 4900;
  return out;
}

// Like request(), with a shared prefix; the key names `voice`.
inline GenerateRequest voiced(int voice, int prefix_rows, int n, int32_t last_text, uint64_t seed = 1) {
  GenerateRequest out = request(n, last_text, seed);
  out.prefix_key = "voice-" + std::to_string(voice);
  out.prefix_rows = rows(prefix_rows, 700 + voice, 700 + voice);
  return out;
}

}  // namespace sonant::test
