#include "bench/streams.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "bench/prompt.h"
#include "engine/clock.h"
#include "engine/engine.h"

namespace sonant::bench {

namespace {

constexpr double kGapMs = 100;   // what a listener may notice
constexpr int kBufferFrames = 50;  // how far a stream may be ahead of its listener: four seconds

struct Listener {
  Time asked, first;
  bool begun = false, ended = false;
  int frames = 0;     // received
  int consumed = 0;   // told to the engine
  double longest_gap_ms = 0;
  double late_ms = 0;  // by which playback has been put off so far
};

}  // namespace

std::vector<std::pair<std::string, double>> run_streams(std::unique_ptr<Backend> backend, const StreamsOptions& options) {
  const LmConfig lm = backend->lm->config();
  const CodecConfig codec = backend->codec->config();
  const double frame_ms = 1000.0 * codec.frame_samples / codec.sample_rate;
  GenerateRequest request;
  request.prefix_key = "bench";
  request.prefix_rows = prompt_rows(lm, options.voice_frames, 71, 1);
  request.text_rows = prompt_rows(lm, 0, options.text_rows, 5);
  request.max_frames = std::max(1, static_cast<int>(1000 * options.seconds / frame_ms));
  request.buffer_frames = kBufferFrames;
  request.ignore_stop = true;

  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::pair<RequestId, Listener>> listeners;  // ids count up, so the place follows from the id
  RequestId first_id = 0;
  int ended = 0;
  EngineLimits limits;
  limits.max_sequences = options.streams;
  Engine engine(std::move(backend), limits, [&](std::vector<Event>&& events) {
    const Time now = Clock::now();
    const std::lock_guard lock(mutex);
    for (const Event& event : events) {
      if (first_id == 0 || event.id < first_id) {
        ended += event.kind == Event::Kind::kDone;
        continue;
      }
      Listener& listener = listeners[event.id - first_id].second;
      if (event.kind == Event::Kind::kDone) {
        listener.ended = true;
        ended++;
      } else {
        if (!listener.begun) listener.first = now, listener.begun = true;
        // Sound that has been received ran out at this moment, unless this chunk came before.
        const double dry_at = listener.frames * frame_ms + listener.late_ms;
        const double gap = ms_between(listener.first, now) - dry_at;
        if (listener.frames > 0 && gap > 0) listener.longest_gap_ms = std::max(listener.longest_gap_ms, gap), listener.late_ms += gap;
        listener.frames += event.frames;
      }
    }
    changed.notify_all();
  });

  const auto wait_for = [&](int count) {
    std::unique_lock lock(mutex);
    while (ended < count) {
      changed.wait_for(lock, std::chrono::milliseconds(5));
      // Listeners hear in real time, and the engine is told.
      const Time now = Clock::now();
      for (auto& [id, listener] : listeners) {
        if (!listener.begun || listener.ended) continue;
        const int heard = std::min(listener.frames, static_cast<int>(ms_between(listener.first, now) / frame_ms));
        if (heard > listener.consumed) engine.consumed(id, heard - listener.consumed), listener.consumed = heard;
      }
    }
  };
  GenerateRequest warm = request;
  warm.max_frames = 2;
  engine.generate(std::move(warm));
  wait_for(1);

  const Time start = Clock::now();
  {
    const std::lock_guard lock(mutex);
    listeners.resize(static_cast<size_t>(options.streams));
    for (int i = 0; i < options.streams; i++) {
      GenerateRequest one = request;
      one.sampling.seed = static_cast<uint64_t>(i);
      listeners[static_cast<size_t>(i)].second.asked = Clock::now();
      const RequestId id = engine.generate(std::move(one));
      listeners[static_cast<size_t>(i)].first = id;
      if (i == 0) first_id = id;
    }
  }
  wait_for(1 + options.streams);
  const double total_ms = ms_between(start, Clock::now());
  engine.close();

  std::vector<double> first;
  double longest = 0;
  int64_t frames = 0;
  int continuous = 0;
  for (const auto& [id, listener] : listeners) {
    first.push_back(ms_between(listener.asked, listener.first));
    longest = std::max(longest, listener.longest_gap_ms);
    frames += listener.frames;
    continuous += listener.longest_gap_ms <= kGapMs;
  }
  std::sort(first.begin(), first.end());
  const auto at = [&](double share) { return first[std::min(first.size() - 1, static_cast<size_t>(share * static_cast<double>(first.size())))]; };
  const std::string name = "streams_" + std::to_string(options.streams) + "_";
  return {{name + "ttfp_p50", at(0.5)},
          {name + "ttfp_p95", at(0.95)},
          {name + "ttfp_max", first.back()},
          {name + "continuous_share", static_cast<double>(continuous) / options.streams},
          {name + "longest_gap", longest},
          {name + "total", total_ms},
          {name + "seconds_of_sound_a_second", static_cast<double>(frames) * frame_ms / total_ms}};
}

}  // namespace sonant::bench
