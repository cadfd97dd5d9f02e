// The CPU kernels against plain loops in double precision, for every instruction set this machine has,
// and against each other.
#include <atomic>
#include <chrono>
#include <random>
#include <thread>
#include <vector>

#include "backend/cpu/kernels.h"
#include "backend/cpu/linear.h"
#include "backend/cpu/transformer.h"
#include "test/check.h"

namespace {

using namespace sonant;
using namespace sonant::cpu;

std::vector<const Kernels*> available() {
  std::vector<const Kernels*> out;
  for (const char* name : {"avx512", "avx2", "neon", "generic"}) {
    try {
      out.push_back(&select_kernels(name));
    } catch (const Error& error) {
      CHECK(error.code() == "unsupported");
    }
  }
  CHECK(!out.empty());
  return out;
}

std::vector<float> random_values(size_t n, uint32_t seed, float scale = 1.0f) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0f, scale);
  std::vector<float> out(n);
  for (float& x : out) x = normal(random);
  return out;
}

// y [m][n] of a matrix at one precision, through the same path as the models.
std::vector<float> multiply(const Kernels& kernels, const std::vector<float>& w, const std::vector<float>& a, int m, int n, int k, Precision precision) {
  const Linear linear(kernels, w.data(), n, k, precision);
  ActivationBuffer in;
  in.reserve(m, k);
  for (int i = 0; i < m; i++) {
    std::copy_n(a.begin() + static_cast<size_t>(i) * k, k, in.row(i));
    in.quantise(kernels, i);
  }
  std::vector<float> padded(static_cast<size_t>(m) * linear.padded_n()), out(static_cast<size_t>(m) * n);
  linear.apply(in.view(), m, 0, linear.panels(), padded.data(), linear.padded_n());
  for (int i = 0; i < m; i++) std::copy_n(padded.begin() + static_cast<size_t>(i) * linear.padded_n(), n, out.begin() + static_cast<size_t>(i) * n);
  return out;
}

}  // namespace

TEST(kernels_multiply_like_plain_loops) {
  struct Shape {
    int m, n, k;
  };
  for (const Kernels* kernels : available()) {
    for (const Shape s : {Shape{1, 48, 64}, {2, 240, 256}, {3, 40, 30}, {7, 128, 192}, {13, 17, 129}, {33, 96, 64}}) {
      const std::vector<float> w = random_values(static_cast<size_t>(s.n) * s.k, 1), a = random_values(static_cast<size_t>(s.m) * s.k, 2);
      for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kInt8}) {
        const std::vector<float> got = multiply(*kernels, w, a, s.m, s.n, s.k, precision);
        double worst = 0;
        for (int i = 0; i < s.m; i++)
          for (int j = 0; j < s.n; j++) {
            double want = 0;
            for (int c = 0; c < s.k; c++) want += static_cast<double>(a[static_cast<size_t>(i) * s.k + c]) * w[static_cast<size_t>(j) * s.k + c];
            worst = std::max(worst, std::fabs(want - got[static_cast<size_t>(i) * s.n + j]) / std::sqrt(s.k));
          }
        // One rounding of a weight is 2^-9 in bf16; int8 steps are about 3.5 / 127 on both sides.
        CHECK(worst < (precision == Precision::kFp32 ? 2e-6 : precision == Precision::kBf16 ? 8e-3 : 6e-2));
      }
    }
  }
}

TEST(kernels_rows_do_not_depend_on_the_batch) {
  const int m = 19, n = 80, k = 192;
  const std::vector<float> w = random_values(static_cast<size_t>(n) * k, 3), a = random_values(static_cast<size_t>(m) * k, 4);
  for (const Kernels* kernels : available())
    for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kInt8}) {
      const std::vector<float> together = multiply(*kernels, w, a, m, n, k, precision);
      for (int i = 0; i < m; i++) {
        const std::vector<float> row(a.begin() + i * k, a.begin() + (i + 1) * k);
        CHECK(multiply(*kernels, w, row, 1, n, k, precision) == std::vector<float>(together.begin() + i * n, together.begin() + (i + 1) * n));
      }
    }
}

TEST(kernels_int8_is_the_same_on_every_instruction_set) {
  const int m = 5, n = 64, k = 320;
  const std::vector<float> w = random_values(static_cast<size_t>(n) * k, 5), a = random_values(static_cast<size_t>(m) * k, 6);
  const std::vector<float> first = multiply(*available().front(), w, a, m, n, k, Precision::kInt8);
  for (const Kernels* kernels : available()) {
    const std::vector<float> got = multiply(*kernels, w, a, m, n, k, Precision::kInt8);
    // The portable build may lack fused multiply-add, which changes the last bit of the sums over groups.
    for (size_t i = 0; i < got.size(); i++) CHECK_NEAR(got[i], first[i], 2e-5);
  }
}

TEST(kernels_int8_survives_extremes) {
  const int k = 128;
  std::vector<float> w(static_cast<size_t>(16) * k, -1.0f), a(k, 1.0f);
  for (int i = 0; i < k; i++) a[i] = i % 2 ? 1.0f : -1.0f;
  for (int i = 0; i < k; i++) w[i] = a[i] * 1e-30f;  // tiny but whole
  std::fill(w.begin() + k, w.begin() + 2 * k, 0.0f);
  for (const Kernels* kernels : available()) {
    const std::vector<float> y = multiply(*kernels, w, a, 1, 16, k, Precision::kInt8);
    CHECK_NEAR(y[0] / 1e-30, k, 1e-3);  // all products at the limits of int8, same sign: no saturation
    CHECK(y[1] == 0.0f);
    CHECK_NEAR(y[2], 0.0, 1e-4);
    const std::vector<float> none = multiply(*kernels, w, std::vector<float>(k, 0.0f), 1, 16, k, Precision::kInt8);
    for (const float x : none) CHECK(x == 0.0f);
  }
}

TEST(kernels_activation_functions) {
  for (const Kernels* kernels : available()) {
    std::vector<float> x;
    for (float v = -12.0f; v <= 12.0f; v += 0.037f) x.push_back(v);
    const std::vector<float> bias(x.size(), 0.25f);
    std::vector<float> tanh_form = x, erf_form = x;
    kernels->bias_gelu_tanh(tanh_form.data(), bias.data(), static_cast<int>(x.size()));
    kernels->bias_gelu_erf(erf_form.data(), nullptr, static_cast<int>(x.size()));
    for (size_t i = 0; i < x.size(); i++) {
      const double v = x[i] + 0.25;
      CHECK_NEAR(tanh_form[i], 0.5 * v * (1 + std::tanh(std::sqrt(2 / M_PI) * (v + 0.044715 * v * v * v))), 2e-6);
      CHECK_NEAR(erf_form[i], 0.5 * x[i] * (1 + std::erf(x[i] / std::sqrt(2.0))), 2e-6);
    }
    std::vector<float> far = {1e30f, -1e30f, 200.0f, -200.0f};
    kernels->bias_gelu_tanh(far.data(), nullptr, 4);
    CHECK(far[0] == 1e30f && far[1] == 0.0f && far[2] == 200.0f && far[3] == 0.0f);
  }
}

TEST(kernels_layer_norm_of_any_width) {
  for (const Kernels* kernels : available())
    for (const int n : {7, 16, 40, 768}) {
      const std::vector<float> x = random_values(n, 8, 3.0f), w = random_values(n, 9), b = random_values(n, 10);
      std::vector<float> y(n);
      kernels->layer_norm(x.data(), w.data(), b.data(), n, 1e-5f, y.data());
      double mean = 0, variance = 0;
      for (const float v : x) mean += v / n;
      for (const float v : x) variance += (v - mean) * (v - mean) / n;
      for (int i = 0; i < n; i++) CHECK_NEAR(y[i], (x[i] - mean) / std::sqrt(variance + 1e-5) * w[i] + b[i], 1e-5);
    }
}

// Attention over a cache that was filled slot by slot, with plain and wrapped ranges.
TEST(kernels_attend_like_plain_loops) {
  for (const Kernels* kernels : available())
    for (const int hd : {16, 32, 48, 64, 80})
      for (const CacheType type : {CacheType::kFp32, CacheType::kHalf}) {
        constexpr int kSlots = 150;
        KvCache cache({2, 3, hd, type});
        cache.reserve(kSlots);
        const std::vector<float> keys = random_values(static_cast<size_t>(kSlots) * hd, 11), values = random_values(static_cast<size_t>(kSlots) * hd, 12);
        for (int s = 0; s < kSlots; s++)
          (type == CacheType::kFp32 ? kernels->put_f32 : kernels->put_half)(&keys[static_cast<size_t>(s) * hd], &values[static_cast<size_t>(s) * hd], hd,
                                                                            cache.head(1, 2, s), s % kBlockSlots);
        const std::vector<float> q = random_values(static_cast<size_t>(kTileRows) * hd, 13, 0.3f);
        std::vector<float> scores(static_cast<size_t>(kTileRows) * 192), out(static_cast<size_t>(kTileRows) * hd);
        for (const int rows : {1, 3, 6, 8}) {
          AttendArgs args;
          args.rows = rows, args.hd = hd, args.slots = kSlots;
          args.blocks = cache.blocks(), args.head_offset = cache.head_offset(1, 2);
          args.q = q.data(), args.scores = scores.data(), args.out = out.data();
          for (int i = 0; i < rows; i++) args.lo[i] = i % 3 == 0 ? 0 : i % 3 == 1 ? 20 + i : 120, args.hi[i] = i % 3 == 2 ? 30 + i : 150 - 7 * i;
          (type == CacheType::kFp32 ? kernels->attend_f32 : kernels->attend_half)(args);
          for (int i = 0; i < rows; i++) {
            std::vector<double> want(hd);
            double total = 0;
            for (int s = 0; s < kSlots; s++) {
              const bool seen = args.lo[i] < args.hi[i] ? s >= args.lo[i] && s < args.hi[i] : s >= args.lo[i] || s < args.hi[i];
              if (!seen) continue;
              double score = 0;
              for (int d = 0; d < hd; d++) score += static_cast<double>(q[static_cast<size_t>(i) * hd + d]) * keys[static_cast<size_t>(s) * hd + d];
              total += std::exp(score);
              for (int d = 0; d < hd; d++) want[d] += std::exp(score) * values[static_cast<size_t>(s) * hd + d];
            }
            for (int d = 0; d < hd; d++) CHECK_NEAR(out[static_cast<size_t>(i) * hd + d], want[d] / total, type == CacheType::kFp32 ? 1e-5 : 4e-3);
          }
        }
      }
}

TEST(kernels_refuse_a_set_the_machine_lacks) {
  CHECK_THROWS_CODE(select_kernels("sse9"), "unsupported");
  CHECK(std::string(select_kernels("generic").name) == "portable");
}

TEST(team_does_every_task_once_and_orders_phases) {
  for (const int size : {1, 2, 5}) {
    ThreadTeam team(size);
    std::vector<int> first(40), second(7);
    std::atomic<int> wrong{0};
    for (int round = 1; round <= 300; round++) {
      team.run([&](ThreadTeam::Member& me) {
        team.phase(me, 40, [&](int i) { first[i]++; });
        team.phase(me, 0, [&](int) { wrong++; });
        team.phase(me, 7, [&](int i) {
          for (const int n : first) wrong += n != round;  // all of the phase before is visible
          second[i]++;
        });
        team.phase(me, 1, [&](int) {
          for (const int n : second) wrong += n != round;
        });
      });
      CHECK(second[6] == round);
    }
    CHECK_EQUAL(wrong.load(), 0);
  }
}

// A member that is held up outside of any task must not hold up the others.
TEST(team_goes_on_without_a_member_that_sleeps) {
  ThreadTeam team(3);
  std::atomic<bool> finished{false};
  std::atomic<int> tasks{0};
  team.run([&](ThreadTeam::Member& me) {
    if (me.index != 0)
      for (int i = 0; i < 2000 && !finished; i++) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    for (int phase = 0; phase < 50; phase++) team.phase(me, 9, [&](int) { tasks++; });
    if (me.index == 0) finished = true;
  });
  CHECK(finished);
  CHECK_EQUAL(tasks.load(), 450);
}
