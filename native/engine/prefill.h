// Computes prompts in slices: a bounded number of rows a tick, shared between the sequences that
// wait, so that streams already speaking never wait longer than one slice. Whose listener runs dry first
// comes first. A voice prefix is
// computed once, by a build that belongs to no request: whoever needs the prefix waits for
// it, and it is given up only when nobody does any more.
#pragma once

#include <memory>
#include <vector>

#include "engine/request.h"
#include "engine/stats_book.h"
#include "engine/voice_cache.h"

namespace sonant {

class Prefill {
 public:
  // Borrows all three; `slice_rows` is the bound for one advance().
  Prefill(LanguageModel& lm, VoiceCache& cache, StatsBook& book, int slice_rows);

  // Takes up a sequence: with its prefix from the cache, by joining or starting a build, or with
  // rows of its own alone. Throws what the backend throws. It must leave() before it is destroyed.
  void admit(Sequence& sequence);
  // Forgets a sequence; harmless if it is done or was never here.
  void leave(Sequence& sequence);
  bool idle() const { return builds_.empty() && prompts_.empty(); }
  // When the first of the listeners that wait for a prompt wants to hear something; the end of time if none waits.
  Time due() const;
  // One slice. Finished sequences get Phase::kSpeaking, failed ones their `failure`.
  void advance();

 private:
  struct Build {
    std::string key;
    PrefixIdentity identity;
    std::vector<int32_t> rows;
    int done = 0;
    Time due() const;  // of those who wait for it
    std::unique_ptr<LmSequence> lm;
    std::vector<Sequence*> waiting;
  };
  // A build or a sequence that has rows left.
  struct Work {
    Build* build = nullptr;
    Sequence* sequence = nullptr;
    Time due{};
    LmSequence* lm = nullptr;
    const int32_t* rows = nullptr;
    int left = 0, share = 0;
    std::optional<Failure> failure = {};
  };

  void collect();
  int divide(int budget);
  void compute();
  void settle(Work& work);
  void finish_build(Build& build);
  void drop_build(const Build& build);
  void start_prompt(Sequence& sequence, std::shared_ptr<const LmPrefix> prefix);

  LanguageModel& lm_;
  VoiceCache& cache_;
  StatsBook& book_;
  const int slice_rows_;
  const int row_width_;
  std::vector<std::unique_ptr<Build>> builds_;
  std::vector<Sequence*> prompts_;
  std::vector<Work> work_;  // scratch of advance(), the most urgent first
  std::vector<PrefillItem> items_;
};

}  // namespace sonant
