// Samples as 16-bit integers, one by one and as an engine's chunks.
#include "engine/pcm16.h"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "test/check.h"
#include "test/engine_harness.h"

namespace sonant::test {

namespace {

// The rule as it is written down, step by step.
int16_t expected(float sample) {
  if (std::isnan(sample)) return 0;
  if (sample >= 1) return 32767;
  if (sample <= -1) return -32768;
  return static_cast<int16_t>(static_cast<int64_t>(std::floor(static_cast<double>(sample) * 2147483647.0 + 0.5)) >> 16);
}

void check_all(const std::vector<float>& samples) {
  const std::vector<int16_t> integers = to_pcm16(samples);
  CHECK_EQUAL(integers.size(), samples.size());
  for (size_t i = 0; i < samples.size(); ++i) CHECK_EQUAL(integers[i], expected(samples[i]));
}

}  // namespace

TEST(pcm16_clips_and_rounds_down) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> samples = {0, -0.0f, 1, -1, 2, -2, 0.5f, -0.5f, Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(), -1e-9f, 1e-9f};
  const std::vector<int16_t> wanted = {0, 0, 32767, -32768, 32767, -32768, 16384, -16384, 32767, -32768, 0, -1, 0};
  CHECK(to_pcm16(samples) == wanted);
  CHECK(to_pcm16({}).empty());
}

TEST(pcm16_keeps_to_the_rule_at_every_edge) {
  using Limits = std::numeric_limits<float>;
  std::vector<float> samples = {Limits::denorm_min(), Limits::min(), Limits::epsilon(), Limits::max(), Limits::quiet_NaN(), Limits::signaling_NaN()};
  // Each step of the integers, and the floats on both sides of it.
  for (int step = -32769; step <= 32769; ++step) {
    const float edge = static_cast<float>(step) / 32768;
    samples.insert(samples.end(), {std::nextafter(edge, -3.0f), edge, std::nextafter(edge, 3.0f)});
  }
  const size_t count = samples.size();
  for (size_t i = 0; i < count; ++i) samples.push_back(-samples[i]);
  check_all(samples);
}

TEST(pcm16_keeps_to_the_rule_for_any_bits) {
  std::mt19937 random(7);
  std::uniform_real_distribution<float> usual(-1.1f, 1.1f);
  std::vector<float> samples;
  for (int i = 0; i < 100'000; ++i) {
    samples.push_back(usual(random));
    samples.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  }
  check_all(samples);
}

TEST(pcm16_of_any_length) {
  std::vector<float> samples;
  for (int n = 0; n < 40; ++n) {
    check_all(samples);
    samples.push_back(static_cast<float>(n - 20) / 19);
  }
}

TEST(mono_is_the_mean_of_all_channels) {
  CHECK((to_mono(std::vector<float>{1, 0, -1, 1, 0.5f, 0.25f}, 2) == std::vector<float>{0.5f, 0, 0.375f}));
  CHECK((to_mono(std::vector<float>{3, 0, 0, 1, 2, 3}, 3) == std::vector<float>{1, 2}));
  CHECK((to_mono(std::vector<float>{0.5f, -1}, 1) == std::vector<float>{0.5f, -1}));
  CHECK(to_mono({}, 2).empty());
}

TEST(engine_gives_chunks_as_integers_instead_of_floats) {
  for (const bool beside : {false, true}) {
    const auto state = std::make_shared<FakeState>();
    state->beside = beside;
    Rig rig({}, state);
    for (const int channels : {1, 2}) {
      for (const int frames : {1, 4}) {
        GenerateRequest plain = request(3, 10, 4);
        plain.channels = channels;
        plain.chunks = {.first_frames = frames, .growth = 1, .max_frames = frames};
        GenerateRequest asked = plain;
        asked.pcm16 = true;
        const Heard without = rig.run(plain), with = rig.run(asked);
        CHECK(without.pcm16.empty());
        CHECK(with.pcm.empty());
        CHECK_EQUAL(with.pcm16.size(), 10u * 80 * static_cast<size_t>(channels));
        CHECK(with.pcm16 == to_pcm16(without.pcm));
      }
    }
  }
}

TEST(engine_gives_no_integers_where_it_makes_no_audio) {
  Rig rig;
  GenerateRequest silent = request(2, 5);
  silent.want_audio = false;
  silent.pcm16 = true;
  const Heard heard = rig.run(silent);
  CHECK_EQUAL(heard.frames, 5);
  CHECK(heard.pcm16.empty());
}

}  // namespace sonant::test
