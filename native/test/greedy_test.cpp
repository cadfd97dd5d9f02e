// The look at other choices: its counts and margins on models that follow a script, its sums on real ones, and which files of
// prompts it refuses.
#include <algorithm>
#include <cstring>
#include <memory>
#include <vector>

#include "backend/cuda/backend.h"
#include "model/json.h"
#include "parity/greedy.h"
#include "test/check.h"

namespace {

using namespace sonant;

struct Scores {
  float text[2];      // continue, stop
  float audio[2][4];
};

// Two codebooks of four codes. Frame n of a sequence, counting frames that were prompted, gets the nth scores, and the best ones win.
class ScriptedLm final : public LanguageModel {
 public:
  ScriptedLm(std::vector<Scores> script, int prompt_rows) : script_(std::move(script)), prompt_rows_(prompt_rows) {
    config_.n_vq = 2;
    config_.codebook_sizes = {4, 4};
  }
  const LmConfig& config() const override { return config_; }
  std::unique_ptr<LmSequence> create_sequence(std::shared_ptr<const LmPrefix> prefix, int) override {
    auto sequence = std::make_unique<Sequence>();
    if (prefix) sequence->ids = static_cast<const Prefix&>(*prefix).ids;
    return sequence;
  }
  void prefill(std::span<PrefillItem> items) override {
    for (const PrefillItem& item : items) {
      auto& sequence = static_cast<Sequence&>(*item.sequence);
      CHECK_EQUAL(sequence.frame_count, 0);
      sequence.ids.insert(sequence.ids.end(), item.rows, item.rows + item.n_rows * config_.row_width());
    }
  }
  std::shared_ptr<const LmPrefix> freeze(LmSequence& sequence) override {
    auto prefix = std::make_shared<Prefix>();
    prefix->ids = static_cast<Sequence&>(sequence).ids;
    return prefix;
  }
  void step(std::span<FrameItem> items) override {
    for (FrameItem& item : items) {
      CHECK(!item.force_continue && !item.sampling->do_sample && item.sampling->repetition_penalty == 1.0f);
      auto& sequence = static_cast<Sequence&>(*item.sequence);
      const Scores& scores = script_.at(static_cast<size_t>(sequence.rows() - prompt_rows_ + sequence.frame_count));
      asked.push_back(sequence.ids);
      std::copy_n(scores.text, 2, item.text_logits);
      std::copy_n(scores.audio[0], 8, item.audio_logits);
      item.stopped = scores.text[0] < scores.text[1];
      if (item.stopped) continue;
      for (int book = 0; book < 2; book++) item.codes[book] = static_cast<int32_t>(std::max_element(scores.audio[book], scores.audio[book] + 4) - scores.audio[book]);
      sequence.frame_count++;
    }
  }

  std::vector<std::vector<int32_t>> asked;  // the rows behind which each frame was asked for

 private:
  struct Prefix final : LmPrefix {
    int rows() const override { return static_cast<int>(ids.size()) / 3; }
    size_t bytes() const override { return 0; }
    std::vector<int32_t> ids;
  };
  struct Sequence final : LmSequence {
    int rows() const override { return static_cast<int>(ids.size()) / 3; }
    int frames() const override { return frame_count; }
    size_t bytes() const override { return 0; }
    std::vector<int32_t> ids;
    int frame_count = 0;
  };
  LmConfig config_;
  const std::vector<Scores> script_;
  const int prompt_rows_;
};

const std::vector<int32_t> kTwoRows = {4, 0, 1, 5, 2, 3};

// The reference's codes are 0 1, 0 1, 2 0, 1 1, and then it stops.
const std::vector<Scores> kReference = {{{2, -2}, {{8, 0, -2, 4}, {1, 10, 9, 0}}},
                                        {{2, -2}, {{8, 0, -2, 4}, {1, 10, 9, 0}}},
                                        {{3, 1}, {{-20, 0, 5, 4}, {4, 0, 0, 0}}},
                                        {{4, 3.5}, {{0, 1, 0, 0}, {0, 1, 0, 0}}},
                                        {{0, 5}, {}}};

std::vector<Scores> other_scores() {
  std::vector<Scores> scores = kReference;
  scores[1].audio[1][2] = 10.5f;                            // 2 in place of 1
  scores[2].audio[0][3] = 6, scores[2].audio[1][3] = 9;     // 3 in place of 2, and what follows does not count
  scores[3].text[1] = 4.5f;                                 // stops
  return scores;
}

std::vector<int32_t> rows_of(const LmConfig& config, int n, uint32_t seed) {
  std::vector<int32_t> rows;
  const auto next = [&] { return static_cast<int>((seed = seed * 1664525u + 1013904223u) >> 10); };
  for (int i = 0; i < n; i++) {
    rows.push_back(next() % config.vocab_size);
    for (int k = 0; k < config.n_vq; k++) rows.push_back(i % 3 ? config.audio_pad_id : next() % config.codebook_sizes[static_cast<size_t>(k)]);
  }
  return rows;
}

GreedyPrompts made_up(const LmConfig& config, int count) {
  GreedyPrompts prompts{config.row_width(), {}};
  for (int i = 0; i < count; i++) prompts.prompts.push_back(rows_of(config, 5 + 9 * i, static_cast<uint32_t>(i + 1)));
  return prompts;
}

BackendOptions fixture_in(Precision precision, const char* lm = "lm-tiny") {
  BackendOptions options;
  options.lm_folder = test::fixture(lm);
  options.precision = precision;
  options.threads = 1;
  return options;
}

// What holds of every report: nothing is counted twice or left out.
void check_sums(const GreedyReport& report, int n_vq) {
  const int differences = static_cast<int>(report.differences.size());
  const auto at_stops = std::count_if(report.differences.begin(), report.differences.end(), [](const GreedyDifference& one) { return one.book < 0 && one.wanted == 1; });
  CHECK_EQUAL(report.compared + report.not_compared, report.frames * (1 + n_vq) + report.stops);
  CHECK_EQUAL(report.equal + differences, report.compared);
  CHECK_EQUAL(report.equal_frames + differences - static_cast<int>(at_stops), report.frames);
  CHECK_EQUAL(report.score_errors.size(), static_cast<size_t>(report.compared));
  CHECK_EQUAL(report.gaps.size(), static_cast<size_t>(report.frames * n_vq));
  // The other one's scores prefer what it chose, so one of the two is off by half of the margin.
  const double worst = *std::max_element(report.score_errors.begin(), report.score_errors.end());
  for (const GreedyDifference& one : report.differences) CHECK(one.of_peak >= 0 && one.of_peak <= 2 * worst && one.wanted != one.got);
}

void refuses(const std::string& text, const char* part) {
  const std::string path = test::temporary_folder() + "/prompts.json";
  test::write_file(path, text);
  CHECK_THROWS_SAYING(read_greedy_prompts(path), "bad_request", part);
}

}  // namespace

TEST(greedy_counts_first_differences_and_measures_them_by_the_reference) {
  ScriptedLm reference(kReference, 2), other(other_scores(), 2);
  const GreedyReport report = check_greedy(reference, other, {3, {kTwoRows}}, 60, {0, 0.05, 0});
  CHECK_EQUAL(report.prompts, 1);
  CHECK_EQUAL(report.frames, 4);
  CHECK_EQUAL(report.stops, 1);
  CHECK_EQUAL(report.equal_frames, 1);
  CHECK_EQUAL(report.compared, 3 + 3 + 2 + 1 + 1);
  CHECK_EQUAL(report.equal, 3 + 2 + 1 + 0 + 1);
  CHECK_EQUAL(report.not_compared, 0 + 0 + 1 + 2);
  check_sums(report, 2);

  REQUIRE(report.differences.size() == 3);
  const GreedyDifference &second = report.differences[0], &third = report.differences[1], &end = report.differences[2];
  CHECK(second.prompt == 0 && second.frame == 1 && second.book == 1 && second.wanted == 1 && second.got == 2);
  CHECK_NEAR(second.of_range.value(), 1.0 / 10, 1e-12);  // 10 and 9, between 0 and 10
  CHECK_NEAR(second.of_peak, 1.0 / 10, 1e-12);
  CHECK(third.frame == 2 && third.book == 0 && third.wanted == 2 && third.got == 3);
  CHECK_NEAR(third.of_range.value(), 1.0 / 25, 1e-12);   // 5 and 4, between -20 and 5
  CHECK_NEAR(third.of_peak, 1.0 / 20, 1e-12);
  CHECK(end.frame == 3 && end.book == -1 && end.wanted == 0 && end.got == 1 && !end.of_range);
  CHECK_NEAR(end.of_peak, 0.5 / 4, 1e-12);
  // Twice 5 % is the largest margin of a near tie, itself included, and 12.5 % is more.
  CHECK_EQUAL(report.far(), 1);

  const std::vector<double> errors = {0, 0, 0, 0, 0, 1.5 / 10, 0, 2.0 / 20, 1.0 / 4, 0};
  const std::vector<double> gaps = {4.0 / 10, 1.0 / 10, 4.0 / 10, 1.0 / 10, 1.0 / 25, 1, 1, 1};
  for (size_t i = 0; i < errors.size(); i++) CHECK_NEAR(report.score_errors[i], errors[i], 1e-12);
  for (size_t i = 0; i < gaps.size(); i++) CHECK_NEAR(report.gaps[i], gaps[i], 1e-12);
}

TEST(greedy_asks_for_each_frame_behind_the_reference_s_own) {
  ScriptedLm reference(kReference, 2), other(other_scores(), 2);
  check_greedy(reference, other, {3, {kTwoRows}}, 60, {});
  std::vector<int32_t> rows = kTwoRows;
  const int32_t slot = other.config().assistant_slot_id, codes[4][2] = {{0, 1}, {0, 1}, {2, 0}, {1, 1}};
  REQUIRE(other.asked.size() == 5);
  for (size_t frame = 0; frame < 5; frame++) {
    CHECK(other.asked[frame] == rows);
    if (frame < 4) rows.insert(rows.end(), {slot, codes[frame][0], codes[frame][1]});
  }
}

TEST(greedy_ends_at_the_limit_and_adds_prompts_up) {
  ScriptedLm reference(kReference, 2), other(other_scores(), 2);
  const GreedyReport report = check_greedy(reference, other, {3, {kTwoRows, kTwoRows}}, 2, {});
  CHECK_EQUAL(report.prompts, 2);
  CHECK_EQUAL(report.frames, 4);
  CHECK_EQUAL(report.stops, 0);
  CHECK_EQUAL(report.equal_frames, 2);
  REQUIRE(report.differences.size() == 2);
  CHECK(report.differences[0].prompt == 0 && report.differences[1].prompt == 1);
}

TEST(greedy_reports_in_sentences_and_in_json) {
  ScriptedLm reference(kReference, 2), other(other_scores(), 2);
  const GreedyReport report = check_greedy(reference, other, {3, {kTwoRows}}, 60, {0, 0.05, 0});
  const std::string text = greedy_text(report);
  for (const char* sentence : {"1 of 4 frames are equal (25.00 %), of 1 prompts, 1 of which the reference ended by itself.\n", "7 of 10 decisions that were compared are equal (70.00 %); 3 more",
                               "3 decisions differ, 1 of them whether to go on; the largest margin is 10 % of the range of scores and 12.5 % of the peak.\n",
                               "Within 4.00 % of the range lie 1 of the 2 other codes, and the two best scores of 1 of the reference's 8 codes.\n",
                               "No near tie: prompt 0, frame 3, whether to go on, by 12.5 % of the peak.\n", "2 of 3 differences are near ties, with a margin of at most 10 % of the peak.\n"})
    if (text.find(sentence) == std::string::npos) test::record(false, __FILE__, __LINE__, "no \"" + std::string(sentence) + "\" in:\n" + text);
  const Json json = Json::parse(greedy_json(report), "the report");
  CHECK_EQUAL(json.find("equalFrames")->as_integer(), 1);
  CHECK_EQUAL(json.find("notCompared")->as_integer(), 3);
  CHECK_EQUAL(json.find("far")->as_integer(), 1);
  CHECK_NEAR(json.find("largestOfRange")->as_number(), 0.1, 1e-6);
  CHECK_NEAR(json.find("largestOfPeak")->as_number(), 0.125, 1e-6);
  CHECK_EQUAL(json.find("within")->as_array().size(), 5u);
  const std::vector<Json>& differences = json.find("differences")->as_array();
  REQUIRE(differences.size() == 3);
  CHECK_NEAR(differences[1].find("ofRange")->as_number(), 0.04, 1e-6);
  CHECK(differences[2].find("ofRange")->is(Json::Kind::kNull));
}

TEST(greedy_finds_nothing_between_equal_backends) {
  const auto cpu = create_cpu_backend(fixture_in(Precision::kFp32)), again = create_cpu_backend(fixture_in(Precision::kFp32)), gpu = cuda::create_backend(fixture_in(Precision::kFp32));
  const LmConfig& config = cpu->lm->config();
  for (Backend* other : {again.get(), gpu.get()}) {
    const GreedyReport report = check_greedy(*cpu->lm, *other->lm, made_up(config, 3), 40, tolerances(Precision::kFp32));
    check_sums(report, config.n_vq);
    CHECK(report.frames > 0 && report.equal_frames == report.frames && report.equal == report.compared && report.differences.empty());
    CHECK_EQUAL(report.frames == 3 * 40, report.stops == 0);
    const double error = *std::max_element(report.score_errors.begin(), report.score_errors.end());
    CHECK(other == gpu.get() ? error <= tolerances(Precision::kFp32).logits : error == 0);
  }
}

TEST(greedy_finds_near_ties_of_coarser_precisions) {
  int differences = 0;
  for (const char* lm : {"lm-tiny", "lm-small"}) {
    const auto cpu = create_cpu_backend(fixture_in(Precision::kFp32, lm));
    const LmConfig& config = cpu->lm->config();
    const auto compare = [&](const Backend& other, Precision precision) {
      const GreedyReport report = check_greedy(*cpu->lm, *other.lm, made_up(config, 4), 12, tolerances(precision));
      check_sums(report, config.n_vq);
      CHECK_EQUAL(report.far(), 0);
      differences += static_cast<int>(report.differences.size());
    };
    for (const Precision precision : {Precision::kBf16, Precision::kInt8}) compare(*create_cpu_backend(fixture_in(precision, lm)), precision);
    if (std::strcmp(lm, "lm-tiny") == 0) compare(*cuda::create_backend(fixture_in(Precision::kBf16, lm)), Precision::kBf16);
  }
  CHECK(differences > 0);
}

TEST(greedy_refuses_prompts_that_fit_no_model) {
  const auto cpu = create_cpu_backend(fixture_in(Precision::kFp32));
  const LmConfig& config = cpu->lm->config();
  const auto check = [&](const GreedyPrompts& prompts, int frames) { return check_greedy(*cpu->lm, *cpu->lm, prompts, frames, {}); };
  CHECK_THROWS_SAYING(check({config.row_width() + 1, {std::vector<int32_t>(static_cast<size_t>(config.row_width()) + 1)}}, 1), "bad_request", "rows of 6 numbers but the model takes 5");
  GreedyPrompts outside = made_up(config, 1);
  outside.prompts[0][0] = config.vocab_size;
  CHECK_THROWS_SAYING(check(outside, 1), "bad_request", "outside of the vocabulary");
  outside = made_up(config, 1);
  outside.prompts[0][1] = config.audio_pad_id + 1;
  CHECK_THROWS_SAYING(check(outside, 1), "bad_request", "codebook 0");
  CHECK_THROWS_SAYING(check(made_up(config, 1), config.max_positions), "bad_request", "A sequence may hold");
}

TEST(greedy_reads_prompts) {
  const std::string path = test::temporary_folder() + "/prompts.json";
  test::write_file(path, "{\"rowWidth\":3,\"prompts\":[\n[4,0,1,5,2,3],\n[2147483647,0,0]\n]}\n");
  const GreedyPrompts read = read_greedy_prompts(path);
  CHECK_EQUAL(read.row_width, 3);
  REQUIRE(read.prompts.size() == 2);
  CHECK(read.prompts[0] == kTwoRows);
  CHECK(read.prompts[1] == (std::vector<int32_t>{2147483647, 0, 0}));
  CHECK_THROWS_SAYING(read_greedy_prompts(path + "-not"), "model_missing", "is not there");
  test::write_file(path, "{\"rowWidth\":3,");
  CHECK_THROWS_SAYING(read_greedy_prompts(path), "model_invalid", "is not valid JSON");
}

TEST(greedy_refuses_files_of_anything_else) {
  refuses("[1]", "expected an object with rowWidth and prompts but found an array");
  refuses("{\"prompts\":[[1,2]]}", "rowWidth is missing");
  refuses("{\"rowWidth\":2}", "prompts is missing");
  for (const char* width : {"1", "1001", "2.5", "-3", "\"3\"", "null"}) refuses("{\"rowWidth\":" + std::string(width) + ",\"prompts\":[[1,2]]}", "rowWidth must be a whole number from 2 to 1000");
  for (const char* prompts : {"[]", "{}", "3"}) refuses("{\"rowWidth\":2,\"prompts\":" + std::string(prompts) + "}", "prompts must be an array of at least one prompt");
  refuses("{\"rowWidth\":2,\"prompts\":[[1,2],3]}", "prompt 1 must be an array of numbers");
  refuses("{\"rowWidth\":2,\"prompts\":[[1,2],[]]}", "prompt 1 has 0 numbers, which are no rows of 2");
  refuses("{\"rowWidth\":2,\"prompts\":[[1,2,3]]}", "prompt 0 has 3 numbers, which are no rows of 2");
  for (const char* number : {"-1", "2147483648", "0.5", "\"7\"", "null", "[]"})
    refuses("{\"rowWidth\":2,\"prompts\":[[1," + std::string(number) + "]]}", "number 1 of prompt 0 must be a whole number from 0 to 2147483647");
}
