// The CUDA backend's kernels and models, emulated: the parity ladder, the same draws as the CPU's, and the
// promises of backend.h. What only a card can show (launches, recorded graphs, streams, speed) is checked on
// one, by sonant_parity and sonant_bench with --device cuda.
#include <memory>
#include <new>
#include <vector>

#include "backend/cuda/backend.h"
#include "backend/cuda/emulation/emulation.h"
#include "parity/ladder.h"
#include "test/check.h"

namespace {

using namespace sonant;

BackendOptions options_for(const char* lm, const char* codec, Precision precision) {
  BackendOptions options;
  if (lm) options.lm_folder = test::fixture(lm);
  if (codec) options.codec_folder = test::fixture(codec);
  options.precision = precision;
  return options;
}

struct Prompt {
  std::vector<int32_t> rows;
  int count = 0;
  SamplingParams sampling;
};

Prompt prompt(const LmConfig& config, int count, uint32_t seed) {
  Prompt made{{}, count, {}};
  made.sampling.seed = seed * 1000003ull;
  made.sampling.segment = seed % 3;
  const auto next = [&] { return static_cast<int>((seed = seed * 1664525u + 1013904223u) >> 10); };
  for (int i = 0; i < count; i++) {
    made.rows.push_back(next() % config.vocab_size);
    for (int k = 0; k < config.n_vq; k++) made.rows.push_back(i % 3 ? config.audio_pad_id : next() % config.codebook_sizes[static_cast<size_t>(k)]);
  }
  return made;
}

// Codes of each prompt, all spoken together, `frames` forced frames.
std::vector<std::vector<int32_t>> speak(LanguageModel& lm, const std::vector<Prompt>& prompts, int frames) {
  std::vector<std::unique_ptr<LmSequence>> sequences;
  std::vector<PrefillItem> prefill;
  for (const Prompt& one : prompts) {
    sequences.push_back(lm.create_sequence(nullptr, one.count + frames + 1));
    prefill.push_back({sequences.back().get(), one.rows.data(), one.count, nullptr});
  }
  lm.prefill(prefill);
  std::vector<std::vector<int32_t>> codes(prompts.size());
  for (int f = 0; f < frames; f++) {
    std::vector<std::vector<int32_t>> frame(prompts.size(), std::vector<int32_t>(static_cast<size_t>(lm.config().n_vq)));
    std::vector<FrameItem> items;
    for (size_t i = 0; i < prompts.size(); i++) items.push_back({sequences[i].get(), &prompts[i].sampling, true, frame[i].data()});
    lm.step(items);
    for (size_t i = 0; i < prompts.size(); i++) codes[i].insert(codes[i].end(), frame[i].begin(), frame[i].end());
  }
  return codes;
}

std::vector<Prompt> crowd(const LmConfig& config, int size) {
  std::vector<Prompt> prompts;
  for (int i = 0; i < size; i++) prompts.push_back(prompt(config, 5 + i * 7 % 41, static_cast<uint32_t>(i + 1)));
  return prompts;
}

}  // namespace

TEST(cuda_parity_ladder) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    LadderOptions options;
    options.precision = precision;
    options.create = cuda::create_backend;
    options.brief = true;
    for (const Rung& rung : run_ladder(test::fixture(""), options))
      if (!rung.passed) test::record(false, __FILE__, __LINE__, rung.fixture + " " + rung.name + ": " + std::to_string(rung.error));
  }
}

TEST(cuda_asks_for_larger_slices_and_more_company_than_the_cpu) {
  const BackendOptions options = options_for("lm-tiny", nullptr, Precision::kFp32);
  const auto gpu = cuda::create_backend(options), cpu = create_cpu_backend(options);
  CHECK(gpu->sequences > cpu->sequences && cpu->sequences > 0);
  CHECK(gpu->prefill_rows > cpu->prefill_rows && cpu->prefill_rows > 0);
  CHECK(gpu->encode_frames > cpu->encode_frames && cpu->encode_frames > 0);
}

TEST(cuda_draws_what_the_cpu_draws) {
  const BackendOptions options = options_for("lm-tiny", nullptr, Precision::kFp32);
  const auto gpu = cuda::create_backend(options), cpu = create_cpu_backend(options);
  std::vector<Prompt> prompts = crowd(cpu->lm->config(), 9);
  prompts[1].sampling.audio_top_k = 0;
  prompts[2].sampling.audio_top_p = 1;
  prompts[3].sampling.audio_top_k = 1;
  prompts[4].sampling.repetition_penalty = 3;
  prompts[5].sampling.n_vq = 2;
  prompts[6].sampling.do_sample = false;
  prompts[7].sampling.audio_temperature = 4;
  prompts[8].sampling.audio_top_p = 0.3f;
  const auto want = speak(*cpu->lm, prompts, 12);
  CHECK(speak(*gpu->lm, prompts, 12) == want);
  CHECK(want[0] != want[7]);

  // The decision to stop, undisturbed.
  int stopped = 0;
  for (uint32_t seed = 1; seed <= 24; seed++) {
    Prompt one = prompt(cpu->lm->config(), 6, seed);
    one.sampling.text_temperature = 30;  // makes both likely
    bool decisions[2];
    for (const auto& [at, backend] : {std::pair{0, cpu.get()}, std::pair{1, gpu.get()}}) {
      auto sequence = backend->lm->create_sequence(nullptr, 10);
      PrefillItem item{sequence.get(), one.rows.data(), one.count, nullptr};
      backend->lm->prefill({&item, 1});
      std::vector<int32_t> codes(static_cast<size_t>(cpu->lm->config().n_vq));
      FrameItem frame{sequence.get(), &one.sampling, false, codes.data()};
      backend->lm->step({&frame, 1});
      decisions[at] = frame.stopped;
      CHECK_EQUAL(sequence->frames(), frame.stopped ? 0 : 1);
    }
    CHECK_EQUAL(decisions[0], decisions[1]);
    stopped += decisions[0];
  }
  CHECK(stopped > 0 && stopped < 24);
}

// Batches that take every form of the products: one row tile, two, four, and the large one.
TEST(cuda_company_changes_nothing) {
  for (const Precision precision : {Precision::kFp32, Precision::kBf16}) {
    const auto backend = cuda::create_backend(options_for("lm-tiny", nullptr, precision));
    const std::vector<Prompt> prompts = crowd(backend->lm->config(), 40);
    const auto want = speak(*backend->lm, prompts, 3);
    for (const size_t size : {size_t{1}, size_t{9}, size_t{20}}) {
      const auto got = speak(*backend->lm, {prompts.begin(), prompts.begin() + static_cast<std::ptrdiff_t>(size)}, 3);
      for (size_t i = 0; i < size; i++) CHECK(got[i] == want[i]);
    }
  }
}

TEST(cuda_codec_streams_do_not_mix) {
  const auto backend = cuda::create_backend(options_for(nullptr, "codec-tiny", Precision::kBf16));
  Codec& codec = *backend->codec;
  const int books = codec.config().n_codebooks, frames = 4;
  const size_t values = static_cast<size_t>(codec.config().frame_samples) * codec.config().channels;
  constexpr int kStreams = 5;
  uint32_t seed = 1;
  std::vector<std::vector<int32_t>> codes(kStreams);
  std::vector<std::vector<float>> want(kStreams, std::vector<float>(frames * values)), got = want;
  std::vector<std::unique_ptr<CodecStream>> streams;
  for (int s = 0; s < kStreams; s++) {
    for (int i = 0; i < frames * books; i++) codes[s].push_back(static_cast<int32_t>((seed = seed * 1664525u + 1013904223u) >> 8) % codec.config().codebook_size);
    auto alone = codec.create_decoder();
    DecodeItem item{alone.get(), codes[s].data(), frames, books, want[s].data()};
    codec.decode({&item, 1});
    streams.push_back(codec.create_decoder());
  }
  for (int at = 0; at < frames + kStreams; at++) {  // stream s starts s frames late, so positions differ in a batch
    std::vector<DecodeItem> items;
    for (int s = 0; s < kStreams; s++)
      if (at >= s && at - s < frames) items.push_back({streams[s].get(), codes[s].data() + (at - s) * books, 1, books, got[s].data() + (at - s) * values});
    codec.decode(items);
  }
  CHECK(got == want);
}

// A sequence that finds no memory is refused, harms nobody, and what was taken comes back.
TEST(cuda_survives_running_out_of_memory) {
  const auto backend = cuda::create_backend(options_for("lm-tiny", "codec-tiny", Precision::kFp32));
  LanguageModel& lm = *backend->lm;
  const Prompt one = prompt(lm.config(), 20, 1);
  const auto want = speak(lm, {one}, 2);
  cuda::emulation::limit_bytes(cuda::emulation::allocated_bytes());
  std::vector<std::unique_ptr<LmSequence>> sequences;
  std::vector<std::unique_ptr<CodecStream>> streams;
  const auto take_all = [&] {
    for (int i = 0; i < 100000; i++) streams.push_back(backend->codec->create_decoder());
  };
  bool ran_out = false;
  try {
    take_all();
  } catch (const std::bad_alloc&) {
    ran_out = true;
  } catch (const Error& error) {
    ran_out = error.code() == "overloaded";
  }
  cuda::emulation::limit_bytes(SIZE_MAX);
  CHECK(ran_out);
  const size_t taken = streams.size(), bytes = cuda::emulation::allocated_bytes();
  CHECK(speak(lm, {one}, 2) == want);
  streams.clear();
  for (size_t i = 0; i < taken; i++) streams.push_back(backend->codec->create_decoder());
  CHECK_EQUAL(cuda::emulation::allocated_bytes(), bytes);
}

TEST(cuda_refuses_what_it_cannot_do) {
  CHECK_THROWS_CODE(cuda::create_backend(options_for("lm-tiny", nullptr, Precision::kInt8)), "unsupported");
  const auto backend = cuda::create_backend(options_for("lm-tiny", "codec-tiny", Precision::kFp32));
  LanguageModel& lm = *backend->lm;
  CHECK_THROWS_CODE(lm.create_sequence(nullptr, 0), "bad_request");
  CHECK_THROWS_CODE(lm.create_sequence(nullptr, lm.config().max_positions + 1), "bad_request");
  Prompt bad = prompt(lm.config(), 4, 1);
  bad.rows[2] = lm.config().audio_pad_id + 1;
  auto sequence = lm.create_sequence(nullptr, 10);
  PrefillItem item{sequence.get(), bad.rows.data(), 4, nullptr};
  CHECK_THROWS_CODE(lm.prefill({&item, 1}), "bad_request");
  CHECK_EQUAL(sequence->rows(), 0);
  auto stream = backend->codec->create_decoder();
  std::vector<float> pcm(static_cast<size_t>(backend->codec->config().frame_samples) * backend->codec->config().channels);
  std::vector<int32_t> codes(static_cast<size_t>(backend->codec->config().n_codebooks), backend->codec->config().codebook_size);
  DecodeItem decode{stream.get(), codes.data(), 1, backend->codec->config().n_codebooks, pcm.data()};
  CHECK_THROWS_CODE(backend->codec->decode({&decode, 1}), "bad_request");
}
