// Whether a backend that chooses another code than the reference was nearly undecided: each frame is asked for behind the reference's
// own past, and where the two part inside it, the reference's own scores say what lay between the choices. Compares, never speaks
// for anybody.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "backend/backend.h"
#include "parity/ladder.h"

namespace sonant {

// Rows [n][row_width] of each prompt, as `npm run eval -- greedy --prompts FILE` writes them.
struct GreedyPrompts {
  int row_width = 0;
  std::vector<std::vector<int32_t>> prompts;
};

// Reads {"rowWidth": W, "prompts": [[numbers], ...]}. Throws Error("model_missing") when the file cannot be read, "model_invalid" when it
// is no JSON, "bad_request" with what is wrong of it otherwise.
GreedyPrompts read_greedy_prompts(const std::string& path);

// A decision that differs. Margins are the reference's score of its own choice less its score of the other one.
struct GreedyDifference {
  int prompt = 0, frame = 0;        // counted from 0
  int book = 0;                     // -1: whether to go on; `wanted` and `got` are then 1 where the choice was to stop
  int32_t wanted = 0, got = 0;
  std::optional<double> of_range;   // margin over largest less smallest score of that codebook; the decision to go on has two scores only
  double of_peak = 0;               // margin over the largest absolute score
};

struct GreedyReport {
  double score_tolerance = 0;       // what the precision is held to on the fixtures: largest difference of scores, over the peak
  double near_tie = 0;              // largest margin of a near tie, over the peak
  int prompts = 0, frames = 0, equal_frames = 0;
  int stops = 0;                    // prompts that the reference ended by itself
  // Each frame is a decision to go on and one for each codebook, each stop is one. What follows a difference inside its frame follows
  // other codes, and is not compared.
  int compared = 0, equal = 0, not_compared = 0;
  std::vector<GreedyDifference> differences;
  std::vector<double> score_errors; // largest difference of scores in each decision that was compared, over the peak
  std::vector<double> gaps;         // between the two best scores in each of the reference's decisions for a code, over the range

  int far() const;                  // differences that are no near tie
};

// Has `reference` speak each prompt by its best scores, for `frames` frames or until it stops, and asks `tested` for each frame behind
// what the reference made before. Throws Error("bad_request") for prompts that do not fit the model, "engine_failed" for scores that are
// not finite.
GreedyReport check_greedy(LanguageModel& reference, LanguageModel& tested, const GreedyPrompts& prompts, int frames, const Tolerances& limits);

// The report in sentences, one a line; as one JSON object in one line.
std::string greedy_text(const GreedyReport& report);
std::string greedy_json(const GreedyReport& report);

}  // namespace sonant
