// sonant_bench --lm FOLDER --codec FOLDER [--device cpu|cuda[:N]|auto] [--precision fp32|bf16|int8] [--threads N] [--isa NAME]
//              [--batches 1,4,16] [--voice-frames N] [--streams N,N] [--seconds N] [--json]
// Times the parts of a backend on made-up prompts: prefill, frame, codec, and one request end to end; with --streams,
// many listeners at once through the whole engine instead.
// Every figure is the median of repeated runs on this machine; nothing here is asserted.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "backend/devices.h"
#include "bench/prompt.h"
#include "bench/streams.h"
#include "model/error.h"

namespace {

using namespace sonant;
using bench::prompt_rows;
using Clock = std::chrono::steady_clock;

double now_ms() { return std::chrono::duration<double, std::milli>(Clock::now().time_since_epoch()).count(); }

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double resident_mb() {
  std::ifstream statm("/proc/self/statm");
  double total = 0, resident = 0;
  statm >> total >> resident;
  return resident * 4096 / 1e6;
}

struct Options {
  BackendOptions backend;
  std::optional<Precision> precision;
  std::string device = "cpu";
  std::vector<int> batches = {1, 4, 16}, streams;
  int voice_frames = 50, text_rows = 25, frames = 60;
  double seconds = 10;
  bool json = false;
};

class Bench {
 public:
  explicit Bench(const Options& options) : options_(options) {
    const double start = now_ms();
    open();
    description_ = backend_->description;
    threads_ = backend_->threads;
    report("load_ms", now_ms() - start);
    sampling_.seed = 7;
  }

  void run() {
    if (!options_.streams.empty()) return listeners();
    if (backend_->lm) language_model();
    if (backend_->codec) codec();
    if (backend_->lm && backend_->codec) end_to_end();
    report("resident_mb", resident_mb());
  }

  void print() const {
    if (!options_.json) {
      std::printf("%s\n", description_.c_str());
      for (const auto& [name, value] : figures_) std::printf("%-34s %10.3f\n", name.c_str(), value);
      return;
    }
    std::printf("{\"backend\":\"%s\",\"threads\":%d", description_.c_str(), threads_);
    for (const auto& [name, value] : figures_) std::printf(",\"%s\":%.4f", name.c_str(), value);
    std::printf("}\n");
  }

 private:
  void open() {
    OpenedBackend opened = open_backend(options_.device, options_.backend, options_.precision);
    if (!opened.note.empty()) std::fprintf(stderr, "%s\n", opened.note.c_str());
    backend_ = std::move(opened.backend);
  }

  void report(const std::string& name, double value) { figures_.emplace_back(name, value); }

  void listeners() {
    for (const int count : options_.streams) {
      if (!backend_) open();
      for (const auto& [name, value] : bench::run_streams(std::move(backend_), {count, options_.seconds, options_.voice_frames, options_.text_rows})) report(name, value);
    }
  }

  std::shared_ptr<const LmPrefix> voice(uint32_t seed) {
    LanguageModel& lm = *backend_->lm;
    const std::vector<int32_t> rows = prompt_rows(lm.config(), options_.voice_frames, 71, seed);
    auto sequence = lm.create_sequence(nullptr, options_.voice_frames + 71);
    PrefillItem item{sequence.get(), rows.data(), options_.voice_frames + 71, nullptr};
    lm.prefill({&item, 1});
    return lm.freeze(*sequence);
  }

  void language_model() {
    LanguageModel& lm = *backend_->lm;
    std::vector<double> times;
    std::shared_ptr<const LmPrefix> prefix;
    for (int i = 0; i < 3; i++) {
      const double start = now_ms();
      prefix = voice(static_cast<uint32_t>(i + 1));
      times.push_back(now_ms() - start);
    }
    report("voice_prefill_ms", median(times));
    for (const int batch : options_.batches) {
      std::vector<std::unique_ptr<LmSequence>> sequences;
      std::vector<std::vector<int32_t>> codes(batch, std::vector<int32_t>(lm.config().n_vq));
      times.clear();
      for (int b = 0; b < batch; b++) {
        const std::vector<int32_t> rows = prompt_rows(lm.config(), 0, options_.text_rows, static_cast<uint32_t>(b + 9));
        sequences.push_back(lm.create_sequence(prefix, prefix->rows() + options_.text_rows + options_.frames + 8));
        PrefillItem item{sequences.back().get(), rows.data(), options_.text_rows, nullptr};
        const double start = now_ms();
        lm.prefill({&item, 1});
        times.push_back(now_ms() - start);
      }
      if (batch == options_.batches.back()) report("text_prefill_ms", median(times));
      times.clear();
      for (int f = 0; f < options_.frames; f++) {
        std::vector<FrameItem> items;
        for (int b = 0; b < batch; b++) items.push_back({sequences[b].get(), &sampling_, true, codes[b].data()});
        const double start = now_ms();
        lm.step(items);
        times.push_back(now_ms() - start);
      }
      report("frame_ms_batch_" + std::to_string(batch), median(times));
    }
  }

  void codec() {
    Codec& codec = *backend_->codec;
    const CodecConfig& config = codec.config();
    std::vector<int32_t> codes(config.n_codebooks);
    std::vector<float> pcm(static_cast<size_t>(config.frame_samples) * config.channels * *std::max_element(options_.batches.begin(), options_.batches.end()));
    int longest = 1;
    for (const CodecStage& stage : config.decoder) longest = std::max(longest, stage.window / stage.steps_per_frame + 2);
    uint32_t seed = 3;
    for (const int batch : options_.batches) {
      std::vector<std::unique_ptr<CodecStream>> streams;
      for (int b = 0; b < batch; b++) streams.push_back(codec.create_decoder());
      std::vector<double> empty, full;
      for (int f = 0; f < longest + 20; f++) {
        for (int32_t& code : codes) code = static_cast<int32_t>((seed = seed * 1664525u + 1013904223u) >> 8) % config.codebook_size;
        std::vector<DecodeItem> items;
        for (int b = 0; b < batch; b++)
          items.push_back({streams[b].get(), codes.data(), 1, config.n_codebooks, pcm.data() + static_cast<size_t>(b) * config.frame_samples * config.channels});
        const double start = now_ms();
        codec.decode(items);
        const double took = now_ms() - start;
        if (f < 20) empty.push_back(took);
        if (f >= longest) full.push_back(took);
      }
      report("codec_ms_start_batch_" + std::to_string(batch), median(empty));
      report("codec_ms_full_batch_" + std::to_string(batch), median(full));
    }
  }

  // What a listener gets: 150 frames (12 s) of one request with a warm voice.
  void end_to_end() {
    LanguageModel& lm = *backend_->lm;
    Codec& codec = *backend_->codec;
    const auto prefix = voice(1);
    const std::vector<int32_t> rows = prompt_rows(lm.config(), 0, options_.text_rows, 5);
    constexpr int kFrames = 150;
    std::vector<int32_t> codes(lm.config().n_vq);
    std::vector<float> pcm(static_cast<size_t>(codec.config().frame_samples) * codec.config().channels);
    std::vector<double> first, total;
    for (int i = 0; i < 3; i++) {
      const double start = now_ms();
      auto sequence = lm.create_sequence(prefix, prefix->rows() + options_.text_rows + kFrames);
      auto stream = codec.create_decoder();
      PrefillItem prompt{sequence.get(), rows.data(), options_.text_rows, nullptr};
      lm.prefill({&prompt, 1});
      for (int f = 0; f < kFrames; f++) {
        FrameItem frame{sequence.get(), &sampling_, true, codes.data()};
        lm.step({&frame, 1});
        DecodeItem item{stream.get(), codes.data(), 1, codec.config().n_codebooks, pcm.data()};
        codec.decode({&item, 1});
        if (f == 0) first.push_back(now_ms() - start);
      }
      total.push_back(now_ms() - start);
    }
    report("ttfp_ms_warm_voice", median(first));
    report("rtf_12s", median(total) / (kFrames * 1000.0 * codec.config().frame_samples / codec.config().sample_rate));
  }

  const Options options_;
  std::unique_ptr<Backend> backend_;
  std::string description_;
  int threads_ = 0;
  SamplingParams sampling_;
  std::vector<std::pair<std::string, double>> figures_;
};

// "1,4,16", each at least 1.
bool read_counts(const std::string& text, std::vector<int>& counts) {
  counts.clear();
  for (size_t at = 0; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    counts.push_back(std::atoi(text.substr(at, comma - at).c_str()));
    if (counts.back() < 1) return false;
    at = comma + 1;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  const std::map<std::string, std::function<bool(const std::string&)>> flags = {
      {"--device", [&](const std::string& v) { return options.device = v, true; }},
      {"--batches", [&](const std::string& v) { return read_counts(v, options.batches); }},
      {"--streams", [&](const std::string& v) { return read_counts(v, options.streams); }},
      {"--seconds", [&](const std::string& v) { return (options.seconds = std::atof(v.c_str())) > 0; }},
      {"--lm", [&](const std::string& v) { return options.backend.lm_folder = v, true; }},
      {"--codec", [&](const std::string& v) { return options.backend.codec_folder = v, true; }},
      {"--isa", [&](const std::string& v) { return options.backend.isa = v, true; }},
      {"--threads", [&](const std::string& v) { return (options.backend.threads = std::atoi(v.c_str())) > 0; }},
      {"--voice-frames", [&](const std::string& v) { return (options.voice_frames = std::atoi(v.c_str())) > 0; }},
      {"--precision",
       [&](const std::string& v) {
         if (v == "fp32") options.precision = Precision::kFp32;
         else if (v == "bf16") options.precision = Precision::kBf16;
         else if (v == "int8") options.precision = Precision::kInt8;
         else return false;
         return true;
       }},
  };
  for (int i = 1; i < argc; i++) {
    if (std::strcmp(argv[i], "--json") == 0) {
      options.json = true;
      continue;
    }
    const auto flag = flags.find(argv[i]);
    if (flag == flags.end() || i + 1 >= argc || !flag->second(argv[i + 1]))
      return std::fprintf(stderr, "usage: sonant_bench --lm FOLDER --codec FOLDER [--device cpu|cuda[:N]|auto] [--precision fp32|bf16|int8] [--threads N] [--isa NAME]\n"
                                  "                    [--batches N,N] [--voice-frames N] [--streams N,N] [--seconds N] [--json]\n"), 2;
    i++;
  }
  try {
    Bench bench(options);
    bench.run();
    bench.print();
  } catch (const Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
