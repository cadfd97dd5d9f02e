#include "parity/greedy.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdio>
#include <functional>
#include <limits>
#include <span>

#include "model/error.h"
#include "model/json.h"

namespace sonant {
namespace {

// Margins that are counted, over the range of scores.
constexpr double kBounds[] = {0.0025, 0.005, 0.01, 0.02, 0.04};

struct Frame {
  std::vector<int32_t> codes;
  std::vector<float> text, audio;  // [continue, stop], [n_vq][max_codebook]
  bool stopped = false;
};

SamplingParams best_scores() {
  SamplingParams params;
  params.do_sample = false;
  params.repetition_penalty = 1.0f;
  return params;
}

Frame step(LanguageModel& lm, LmSequence& sequence) {
  static const SamplingParams greedy = best_scores();
  const LmConfig& config = lm.config();
  const auto books = static_cast<size_t>(config.n_vq);
  Frame frame{std::vector<int32_t>(books), std::vector<float>(2), std::vector<float>(books * static_cast<size_t>(config.max_codebook()))};
  FrameItem item{&sequence, &greedy, false, frame.codes.data()};
  item.text_logits = frame.text.data(), item.audio_logits = frame.audio.data();
  lm.step({&item, 1});
  if (item.failed) throw Error("engine_failed", "The model produced a score that is not a finite number.");
  frame.stopped = item.stopped;
  return frame;
}

void prefill(LanguageModel& lm, LmSequence& sequence, const std::vector<int32_t>& rows) {
  PrefillItem item{&sequence, rows.data(), static_cast<int>(rows.size()) / lm.config().row_width(), nullptr};
  lm.prefill({&item, 1});
}

double over(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Of one prompt after the other, into one report.
class Comparison {
 public:
  Comparison(LanguageModel& reference, LanguageModel& tested, GreedyReport& report) : reference_(reference), tested_(tested), config_(reference.config()), report_(report) {}

  void prompt(const std::vector<int32_t>& rows, int frames) {
    const int most = static_cast<int>(rows.size()) / config_.row_width() + frames;
    const auto speaker = reference_.create_sequence(nullptr, most), past = tested_.create_sequence(nullptr, most);
    prefill(reference_, *speaker, rows);
    prefill(tested_, *past, rows);
    for (frame_ = 0; frame_ < frames; frame_++) {
      const Frame want = step(reference_, *speaker);
      // No prompt grows after a frame, so each frame has a sequence of its own on what is kept.
      const auto asked = tested_.create_sequence(tested_.freeze(*past), most);
      compare(want, step(tested_, *asked));
      if (want.stopped) break;
      std::vector<int32_t> row{config_.assistant_slot_id};
      row.insert(row.end(), want.codes.begin(), want.codes.end());
      if (frame_ + 1 < frames) prefill(tested_, *past, row);
    }
    report_.prompts++;
  }

 private:
  void compare(const Frame& want, const Frame& got) {
    bool same = decide(-1, want.text, got.text, want.stopped, got.stopped);
    if (want.stopped) {
      report_.stops++;
      return;
    }
    report_.frames++;
    int book = 0;
    for (; same && book < config_.n_vq; book++) same = decide(book, scores(want, book), scores(got, book), want.codes[static_cast<size_t>(book)], got.codes[static_cast<size_t>(book)]);
    report_.not_compared += config_.n_vq - book;
    report_.equal_frames += same;
    for (book = 0; book < config_.n_vq; book++) report_.gaps.push_back(gap(scores(want, book)));
  }

  std::span<const float> scores(const Frame& frame, int book) const {
    return std::span(frame.audio).subspan(static_cast<size_t>(book * config_.max_codebook()), static_cast<size_t>(config_.codebook_sizes[static_cast<size_t>(book)]));
  }

  static double range(std::span<const float> scores) {
    const auto [least, most] = std::minmax_element(scores.begin(), scores.end());
    return static_cast<double>(*most) - *least;
  }

  static double gap(std::span<const float> scores) {
    std::vector<float> sorted(scores.begin(), scores.end());
    std::partial_sort(sorted.begin(), sorted.begin() + 2, sorted.end(), std::greater<>());
    return over(static_cast<double>(sorted[0]) - sorted[1], range(scores));
  }

  // Whether both chose the same.
  bool decide(int book, std::span<const float> want, std::span<const float> got, int32_t wanted, int32_t chosen) {
    double peak = 0, error = 0;
    for (size_t i = 0; i < want.size(); i++) {
      peak = std::max(peak, std::fabs(static_cast<double>(want[i])));
      error = std::max(error, std::fabs(static_cast<double>(got[i]) - want[i]));
    }
    report_.compared++;
    report_.score_errors.push_back(over(error, peak));
    if (wanted == chosen) {
      report_.equal++;
      return true;
    }
    const double margin = static_cast<double>(want[static_cast<size_t>(wanted)]) - want[static_cast<size_t>(chosen)];
    GreedyDifference difference{report_.prompts, frame_, book, wanted, chosen, {}, over(margin, peak)};
    if (book >= 0) difference.of_range = over(margin, range(want));
    report_.differences.push_back(difference);
    return false;
  }

  LanguageModel &reference_, &tested_;
  const LmConfig& config_;
  GreedyReport& report_;
  int frame_ = 0;
};

bool is_far(const GreedyReport& report, const GreedyDifference& difference) { return difference.of_peak > report.near_tie; }

std::vector<double> ranges(const GreedyReport& report) {
  std::vector<double> out;
  for (const GreedyDifference& difference : report.differences)
    if (difference.of_range) out.push_back(*difference.of_range);
  return out;
}

double largest(const std::vector<double>& values) { return values.empty() ? 0 : *std::max_element(values.begin(), values.end()); }

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double largest_of_peak(const GreedyReport& report) {
  double most = 0;
  for (const GreedyDifference& difference : report.differences) most = std::max(most, difference.of_peak);
  return most;
}

long within(const std::vector<double>& values, double bound) {
  return std::count_if(values.begin(), values.end(), [bound](double value) { return value <= bound; });
}

[[gnu::format(printf, 1, 2)]] std::string format(const char* pattern, ...) {
  char buffer[400];
  va_list values;
  va_start(values, pattern);
  std::vsnprintf(buffer, sizeof buffer, pattern, values);
  va_end(values);
  return buffer;
}

}  // namespace

GreedyPrompts read_greedy_prompts(const std::string& path) {
  const auto refuse = [&](const std::string& what) { return Error("bad_request", path + ": " + what + "."); };
  JsonLimits limits;
  limits.max_values = 4'000'000;  // 1,000 prompts of 200 rows and 17 numbers
  const Json file = Json::parse_file(path, limits);
  if (!file.is(Json::Kind::kObject)) throw refuse(std::string("expected an object with rowWidth and prompts but found ") + Json::kind_name(file.kind()));
  const Json *width = file.find("rowWidth"), *prompts = file.find("prompts");
  if (!width) throw refuse("rowWidth is missing");
  if (!prompts) throw refuse("prompts is missing");
  if (!width->is_integer() || width->as_integer() < 2 || width->as_integer() > 1000) throw refuse("rowWidth must be a whole number from 2 to 1000");
  if (!prompts->is(Json::Kind::kArray) || prompts->as_array().empty()) throw refuse("prompts must be an array of at least one prompt");
  GreedyPrompts read{static_cast<int>(width->as_integer()), {}};
  for (const Json& prompt : prompts->as_array()) {
    const std::string name = "prompt " + std::to_string(read.prompts.size());
    if (!prompt.is(Json::Kind::kArray)) throw refuse(name + " must be an array of numbers");
    const size_t count = prompt.as_array().size();
    if (count == 0 || count % static_cast<size_t>(read.row_width)) throw refuse(name + " has " + std::to_string(count) + " numbers, which are no rows of " + std::to_string(read.row_width));
    std::vector<int32_t>& rows = read.prompts.emplace_back();
    for (const Json& number : prompt.as_array()) {
      if (!number.is_integer() || number.as_integer() < 0 || number.as_integer() > std::numeric_limits<int32_t>::max())
        throw refuse("number " + std::to_string(rows.size()) + " of " + name + " must be a whole number from 0 to 2147483647");
      rows.push_back(static_cast<int32_t>(number.as_integer()));
    }
  }
  return read;
}

int GreedyReport::far() const {
  return static_cast<int>(std::count_if(differences.begin(), differences.end(), [this](const GreedyDifference& difference) { return is_far(*this, difference); }));
}

GreedyReport check_greedy(LanguageModel& reference, LanguageModel& tested, const GreedyPrompts& prompts, int frames, const Tolerances& limits) {
  if (prompts.row_width != reference.config().row_width())
    throw Error("bad_request", "The prompts have rows of " + std::to_string(prompts.row_width) + " numbers but the model takes " + std::to_string(reference.config().row_width()));
  GreedyReport report;
  report.score_tolerance = limits.logits, report.near_tie = limits.near_tie();
  Comparison comparison(reference, tested, report);
  for (const std::vector<int32_t>& rows : prompts.prompts) comparison.prompt(rows, frames);
  return report;
}

std::string greedy_text(const GreedyReport& report) {
  const std::vector<double> margins = ranges(report);
  const size_t differences = report.differences.size();
  std::string text = format("%d of %d frames are equal (%.2f %%), of %d prompts, %d of which the reference ended by itself.\n", report.equal_frames, report.frames,
                            100 * over(report.equal_frames, report.frames), report.prompts, report.stops);
  text += format("%d of %d decisions that were compared are equal (%.2f %%); %d more follow other codes in their frame and were not compared.\n", report.equal, report.compared,
                 100 * over(report.equal, report.compared), report.not_compared);
  text += format("Scores differ by at most %.3g %% of the peak, in half of the decisions by at most %.3g %%; the fixtures are held to %.3g %%.\n", 100 * largest(report.score_errors),
                 100 * median(report.score_errors), 100 * report.score_tolerance);
  text += format("%zu decisions differ, %zu of them whether to go on; the largest margin is %.3g %% of the range of scores and %.3g %% of the peak.\n", differences,
                 differences - margins.size(), 100 * largest(margins), 100 * largest_of_peak(report));
  for (const double bound : kBounds)
    text += format("Within %.2f %% of the range lie %ld of the %zu other codes, and the two best scores of %ld of the reference's %zu codes.\n", 100 * bound, within(margins, bound),
                   margins.size(), within(report.gaps, bound), report.gaps.size());
  for (const GreedyDifference& difference : report.differences) {
    if (!is_far(report, difference)) continue;
    const std::string where = difference.book < 0 ? "whether to go on" : format("codebook %d, %d in place of %d", difference.book, difference.got, difference.wanted);
    text += format("No near tie: prompt %d, frame %d, %s, by %.3g %% of the peak.\n", difference.prompt, difference.frame, where.c_str(), 100 * difference.of_peak);
  }
  text += format("%zu of %zu differences are near ties, with a margin of at most %.3g %% of the peak.\n", differences - static_cast<size_t>(report.far()), differences, 100 * report.near_tie);
  return text;
}

std::string greedy_json(const GreedyReport& report) {
  const std::vector<double> margins = ranges(report);
  std::string json = format("{\"prompts\":%d,\"frames\":%d,\"equalFrames\":%d,\"stops\":%d,\"compared\":%d,\"equal\":%d,\"notCompared\":%d", report.prompts, report.frames,
                            report.equal_frames, report.stops, report.compared, report.equal, report.not_compared);
  json += format(",\"scoreTolerance\":%.6g,\"largestScoreError\":%.6g,\"medianScoreError\":%.6g", report.score_tolerance, largest(report.score_errors), median(report.score_errors));
  json += format(",\"nearTie\":%.6g,\"far\":%d,\"largestOfRange\":%.6g,\"largestOfPeak\":%.6g,\"codes\":%zu,\"within\":[", report.near_tie, report.far(), largest(margins),
                 largest_of_peak(report), report.gaps.size());
  const char* comma = "";
  for (const double bound : kBounds) {
    json += format("%s{\"ofRange\":%g,\"differences\":%ld,\"referenceCodes\":%ld}", comma, bound, within(margins, bound), within(report.gaps, bound));
    comma = ",";
  }
  json += "],\"differences\":[";
  comma = "";
  for (const GreedyDifference& difference : report.differences) {
    json += format("%s{\"prompt\":%d,\"frame\":%d,\"book\":%d,\"wanted\":%d,\"got\":%d,\"ofRange\":", comma, difference.prompt, difference.frame, difference.book, difference.wanted, difference.got);
    json += difference.of_range ? format("%.6g", *difference.of_range) : "null";
    json += format(",\"ofPeak\":%.6g}", difference.of_peak);
    comma = ",";
  }
  return json + "]}";
}

}  // namespace sonant
