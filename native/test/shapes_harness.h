// Engines over real backends on the shapes of shapes.h, and what is asked of them.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>

#include "bench/prompt.h"
#include "test/engine_harness.h"
#include "test/shapes.h"

namespace sonant::test {

inline BackendOptions options_of(const ModelFolders& model, Precision precision, int threads = 1) {
  BackendOptions options;
  options.lm_folder = model.lm, options.codec_folder = model.codec;
  options.precision = precision;
  options.threads = threads;
  return options;
}

// The harness counts a fake backend's sequences; a real one's are in the engine's own figures.
struct ShapeRig : Rig {
  explicit ShapeRig(std::unique_ptr<Backend> backend, const EngineLimits& limits = {}) : Rig(limits, std::make_shared<FakeState>(), std::move(backend)) {}
  const LmConfig& lm() const { return engine->backend().lm->config(); }
  const CodecConfig& codec() const { return engine->backend().codec->config(); }
  // While they speak, `cancelled` ends if it is given.
  std::vector<Heard> run_together(const std::vector<GenerateRequest>& requests, std::optional<RequestId> cancelled = {}) {
    std::vector<RequestId> ids;
    for (const GenerateRequest& one : requests) ids.push_back(engine->generate(one));
    if (cancelled) {
      listener.wait_frames(ids.back(), 2);
      engine->cancel(*cancelled);
    }
    std::vector<Heard> heard;
    for (const RequestId id : ids) heard.push_back(listener.wait_done(id));
    return heard;
  }
};

// One that speaks `frames` frames whatever the model decides, with one of two voices.
inline GenerateRequest speech(const LmConfig& config, int voice, int text_rows, int frames, uint64_t seed) {
  GenerateRequest out;
  out.prefix_key = "voice-" + std::to_string(voice);
  out.prefix_rows = bench::prompt_rows(config, 7 + 6 * voice, 3, static_cast<uint32_t>(voice + 1));
  out.text_rows = bench::prompt_rows(config, 0, text_rows, static_cast<uint32_t>(seed + 100));
  out.sampling.seed = seed;
  out.max_frames = frames;
  out.buffer_frames = frames;
  out.ignore_stop = true;
  out.want_codes = true;
  return out;
}

// Requests of different voices, chunks and ways to draw, each `longer` frames longer than the one before; the second is greedy.
inline std::vector<GenerateRequest> crowd(const LmConfig& config, int size, int shortest, int longer) {
  std::vector<GenerateRequest> requests;
  for (int i = 0; i < size; i++) {
    requests.push_back(speech(config, i % 2, 2 + 5 * i, shortest + longer * i, static_cast<uint64_t>(i) * 1000003));
    if (i % 3 == 2) requests.back().chunks = {.first_frames = 4, .growth = 1, .max_frames = 4};
  }
  requests[1].sampling.do_sample = false;
  requests.back().sampling.audio_top_k = 0;
  return requests;
}

// Largest difference over the largest value of `want`.
inline double relative_error(const std::vector<float>& got, const std::vector<float>& want) {
  double worst = got.size() == want.size() && !want.empty() ? 0 : INFINITY, peak = 1e-30;
  for (size_t i = 0; worst < INFINITY && i < want.size(); i++) {
    const double difference = std::fabs(static_cast<double>(got[i]) - want[i]);
    worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
    peak = std::max(peak, std::fabs(static_cast<double>(want[i])));
  }
  return worst / peak;
}

// Hidden states [rows][width] of a prompt, in slices that fit no block.
inline std::vector<float> hidden_of(LanguageModel& lm, int rows) {
  const std::vector<int32_t> prompt = bench::prompt_rows(lm.config(), rows / 2, rows - rows / 2, 3);
  const auto width = static_cast<size_t>(lm.config().row_width()), d = static_cast<size_t>(lm.config().d_model);
  std::vector<float> hidden(static_cast<size_t>(rows) * d);
  auto sequence = lm.create_sequence(nullptr, rows);
  for (int at = 0; at < rows; at += 13) {
    PrefillItem slice{sequence.get(), prompt.data() + static_cast<size_t>(at) * width, std::min(13, rows - at), hidden.data() + static_cast<size_t>(at) * d};
    lm.prefill({&slice, 1});
  }
  return hidden;
}

// A second of two tones, interleaved; the channels differ.
inline std::vector<float> clip(int rate, int channels, double seconds) {
  std::vector<float> pcm;
  for (int i = 0; i < static_cast<int>(rate * seconds); i++)
    for (int c = 0; c < channels; c++) pcm.push_back(static_cast<float>(0.4 * std::sin(0.11 * i) + 0.3 * std::sin((0.37 + 0.2 * c) * i)));
  return pcm;
}

}  // namespace sonant::test
