#include "engine/prefill.h"

#include <algorithm>
#include <utility>

namespace sonant {

Prefill::Prefill(LanguageModel& lm, VoiceCache& cache, StatsBook& book, int slice_rows)
    : lm_(lm), cache_(cache), book_(book), slice_rows_(slice_rows),
      row_width_(lm.config().row_width()) {}

void Prefill::admit(Sequence& sequence) {
  GenerateRequest& request = sequence.request;
  if (request.prefix_key.empty()) return start_prompt(sequence, nullptr);
  if (auto prefix = cache_.find(request.prefix_key, sequence.prefix)) {
    book_.update([](EngineStats& stats) { ++stats.voice_cache_hits; });
    sequence.stats.cached_rows = prefix->rows();
    return start_prompt(sequence, std::move(prefix));
  }
  for (const auto& build : builds_) {
    if (build->key != request.prefix_key) continue;
    require_same_prefix(build->key, build->identity, sequence.prefix);
    book_.update([](EngineStats& stats) { ++stats.voice_cache_hits; });
    request.prefix_rows = {};
    sequence.phase = Phase::kPrefix;
    build->waiting.push_back(&sequence);
    return;
  }
  auto build = std::make_unique<Build>();
  build->lm = lm_.create_sequence(nullptr, sequence.prefix.rows);
  build->key = request.prefix_key;
  build->identity = sequence.prefix;
  build->rows = std::exchange(request.prefix_rows, {});
  build->waiting.push_back(&sequence);
  builds_.push_back(std::move(build));
  sequence.phase = Phase::kPrefix;
  book_.update([](EngineStats& stats) { ++stats.voice_cache_misses; });
}

void Prefill::leave(Sequence& sequence) {
  std::erase(prompts_, &sequence);
  for (const auto& build : builds_) std::erase(build->waiting, &sequence);
  std::erase_if(builds_, [](const auto& build) { return build->waiting.empty(); });
}

Time Prefill::Build::due() const {
  Time first = Time::max();
  for (const Sequence* sequence : waiting) first = std::min(first, sequence->lead.due());
  return first;
}

Time Prefill::due() const {
  Time first = Time::max();
  for (const auto& build : builds_) first = std::min(first, build->due());
  for (const Sequence* sequence : prompts_) first = std::min(first, sequence->lead.due());
  return first;
}

void Prefill::start_prompt(Sequence& sequence, std::shared_ptr<const LmPrefix> prefix) {
  const int own = static_cast<int>(sequence.prompt.size()) / row_width_;
  const int before = prefix ? prefix->rows() : 0;
  sequence.request.prefix_rows = {};
  sequence.lm = lm_.create_sequence(std::move(prefix), before + own + sequence.request.max_frames);
  sequence.phase = Phase::kPrompt;
  prompts_.push_back(&sequence);
}

void Prefill::advance() {
  // Rows freed by whatever completes go to what it made possible: a prefix that becomes ready
  // in this slice lets its sequences begin their text in the same tick.
  for (int budget = slice_rows_; budget > 0;) {
    collect();
    if (work_.empty()) return;
    budget -= divide(budget);
    compute();
    for (Work& work : work_) settle(work);
  }
}

void Prefill::collect() {
  work_.clear();
  for (const auto& build : builds_) {
    work_.push_back({.build = build.get(),
                     .due = build->due(),
                     .lm = build->lm.get(),
                     .rows = build->rows.data() + static_cast<size_t>(build->done) * row_width_,
                     .left = build->identity.rows - build->done});
  }
  for (Sequence* sequence : prompts_) {
    const size_t done = static_cast<size_t>(sequence->prompt_done) * row_width_;
    work_.push_back({.sequence = sequence,
                     .due = sequence->lead.due(),
                     .lm = sequence->lm.get(),
                     .rows = sequence->prompt.data() + done,
                     .left = static_cast<int>((sequence->prompt.size() - done) / row_width_)});
  }
  std::sort(work_.begin(), work_.end(), [](const Work& a, const Work& b) { return a.due < b.due; });
}

// Half of the slice belongs to the most urgent, so that a long prompt always gets on; the other half
// goes to the shortest ones, which are the nearest to their first frame. Returns the rows given.
int Prefill::divide(int budget) {
  auto give = [&, left = budget](Work& work, int limit) mutable {
    const int rows = std::min({work.left - work.share, limit, left});
    work.share += rows;
    left -= rows;
    return left;
  };
  int left = give(work_.front(), (budget + 1) / 2);
  std::vector<Work*> others;
  for (size_t i = 1; i < work_.size(); ++i) others.push_back(&work_[i]);
  std::stable_sort(others.begin(), others.end(),
                   [](const Work* a, const Work* b) { return a->left < b->left; });
  for (Work* work : others) left = give(*work, budget);
  left = give(work_.front(), budget);
  return budget - left;
}

void Prefill::compute() {
  items_.clear();
  std::erase_if(work_, [](const Work& work) { return work.share == 0; });
  std::vector<int> rows_before;
  for (const Work& work : work_) {
    items_.push_back({.sequence = work.lm, .rows = work.rows, .n_rows = work.share});
    rows_before.push_back(work.lm->rows());
  }
  const Time from = Clock::now();
  attempt_batch(
      std::span(items_), [&](std::span<PrefillItem> items) { lm_.prefill(items); },
      [&](size_t i, const Failure&) { return work_[i].lm->rows() == rows_before[i]; },
      [&](size_t i, const Failure& failure) { work_[i].failure = failure; });
  const Time to = Clock::now();

  uint64_t rows = 0;
  for (const Work& work : work_) {
    rows += static_cast<uint64_t>(work.share);
    if (work.sequence) work.sequence->charge_prefill(from, to);
    if (work.build) {
      for (Sequence* sequence : work.build->waiting) sequence->charge_prefill(from, to);
    }
  }
  book_.update([&](EngineStats& stats) { stats.prefill_rows += rows; });
}

void Prefill::settle(Work& work) {
  if (Sequence* sequence = work.sequence) {
    sequence->prompt_done += work.share;
    if (work.failure) {
      sequence->failure = work.failure;
    } else if (work.share < work.left) {
      return;
    } else {
      sequence->phase = Phase::kSpeaking;
      sequence->prompt = {};
    }
    std::erase(prompts_, sequence);
    return;
  }
  Build& build = *work.build;
  build.done += work.share;
  if (!work.failure && work.share < work.left) return;
  if (!work.failure) work.failure = attempt([&] { finish_build(build); });
  if (work.failure) {
    for (Sequence* sequence : build.waiting) sequence->failure = work.failure;
  }
  drop_build(build);
}

void Prefill::finish_build(Build& build) {
  const std::shared_ptr<const LmPrefix> prefix = lm_.freeze(*build.lm);
  build.lm.reset();
  cache_.insert(build.key, build.identity, prefix);
  // The first in line stands for the computation, whoever started it; the others got it for free.
  bool first = true;
  for (Sequence* sequence : std::exchange(build.waiting, {})) {
    if (!std::exchange(first, false)) sequence->stats.cached_rows = prefix->rows();
    sequence->failure = attempt([&] { start_prompt(*sequence, prefix); });
  }
}

void Prefill::drop_build(const Build& build) {
  std::erase_if(builds_, [&](const auto& other) { return other.get() == &build; });
}

}  // namespace sonant
