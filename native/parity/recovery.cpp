#include "parity/recovery.h"

#include <algorithm>
#include <condition_variable>
#include <map>
#include <mutex>

#include "bench/prompt.h"
#include "engine/engine.h"
#include "model/error.h"

namespace sonant {
namespace {

constexpr int kRequests = 16, kShort = 12, kLong = 4000;

// Requests of one engine and what came of them.
class Listeners {
 public:
  explicit Listeners(std::unique_ptr<Backend> backend)
      : config_(backend->lm->config()), engine_(std::move(backend), EngineLimits{.max_sequences = kRequests}, [this](std::vector<Event>&& events) { take(events); }) {}

  void ask(int max_frames) {
    for (int i = 0; i < kRequests; i++) {
      GenerateRequest request;
      request.prefix_key = "voice";
      request.prefix_rows = bench::prompt_rows(config_, 30, 0, 1);
      request.text_rows = bench::prompt_rows(config_, 0, 20, static_cast<uint32_t>(i + 2));
      request.max_frames = max_frames, request.buffer_frames = max_frames;
      request.sampling.seed = static_cast<uint64_t>(i);
      request.ignore_stop = request.want_codes = true;
      engine_.generate(std::move(request));
    }
  }
  // Waits until each request has had sound, or has ended.
  void wait(bool until_ended) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] {
      return heard_.size() == kRequests && std::all_of(heard_.begin(), heard_.end(), [&](const auto& entry) { return until_ended ? entry.second.ended : !entry.second.codes.empty(); });
    });
  }
  // The codes of all requests, in the order in which they were asked for.
  std::vector<std::vector<int32_t>> codes() const {
    std::vector<std::vector<int32_t>> all;
    for (const auto& [id, one] : heard_) all.push_back(one.codes);
    return all;
  }
  // How they ended: "error code: sentence", once each.
  std::string errors() const {
    std::map<std::string, int> counts;
    for (const auto& [id, one] : heard_) counts[one.error]++;
    std::string text;
    for (const auto& [error, count] : counts) text += std::to_string(count) + " " + error + "; ";
    return text;
  }
  bool all_failed() const {
    return std::all_of(heard_.begin(), heard_.end(), [](const auto& entry) { return entry.second.error.rfind("engine_failed: ", 0) == 0; });
  }

 private:
  struct Heard {
    std::vector<int32_t> codes;
    std::string error;
    bool ended = false;
  };

  void take(const std::vector<Event>& events) {
    const std::lock_guard lock(mutex_);
    for (const Event& event : events) {
      Heard& one = heard_[event.id];
      one.codes.insert(one.codes.end(), event.codes.begin(), event.codes.end());
      if (event.kind != Event::Kind::kDone) continue;
      one.ended = true;
      if (event.reason == FinishReason::kError) one.error = event.error_code + ": " + event.error_message;
    }
    changed_.notify_all();
  }

  const LmConfig config_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<RequestId, Heard> heard_;
  Engine engine_;  // the last member: its thread uses the others
};

std::vector<std::vector<int32_t>> speak(std::unique_ptr<Backend> backend) {
  Listeners listeners(std::move(backend));
  listeners.ask(kShort);
  listeners.wait(true);
  return listeners.codes();
}

}  // namespace

std::vector<RecoveryCheck> check_recovery(const std::function<std::unique_ptr<Backend>()>& open, const std::function<void()>& break_device) {
  std::vector<RecoveryCheck> checks;
  const auto before = speak(open());
  {
    Listeners listeners(open());
    listeners.ask(kLong);
    listeners.wait(false);
    break_device();
    listeners.wait(true);
    checks.push_back({"requests under way end with an error", listeners.all_failed(), listeners.errors()});
  }
  try {
    const auto after = speak(open());
    checks.push_back({"an engine loaded afterwards speaks the same", before == after, std::to_string(after.size()) + " requests"});
  } catch (const Error& error) {
    checks.push_back({"an engine loaded afterwards is refused with a sentence", true, error.what()});
  }
  return checks;
}

}  // namespace sonant
