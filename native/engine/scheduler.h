// Decides what is computed next. Lives on one thread and owns every request that has been taken
// in. A tick is short and bounded: requests that are no longer wanted go first, then one slice of
// reference encoding, one slice of prompts, and one frame for every sequence whose reader keeps
// up. A prompt that completes speaks in the same tick. Between its parts a tick looks at what has
// come in: who is cancelled then takes part in nothing more, and is told of the end at once.
//
// Where the codec decodes beside the language model, a tick only begins to decode its frames, and the
// next one waits for them after its step and hands them out. A tick waits for its own where somebody
// would notice: for first sounds, unless they are few among many, and when there is no next step to wait behind.
//
// All live sequences fit one batch, and usually all that are ready are in it. Where that would be too slow
// for one whose listener is about to run dry, those that are ahead of theirs yield, and new prompts and
// recordings wait for a few ticks (pacing.h). Who may be live is first come, first served.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <unordered_map>
#include <vector>

#include "engine/audio_jobs.h"
#include "engine/prefill.h"
#include "engine/request.h"

namespace sonant {

class Scheduler {
 public:
  // What a tick calls on its way, on the scheduler's thread.
  struct Hooks {
    std::function<void()> take_in;                    // submits, cancels and acknowledges what has arrived
    std::function<void(std::vector<Event>&)> give_out;  // delivers the events and empties the list
  };

  Scheduler(Backend& backend, const EngineLimits& limits, StatsBook& book);

  void submit(std::unique_ptr<Sequence> sequence);
  void submit(std::unique_ptr<AudioJob> job) { jobs_.submit(std::move(job)); }
  void cancel(RequestId id, Time called);
  void consumed(RequestId id, int frames);

  // Whether tick() would do anything.
  bool busy() const;
  // One round of work; its events are given out or appended, in the order of each request.
  void tick(std::vector<Event>& events, const Hooks& hooks);
  void cancel_all(std::vector<Event>& events);
  // Ends all live sequences: tick() threw, so nobody knows what state they are in.
  void fail_all(const Failure& failure, std::vector<Event>& events);

  int sequences() const { return static_cast<int>(live_.size() + waiting_.size()); }
  int jobs() const { return jobs_.count(); }
  // Writes the gauges: live sequences, their bytes, the cache.
  void report(EngineStats& stats) const;

 private:
  bool ready(const Sequence& sequence) const;
  Time first_starving() const;
  void choose_speakers(Time now);
  void sweep(std::vector<Event>& events);
  void admit();
  // Codebooks that a request draws.
  int books_of(const GenerateRequest& request) const;
  void start(Sequence& sequence);
  void step();
  void decode();
  bool better_now() const;
  void settle(std::vector<Event>& events);
  void gather(std::vector<Event>& events);
  Time next_look() const;
  double audio_ms(int frames) const;
  void hand_out(Sequence& sequence, std::vector<Event>& events);
  void codec_took(double ms);
  void finish(Sequence& sequence, FinishReason reason, std::vector<Event>& events);

  Backend& backend_;
  const EngineLimits limits_;
  StatsBook& book_;
  VoiceCache cache_;
  std::optional<Prefill> prefill_;  // empty without a language model
  AudioJobs jobs_;
  TickCost cost_;
  int put_off_ = 0;  // ticks in a row without work on prompts and recordings
  bool unwanted_ = false;  // some sequence is cancelled or has failed
  std::deque<std::unique_ptr<Sequence>> waiting_;
  std::vector<std::unique_ptr<Sequence>> live_;
  std::unordered_map<RequestId, Sequence*> by_id_;

  // Scratch of a tick: the sequences that make a frame in it, how many yielded, and what the backend is given.
  std::vector<Sequence*> speaking_;
  std::vector<double> leads_;
  int yielded_ = 0;
  std::vector<int> rows_before_;
  std::vector<FrameItem> frames_;

  // The last decode: while it is under way, into the next tick, its sequences are marked `decoding`
  // and stay live.
  std::vector<DecodeItem> decodes_;
  std::vector<Sequence*> decoding_;
  bool under_way_ = false;
  double begin_ms_ = 0;
};

}  // namespace sonant
