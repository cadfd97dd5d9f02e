// Sampling: the generator's known answers, the original's distributions, order and ties.
#include "model/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "model/json.h"
#include "test/check.h"

using namespace sonant;

namespace {

SamplingParams plain() {
  SamplingParams p;
  p.audio_temperature = 1.0f;
  p.audio_top_k = 0;
  p.audio_top_p = 1.0f;
  p.repetition_penalty = 1.0f;
  return p;
}

std::vector<float> numbers(const Json& list) {
  std::vector<float> out;
  for (const Json& value : list.as_array()) out.push_back(static_cast<float>(value.as_number()));
  return out;
}

int draw(const std::vector<float>& logits, const SamplingParams& p, float u) {
  SamplerScratch scratch;
  return sample_audio(logits.data(), static_cast<int>(logits.size()), CodeHistory(static_cast<int>(logits.size())), p, u, scratch);
}

std::vector<float> distribution(const std::vector<float>& logits, const SamplingParams& p) {
  return audio_probabilities(logits.data(), static_cast<int>(logits.size()), CodeHistory(static_cast<int>(logits.size())), p);
}

// The definition, written plainly: everything sorted, nothing selected early.
std::vector<double> reference(const std::vector<float>& logits, const SamplingParams& p, std::vector<int>& order) {
  const size_t n = logits.size();
  std::vector<float> score(n);
  for (size_t i = 0; i < n; ++i) score[i] = logits[i] / p.audio_temperature;
  order.resize(n);
  for (size_t i = 0; i < n; ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return score[static_cast<size_t>(a)] > score[static_cast<size_t>(b)]; });
  const auto at = [&](size_t rank) { return score[static_cast<size_t>(order[rank])]; };
  size_t kept = n;
  if (p.audio_top_k > 0 && static_cast<size_t>(p.audio_top_k) < n) {
    kept = static_cast<size_t>(p.audio_top_k);
    while (kept < n && at(kept) == at(static_cast<size_t>(p.audio_top_k) - 1)) ++kept;
  }
  std::vector<double> weight(kept);
  double total = 0;
  for (size_t i = 0; i < kept; ++i) total += weight[i] = std::exp(static_cast<double>(at(i)) - at(0));
  double mass = 0;
  size_t nucleus = 0;
  while (nucleus < kept && (nucleus == 0 || !(p.audio_top_p < 1) || mass <= p.audio_top_p * total)) mass += weight[nucleus++];
  weight.resize(nucleus);
  for (double& w : weight) w /= mass;
  return weight;
}

}  // namespace

TEST(sampler_philox_known_answers) {
  using Block = std::array<uint32_t, 4>;
  const uint32_t ones = 0xffffffff;
  CHECK(philox4x32({0, 0, 0, 0}, {0, 0}) == (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  CHECK(philox4x32({ones, ones, ones, ones}, {ones, ones}) == (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  CHECK(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) == (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(sampler_philox_uniform) {
  CHECK_EQUAL(philox_uniform(0, 0, 0, 0), static_cast<float>(0x6627e8) * 0x1p-24f);
  const auto block = philox4x32({5, 16, 2, 0}, {0x89abcdef, 0x01234567});
  CHECK_EQUAL(philox_uniform(0x0123456789abcdefull, 5, 16, 2), static_cast<float>(block[0] >> 8) * 0x1p-24f);
  double sum = 0;
  for (uint32_t frame = 0; frame < 4096; ++frame) {
    const float u = philox_uniform(42, frame, frame % 17, 0);
    CHECK(u >= 0 && u < 1);
    sum += u;
  }
  CHECK_NEAR(sum / 4096, 0.5, 0.02);
}

TEST(sampler_matches_original_probabilities) {
  const Json cases = Json::parse_file(test::fixture("sampling.json"));
  CHECK(cases.as_array().size() >= 24);
  for (const Json& entry : cases.as_array()) {
    const std::vector<float> logits = numbers(*entry.find("logits")), expected = numbers(*entry.find("probs"));
    const int n = static_cast<int>(logits.size());
    SamplingParams p;
    p.audio_temperature = static_cast<float>(entry.find("temperature")->as_number());
    p.audio_top_k = static_cast<int>(entry.find("top_k")->as_integer());
    p.audio_top_p = static_cast<float>(entry.find("top_p")->as_number());
    p.repetition_penalty = static_cast<float>(entry.find("repetition_penalty")->as_number());
    CodeHistory history(n);
    for (const Json& code : entry.find("previous")->as_array()) history.add(static_cast<int>(code.as_integer()));
    const std::vector<float> got = audio_probabilities(logits.data(), n, history, p);
    for (size_t i = 0; i < got.size(); ++i) {
      CHECK_NEAR(got[i], expected[i], 1e-5);
      CHECK((got[i] > 0) == (expected[i] > 0));
    }
  }
}

TEST(sampler_agrees_with_plain_definition) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal(0, 2);
  for (int round = 0; round < 300; ++round) {
    const size_t n = round % 3 == 0 ? 1024 : 1 + random() % 200;
    std::vector<float> logits(n);
    for (float& x : logits) x = round % 2 ? normal(random) : std::round(normal(random));  // every other one full of ties
    SamplingParams p = plain();
    p.audio_temperature = 0.5f + static_cast<float>(random() % 10) / 5.0f;
    p.audio_top_k = std::array{0, 1, 5, 25, 300, 5000}[random() % 6];
    p.audio_top_p = std::array{1.0f, 0.95f, 0.5f, 0.01f}[random() % 4];
    std::vector<int> order;
    const std::vector<double> weights = reference(logits, p, order);
    for (const float u : {0.0f, 0.1f, 0.5f, 0.9f, 0.999f, 1.0f - 0x1p-24f}) {
      double cumulative = 0;
      size_t rank = 0;
      while (rank + 1 < weights.size() && (cumulative += weights[rank]) <= u) ++rank;
      CHECK_EQUAL(draw(logits, p, u), order[rank]);
    }
    const std::vector<float> got = distribution(logits, p);
    for (size_t i = 0; i < n; ++i) {
      const auto id = static_cast<size_t>(order[i]);
      CHECK_NEAR(got[id], i < weights.size() ? weights[i] : 0.0, 1e-6);
    }
  }
}

TEST(sampler_orders_ties_by_id) {
  const std::vector<float> logits{1, 2, 2, 0};
  SamplingParams p = plain();
  CHECK_EQUAL(draw(logits, p, 0.0f), 1);
  p.audio_top_k = 1;  // both at the threshold survive
  CHECK_EQUAL(draw(logits, p, 0.49f), 1);
  CHECK_EQUAL(draw(logits, p, 0.5f), 2);
  CHECK_EQUAL(distribution(logits, p)[0], 0.0f);
  CHECK_EQUAL(distribution(logits, p)[2], 0.5f);
  p.audio_top_p = 0.3f;  // the first always stays, the second leaves
  CHECK_EQUAL(draw(logits, p, 0.99f), 1);
  p.do_sample = false;
  CHECK_EQUAL(draw(logits, p, 0.99f), 1);
}

TEST(sampler_penalty_uses_sign_and_history) {
  const std::vector<float> logits{2.0f, 1.9f, -1.0f};
  SamplingParams p = plain();
  p.do_sample = false;
  p.repetition_penalty = 1.5f;
  CodeHistory history(3);
  SamplerScratch scratch;
  CHECK_EQUAL(sample_audio(logits.data(), 3, history, p, 0, scratch), 0);
  history.add(0);
  CHECK_EQUAL(sample_audio(logits.data(), 3, history, p, 0, scratch), 1);
  history.clear();
  history.add(2);
  p.do_sample = true;
  const std::vector<float> probabilities = audio_probabilities(logits.data(), 3, history, p);
  CHECK_NEAR(std::log(probabilities[0] / probabilities[2]), 2.0 + 1.5, 1e-5);
}

TEST(sampler_text_decision) {
  SamplingParams p;
  CHECK(sample_continue(1.0f, 1.0f, p, 0.49f));
  CHECK(!sample_continue(1.0f, 1.0f, p, 0.5f));
  const double chance = 1 / (1 + std::exp(-2.0));
  CHECK(sample_continue(2.0f, 0.0f, p, static_cast<float>(chance - 1e-4)));
  CHECK(!sample_continue(2.0f, 0.0f, p, static_cast<float>(chance + 1e-4)));
  p.text_temperature = 2.0f;
  CHECK(!sample_continue(2.0f, 0.0f, p, 0.75f));
  p.text_top_k = 1;
  CHECK(sample_continue(2.0f, 0.0f, p, 0.999f));
  CHECK(!sample_continue(0.0f, 2.0f, p, 0.0f));
  p.text_top_k = 50;
  p.text_top_p = 0.6f;
  CHECK(sample_continue(2.0f, 0.0f, p, 0.999f));
  CHECK(!sample_continue(0.1f, 0.0f, p, 0.999f));
  p.do_sample = false;
  CHECK(sample_continue(1.0f, 1.0f, p, 0.999f));
  CHECK(!sample_continue(1.0f, 1.1f, p, 0.0f));
  CHECK_THROWS_CODE(sample_continue(NAN, 0, p, 0), "engine_failed");
  CHECK_THROWS_CODE(sample_continue(0, INFINITY, p, 0), "engine_failed");
}

TEST(sampler_refuses_scores_that_are_not_finite) {
  for (const float bad : {NAN, INFINITY, -INFINITY}) {
    const std::vector<float> logits{0, bad, 1};
    SamplingParams p;
    CHECK_THROWS_CODE(draw(logits, p, 0.5f), "engine_failed");
    p.do_sample = false;
    CHECK_THROWS_CODE(draw(logits, p, 0.5f), "engine_failed");
    CHECK_THROWS_CODE(distribution(logits, p), "engine_failed");
  }
  CHECK_THROWS_CODE(distribution({}, plain()), "engine_failed");
}

TEST(sampler_does_not_allocate_after_the_first_call) {
  std::vector<float> logits(1024, 1.0f);
  SamplingParams p;
  SamplerScratch scratch;
  const CodeHistory history(1024);
  sample_audio(logits.data(), 1024, history, p, 0.5f, scratch);
  const auto* data = scratch.candidates.data();
  p.audio_top_k = 0;
  CHECK_EQUAL(sample_audio(logits.data(), 1024, history, p, 0.5f, scratch), 486);
  CHECK(scratch.candidates.data() == data);
}

TEST(sampler_validates_parameters) {
  const auto refused = [](auto change, const char* field) {
    SamplingParams p;
    change(p);
    CHECK_THROWS_SAYING(validate(p, 16), "bad_request", field);
  };
  validate(SamplingParams{}, 16);
  refused([](auto& p) { p.audio_temperature = 0; }, "audio_temperature");
  refused([](auto& p) { p.audio_temperature = NAN; }, "audio_temperature");
  refused([](auto& p) { p.text_temperature = -1; }, "text_temperature");
  refused([](auto& p) { p.text_temperature = INFINITY; }, "text_temperature");
  refused([](auto& p) { p.audio_top_p = 1.01f; }, "audio_top_p");
  refused([](auto& p) { p.text_top_p = -0.1f; }, "text_top_p");
  refused([](auto& p) { p.audio_top_k = -1; }, "audio_top_k");
  refused([](auto& p) { p.text_top_k = -1; }, "text_top_k");
  refused([](auto& p) { p.repetition_penalty = 0; }, "repetition_penalty");
  refused([](auto& p) { p.n_vq = 17; }, "n_vq");
  refused([](auto& p) { p.n_vq = -1; }, "n_vq");
}
