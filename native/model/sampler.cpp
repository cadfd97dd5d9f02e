// Sampling of one head. Scores are fp32, as the original computes them; probabilities are
// accumulated in fp64, so that their order of summation cannot move a draw.
#include "model/sampler.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

#include "model/error.h"

namespace sonant {
namespace {

using Candidates = std::vector<std::pair<float, int>>;

bool before(const std::pair<float, int>& a, const std::pair<float, int>& b) {
  return a.first != b.first ? a.first > b.first : a.second < b.second;
}

[[noreturn]] void refuse(const std::string& field, const std::string& allowed) {
  throw Error("bad_request", field + " must be " + allowed + ".");
}

void check_range(const char* field, float value, float low, float high, const char* allowed) {
  if (!(value >= low && value <= high)) refuse(field, allowed);
}

float penalised(float logit, float penalty) { return logit < 0 ? logit * penalty : logit / penalty; }

[[noreturn]] void not_finite() {
  throw Error("engine_failed", "The model produced a score that is not a finite number.");
}

// Keeps the candidates whose score reaches the k-th largest; returns that score.
float prune(Candidates& candidates, size_t k) {
  std::nth_element(candidates.begin(), candidates.begin() + static_cast<std::ptrdiff_t>(k - 1), candidates.end(), before);
  const float threshold = candidates[k - 1].first;
  candidates.erase(std::remove_if(candidates.begin(), candidates.end(), [threshold](const auto& c) { return c.first < threshold; }),
                   candidates.end());
  return threshold;
}

// Scores after penalty and temperature. Plain loops over all entries, which become vector code;
// the penalty then visits only the codes of the history.
void score(const float* logits, int n, const CodeHistory& history, float penalty, float temperature, std::vector<float>& scores) {
  if (n < 1) throw Error("engine_failed", "There is nothing to sample from.");
  scores.resize(static_cast<size_t>(n));
  float* out = scores.data();
  for (int id = 0; id < n; ++id) out[id] = logits[id] / temperature;
  history.each([&](int id) {
    if (id < n) out[id] = penalised(logits[id], penalty) / temperature;
  });
  constexpr uint32_t kExponent = 0x7f800000u;
  uint32_t bad = 0;
  for (int id = 0; id < n; ++id) bad |= static_cast<uint32_t>((std::bit_cast<uint32_t>(out[id]) & kExponent) == kExponent);
  if (bad != 0) not_finite();
}

// Fills `candidates` with the scores that survive top-k (ties at the threshold all do). One
// pass: most entries fail against a running threshold, which only rises, and the buffer is
// pruned whenever it has doubled.
void gather(const std::vector<float>& scores, int top_k, Candidates& candidates) {
  candidates.clear();
  candidates.reserve(scores.size());
  const auto k = static_cast<size_t>(top_k);
  const bool limited = top_k > 0 && k < scores.size();
  float threshold = -INFINITY;
  size_t prune_at = limited ? std::max<size_t>(2 * k, 32) : scores.size() + 1;
  for (size_t id = 0; id < scores.size(); ++id) {
    if (scores[id] < threshold) continue;
    candidates.emplace_back(scores[id], static_cast<int>(id));
    if (candidates.size() >= prune_at) {
      threshold = prune(candidates, k);
      prune_at = std::max(prune_at, 2 * candidates.size());
    }
  }
  if (limited) prune(candidates, k);
}

// Walks the candidates in order without sorting more of them than are looked at.
class Descending {
 public:
  explicit Descending(Candidates& candidates) : candidates_(candidates) {}

  const std::pair<float, int>& operator[](size_t i) {
    if (i >= sorted_) extend();
    return candidates_[i];
  }

 private:
  void extend() {
    const size_t end = std::min(candidates_.size(), std::max<size_t>(2 * sorted_, 64));
    const auto first = candidates_.begin() + static_cast<std::ptrdiff_t>(sorted_);
    const auto last = candidates_.begin() + static_cast<std::ptrdiff_t>(end);
    if (last != candidates_.end()) std::nth_element(first, last, candidates_.end(), before);
    std::sort(first, last, before);
    sorted_ = end;
  }

  Candidates& candidates_;
  size_t sorted_ = 0;
};

double weight(float score, float top) { return std::exp(static_cast<double>(score) - static_cast<double>(top)); }

// What top-p leaves: the first `count` candidates, with the sum of their weights.
struct Nucleus {
  size_t count = 0;
  double mass = 0;
};

Nucleus nucleus(const Candidates& candidates, Descending& ordered, float top_p) {
  const size_t n = candidates.size();
  float top = candidates[0].first;
  for (const auto& candidate : candidates) top = std::max(top, candidate.first);
  double total = 0;
  for (const auto& candidate : candidates) total += weight(candidate.first, top);
  Nucleus kept;
  if (!(top_p > 0 && top_p < 1)) {
    kept.count = n;
    kept.mass = total;
    return kept;
  }
  // Entry j goes when the probability before it exceeds p; the first always stays.
  const double limit = static_cast<double>(top_p) * total;
  while (kept.count < n && (kept.count == 0 || kept.mass <= limit)) {
    kept.mass += weight(ordered[kept.count].first, top);
    ++kept.count;
  }
  return kept;
}

int arg_max(const std::vector<float>& scores) {
  return static_cast<int>(std::max_element(scores.begin(), scores.end()) - scores.begin());
}

}  // namespace

void validate(const SamplingParams& params, int n_vq) {
  constexpr float kLow = 0.01f, kHigh = 100.0f;
  check_range("text_temperature", params.text_temperature, kLow, kHigh, "from 0.01 to 100");
  check_range("audio_temperature", params.audio_temperature, kLow, kHigh, "from 0.01 to 100");
  check_range("text_top_p", params.text_top_p, 0.0f, 1.0f, "from 0 to 1 (0 or 1: off)");
  check_range("audio_top_p", params.audio_top_p, 0.0f, 1.0f, "from 0 to 1 (0 or 1: off)");
  if (params.text_top_k < 0) refuse("text_top_k", "at least 0 (0: off)");
  if (params.audio_top_k < 0) refuse("audio_top_k", "at least 0 (0: off)");
  check_range("repetition_penalty", params.repetition_penalty, kLow, kHigh, "from 0.01 to 100");
  if (params.n_vq < 0 || params.n_vq > n_vq) refuse("n_vq", "from 1 to " + std::to_string(n_vq) + ", or 0 for all");
}

float philox_uniform(uint64_t seed, uint32_t frame, uint32_t head, uint32_t segment) {
  const auto block = philox4x32({frame, head, segment, 0}, {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)});
  return static_cast<float>(block[0] >> 8) * 0x1p-24f;
}

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xd2511f53ull * counter[0];
    const uint64_t b = 0xcd9e8d57ull * counter[2];
    counter = {static_cast<uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(b),
               static_cast<uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(a)};
    key[0] += 0x9e3779b9u;
    key[1] += 0xbb67ae85u;
  }
  return counter;
}

int sample_audio(const float* logits, int n, const CodeHistory& history, const SamplingParams& params, float u, SamplerScratch& scratch) {
  score(logits, n, history, params.repetition_penalty, params.do_sample ? params.audio_temperature : 1.0f, scratch.scores);
  if (!params.do_sample) return arg_max(scratch.scores);
  Candidates& candidates = scratch.candidates;
  gather(scratch.scores, params.audio_top_k, candidates);
  Descending ordered(candidates);
  const Nucleus kept = nucleus(candidates, ordered, params.audio_top_p);
  const float top = ordered[0].first;
  const double target = static_cast<double>(u) * kept.mass;
  double cumulative = 0;
  for (size_t i = 0; i + 1 < kept.count; ++i) {
    cumulative += weight(ordered[i].first, top);
    if (cumulative > target) return ordered[i].second;
  }
  return ordered[kept.count - 1].second;
}

bool sample_continue(float continue_logit, float stop_logit, const SamplingParams& params, float u) {
  if (!std::isfinite(continue_logit) || !std::isfinite(stop_logit)) not_finite();
  if (!params.do_sample) return continue_logit >= stop_logit;
  const float go = continue_logit / params.text_temperature, stop = stop_logit / params.text_temperature;
  if (!std::isfinite(go) || !std::isfinite(stop)) not_finite();
  const double p = 1.0 / (1.0 + std::exp(static_cast<double>(stop) - static_cast<double>(go)));
  // Of two candidates, top-k 1 and top-p below the better one's probability both leave one
  // (or, for top-k, both when they are equal).
  const bool only_best = (params.text_top_k == 1 && go != stop) ||
                         (params.text_top_p > 0 && params.text_top_p < 1 && std::max(p, 1.0 - p) > params.text_top_p);
  if (only_best) return go >= stop;
  return static_cast<double>(u) < p;
}

std::vector<float> audio_probabilities(const float* logits, int n, const CodeHistory& history, const SamplingParams& params) {
  SamplerScratch scratch;
  score(logits, n, history, params.repetition_penalty, params.do_sample ? params.audio_temperature : 1.0f, scratch.scores);
  std::vector<float> result(scratch.scores.size(), 0.0f);
  if (!params.do_sample) {
    result[static_cast<size_t>(arg_max(scratch.scores))] = 1.0f;
    return result;
  }
  gather(scratch.scores, params.audio_top_k, scratch.candidates);
  Descending ordered(scratch.candidates);
  const Nucleus kept = nucleus(scratch.candidates, ordered, params.audio_top_p);
  const float top = ordered[0].first;
  for (size_t i = 0; i < kept.count; ++i) {
    result[static_cast<size_t>(ordered[i].second)] = static_cast<float>(weight(ordered[i].first, top) / kept.mass);
  }
  return result;
}

}  // namespace sonant
