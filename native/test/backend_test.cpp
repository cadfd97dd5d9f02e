// The CPU backend at its interface: the parity ladder on every instruction set, and the promises of
// backend.h (company, slices, threads and chunk sizes never change a result; bad rows are refused).
#include <memory>
#include <vector>

#include "backend/backend.h"
#include "parity/ladder.h"
#include "test/check.h"

namespace {

using namespace sonant;

std::unique_ptr<Backend> load(const char* lm, const char* codec, Precision precision, int threads, const char* isa = "") {
  BackendOptions options;
  if (lm) options.lm_folder = test::fixture(lm);
  if (codec) options.codec_folder = test::fixture(codec);
  options.precision = precision;
  options.threads = threads;
  options.isa = isa;
  return create_cpu_backend(options);
}

std::vector<int32_t> prompt(const LmConfig& config, int n, uint32_t seed) {
  std::vector<int32_t> rows;
  const auto next = [&] { return static_cast<int>((seed = seed * 1664525u + 1013904223u) >> 10); };
  for (int i = 0; i < n; i++) {
    rows.push_back(next() % config.vocab_size);
    for (int k = 0; k < config.n_vq; k++) rows.push_back(i % 3 ? config.audio_pad_id : next() % config.codebook_sizes[k]);
  }
  return rows;
}

SamplingParams sampling(uint64_t seed) {
  SamplingParams params;
  params.seed = seed;
  return params;
}

// Codes of `frames` forced frames of one prompt alone.
std::vector<int32_t> alone(LanguageModel& lm, const std::vector<int32_t>& rows, uint64_t seed, int frames) {
  const int n = static_cast<int>(rows.size()) / lm.config().row_width();
  auto sequence = lm.create_sequence(nullptr, n + frames + 1);
  PrefillItem item{sequence.get(), rows.data(), n, nullptr};
  lm.prefill({&item, 1});
  std::vector<int32_t> out;
  const SamplingParams params = sampling(seed);
  for (int f = 0; f < frames; f++) {
    std::vector<int32_t> codes(lm.config().n_vq);
    FrameItem frame{sequence.get(), &params, true, codes.data()};
    lm.step({&frame, 1});
    out.insert(out.end(), codes.begin(), codes.end());
  }
  return out;
}

}  // namespace

TEST(backend_parity_ladder) {
  for (const char* isa : {"avx512", "avx2", "neon", "generic"})
    for (const Precision precision : {Precision::kFp32, Precision::kBf16, Precision::kInt8}) {
      LadderOptions options;
      options.precision = precision;
      options.isa = isa;
      options.threads = precision == Precision::kFp32 ? 3 : 1;
      try {
        for (const Rung& rung : run_ladder(test::fixture(""), options))
          if (!rung.passed) test::record(false, __FILE__, __LINE__, std::string(isa) + " " + rung.fixture + " " + rung.name + ": " + std::to_string(rung.error));
      } catch (const Error& error) {
        CHECK(error.code() == "unsupported" && std::string(isa) != "generic");
      }
    }
  CHECK_THROWS_CODE(run_ladder(test::temporary_folder(), {}), "model_missing");
}

TEST(backend_company_and_threads_change_nothing) {
  for (const Precision precision : {Precision::kFp32, Precision::kInt8}) {
    const auto one = load("lm-small", nullptr, precision, 1), four = load("lm-small", nullptr, precision, 4);
    constexpr int kFrames = 6, kCrowd = 16;
    std::vector<std::vector<int32_t>> rows, want;
    for (int i = 0; i < kCrowd; i++) {
      rows.push_back(prompt(one->lm->config(), 20 + 7 * i, static_cast<uint32_t>(i + 1)));
      want.push_back(alone(*one->lm, rows.back(), static_cast<uint64_t>(i * 1000003), kFrames));
      CHECK(alone(*four->lm, rows.back(), static_cast<uint64_t>(i * 1000003), kFrames) == want.back());
    }
    CHECK(want[0] != want[1]);
    for (Backend* backend : {one.get(), four.get()}) {
      LanguageModel& lm = *backend->lm;
      std::vector<std::unique_ptr<LmSequence>> sequences;
      std::vector<PrefillItem> prefill;
      for (const auto& r : rows) {
        const int n = static_cast<int>(r.size()) / lm.config().row_width();
        sequences.push_back(lm.create_sequence(nullptr, n + kFrames + 1));
        prefill.push_back({sequences.back().get(), r.data(), n, nullptr});
      }
      lm.prefill(prefill);
      std::vector<SamplingParams> params;
      for (int i = 0; i < kCrowd; i++) params.push_back(sampling(static_cast<uint64_t>(i * 1000003)));
      std::vector<std::vector<int32_t>> got(kCrowd);
      for (int f = 0; f < kFrames; f++) {
        std::vector<std::vector<int32_t>> codes(kCrowd, std::vector<int32_t>(lm.config().n_vq));
        std::vector<FrameItem> items;
        for (int i = 0; i < kCrowd; i++) items.push_back({sequences[i].get(), &params[i], true, codes[i].data()});
        lm.step(items);
        for (int i = 0; i < kCrowd; i++) got[i].insert(got[i].end(), codes[i].begin(), codes[i].end());
      }
      CHECK(got == want);
    }
  }
}

TEST(backend_fewer_codebooks_leave_padding) {
  const auto backend = load("lm-small", nullptr, Precision::kFp32, 1);
  LanguageModel& lm = *backend->lm;
  const std::vector<int32_t> rows = prompt(lm.config(), 12, 5);
  auto sequence = lm.create_sequence(nullptr, 40);
  PrefillItem item{sequence.get(), rows.data(), 12, nullptr};
  lm.prefill({&item, 1});
  SamplingParams params = sampling(3);
  params.n_vq = 5;
  for (int f = 0; f < 3; f++) {
    std::vector<int32_t> codes(lm.config().n_vq, -1);
    FrameItem frame{sequence.get(), &params, true, codes.data()};
    lm.step({&frame, 1});
    for (int k = 0; k < lm.config().n_vq; k++) CHECK(k < 5 ? codes[k] >= 0 && codes[k] < lm.config().codebook_sizes[k] : codes[k] == lm.config().audio_pad_id);
  }
  CHECK_EQUAL(sequence->rows(), 14);  // the last frame's row waits for the next step
  CHECK_EQUAL(sequence->frames(), 3);
}

TEST(backend_stops_by_the_text_decision) {
  const auto backend = load("lm-small", nullptr, Precision::kFp32, 2);
  LanguageModel& lm = *backend->lm;
  int stopped = 0;
  for (uint64_t seed = 0; seed < 24; seed++) {
    const std::vector<int32_t> rows = prompt(lm.config(), 9, static_cast<uint32_t>(seed + 1));
    auto sequence = lm.create_sequence(nullptr, 64);
    PrefillItem item{sequence.get(), rows.data(), 9, nullptr};
    lm.prefill({&item, 1});
    const SamplingParams params = sampling(seed);
    std::vector<int32_t> codes(lm.config().n_vq, -7);
    float text[2];
    FrameItem frame{sequence.get(), &params, false, codes.data()};
    frame.text_logits = text;
    lm.step({&frame, 1});
    const double p = 1.0 / (1.0 + std::exp(static_cast<double>(text[1]) - text[0]));
    CHECK_EQUAL(frame.stopped, !(philox_uniform(seed, 0, 0, 0) < p));
    CHECK_EQUAL(codes[0] == -7, frame.stopped);
    CHECK_EQUAL(sequence->frames(), frame.stopped ? 0 : 1);
    stopped += frame.stopped;
  }
  CHECK(stopped > 0 && stopped < 24);
}

TEST(backend_refuses_bad_rows_and_codes) {
  const auto backend = load("lm-tiny", "codec-tiny", Precision::kInt8, 1);
  LanguageModel& lm = *backend->lm;
  const LmConfig& config = lm.config();
  CHECK_THROWS_CODE(lm.create_sequence(nullptr, 0), "bad_request");
  CHECK_THROWS_CODE(lm.create_sequence(nullptr, config.max_positions + 1), "bad_request");
  for (const int bad : {-1, config.vocab_size}) {
    std::vector<int32_t> rows = prompt(config, 4, 1);
    rows[config.row_width()] = bad;
    auto sequence = lm.create_sequence(nullptr, 10);
    PrefillItem item{sequence.get(), rows.data(), 4, nullptr};
    CHECK_THROWS_CODE(lm.prefill({&item, 1}), "bad_request");
    CHECK_EQUAL(sequence->rows(), 0);
  }
  std::vector<int32_t> rows = prompt(config, 4, 1);
  rows[2] = config.audio_pad_id + 1;
  auto sequence = lm.create_sequence(nullptr, 10);
  PrefillItem item{sequence.get(), rows.data(), 4, nullptr};
  CHECK_THROWS_CODE(lm.prefill({&item, 1}), "bad_request");
  rows[2] = 0;
  auto small = lm.create_sequence(nullptr, 3);
  PrefillItem too_long{small.get(), rows.data(), 4, nullptr};
  CHECK_THROWS_CODE(lm.prefill({&too_long, 1}), "bad_request");

  Codec& codec = *backend->codec;
  auto stream = codec.create_decoder();
  std::vector<float> pcm(static_cast<size_t>(codec.config().frame_samples) * codec.config().channels);
  std::vector<int32_t> codes(codec.config().n_codebooks, codec.config().codebook_size);
  DecodeItem decode{stream.get(), codes.data(), 1, codec.config().n_codebooks, pcm.data()};
  CHECK_THROWS_CODE(codec.decode({&decode, 1}), "bad_request");
  decode.n_books = codec.config().n_codebooks + 1;
  CHECK_THROWS_CODE(codec.decode({&decode, 1}), "bad_request");
}

TEST(backend_codec_streams_do_not_mix) {
  for (const Precision precision : {Precision::kFp32, Precision::kInt8}) {
    const auto backend = load(nullptr, "codec-tiny", precision, 2);
    Codec& codec = *backend->codec;
    const int books = codec.config().n_codebooks, frames = 70;  // past every window and ring
    const size_t values = static_cast<size_t>(codec.config().frame_samples) * codec.config().channels;
    constexpr int kStreams = 19;  // more than share one pass
    std::vector<std::vector<int32_t>> codes(kStreams);
    std::vector<std::vector<float>> want(kStreams, std::vector<float>(frames * values)), got = want;
    uint32_t seed = 1;
    for (int s = 0; s < kStreams; s++) {
      for (int i = 0; i < frames * books; i++) codes[s].push_back(static_cast<int32_t>((seed = seed * 1664525u + 1013904223u) >> 8) % codec.config().codebook_size);
      auto stream = codec.create_decoder();
      DecodeItem item{stream.get(), codes[s].data(), frames, books, want[s].data()};
      codec.decode({&item, 1});
    }
    std::vector<std::unique_ptr<CodecStream>> streams;
    for (int s = 0; s < kStreams; s++) streams.push_back(codec.create_decoder());
    for (int at = 0; at < frames; at += 2) {  // stream s starts s frames late, so positions differ in a batch
      std::vector<DecodeItem> items;
      for (int s = 0; s < kStreams; s++) items.push_back({streams[s].get(), codes[s].data() + static_cast<size_t>(at) * books, 1 + (s + at / 2) % 2, books, got[s].data() + at * values});
      codec.decode(items);
      items.clear();
      for (int s = 0; s < kStreams; s++)
        if ((s + at / 2) % 2 == 0) items.push_back({streams[s].get(), codes[s].data() + static_cast<size_t>(at + 1) * books, 1, books, got[s].data() + (at + 1) * values});
      codec.decode(items);
    }
    CHECK(got == want);
  }
}
