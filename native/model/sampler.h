// Sampling of one head: repetition penalty, temperature, top-k, top-p, and one draw from a
// counter-based generator. Stateless: the same inputs give the same choice on any thread, in
// any batch. Model specification, section 5.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace sonant {

struct SamplingParams {
  bool do_sample = true;  // false: arg max after the penalty
  float text_temperature = 1.0f;
  float text_top_p = 1.0f;
  int text_top_k = 50;
  float audio_temperature = 0.8f;
  float audio_top_p = 0.95f;
  int audio_top_k = 25;  // 0: off
  float repetition_penalty = 1.2f;
  uint64_t seed = 0;
  uint32_t segment = 0;  // index of the text segment inside its session
  int n_vq = 0;          // codebooks to draw; 0 means all
};

// Throws Error("bad_request") naming the field and its allowed range.
void validate(const SamplingParams& params, int n_vq);

// The Philox4x32-10 block function.
std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// Philox4x32-10 with key = seed and counter = (frame, head, segment, 0); returns
// (first word >> 8) * 2^-24, uniform in [0, 1).
float philox_uniform(uint64_t seed, uint32_t frame, uint32_t head, uint32_t segment);

// Set of the codes already drawn from one codebook; cheap to test and to clear.
class CodeHistory {
 public:
  explicit CodeHistory(int codebook_size) : seen_((codebook_size + 63) / 64, 0) {}
  void add(int code) { seen_[code >> 6] |= 1ull << (code & 63); }
  bool has(int code) const { return (seen_[code >> 6] >> (code & 63)) & 1; }
  void clear() { seen_.assign(seen_.size(), 0); }
  // Calls visit(code) for each code of the set, in order.
  template <typename Visit>
  void each(Visit visit) const {
    for (size_t word = 0; word < seen_.size(); ++word) {
      for (uint64_t bits = seen_[word]; bits != 0; bits &= bits - 1) visit(static_cast<int>(word * 64) + std::countr_zero(bits));
    }
  }

 private:
  std::vector<uint64_t> seen_;
};

// Scratch reused between calls so that the frame loop does not allocate.
struct SamplerScratch {
  std::vector<float> scores;
  std::vector<std::pair<float, int>> candidates;
};

// Draws one code. `logits` [n] is not changed; `u` in [0, 1) decides. Candidates are ordered by
// score descending, then id ascending; the first whose cumulative probability exceeds u wins.
// Non-finite logits throw Error("engine_failed").
int sample_audio(const float* logits, int n, const CodeHistory& history,
                 const SamplingParams& params, float u, SamplerScratch& scratch);

// The text decision over the two candidate ids: true to produce a frame, false to stop.
bool sample_continue(float continue_logit, float stop_logit, const SamplingParams& params, float u);

// The distribution that sample_audio draws from, in id order, zeros included (parity tests).
std::vector<float> audio_probabilities(const float* logits, int n, const CodeHistory& history,
                                       const SamplingParams& params);

}  // namespace sonant
