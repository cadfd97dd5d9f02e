// The engine on models of other sizes than the released one, over the CPU backend: nothing is made for 16 codebooks
// of 1024 codes and a width of 768.
#include <cstring>

#include "model/quantise.h"
#include "test/shapes_harness.h"

namespace sonant::test {

namespace {

std::unique_ptr<Backend> cpu(const ModelFolders& model, Precision precision, int threads = 1) { return create_cpu_backend(options_of(model, precision, threads)); }

void check_speech(const ShapeRig& rig, const GenerateRequest& request, const Heard& heard) {
  const size_t books = request.sampling.n_vq ? static_cast<size_t>(request.sampling.n_vq) : static_cast<size_t>(rig.lm().n_vq);
  CHECK(heard.end.reason == FinishReason::kLength);
  CHECK_EQUAL(heard.end.error_message, std::string());
  CHECK_EQUAL(heard.frames, request.max_frames);
  CHECK_EQUAL(heard.codes.size(), static_cast<size_t>(request.max_frames) * books);
  for (size_t i = 0; i < heard.codes.size(); i++) CHECK(heard.codes[i] >= 0 && heard.codes[i] < rig.lm().codebook_sizes[i % books]);
  CHECK_EQUAL(heard.pcm.size(), static_cast<size_t>(request.max_frames) * static_cast<size_t>(rig.codec().frame_samples * rig.codec().channels));
  CHECK(std::all_of(heard.pcm.begin(), heard.pcm.end(), [](float sample) { return std::isfinite(sample); }));
}

std::vector<int32_t> integers(const Tensor& tensor) {
  std::vector<int32_t> out(static_cast<size_t>(tensor.count()));
  std::memcpy(out.data(), tensor.data, out.size() * sizeof(int32_t));
  return out;
}

}  // namespace

SHAPE_TEST(shapes_speak_alone_as_in_a_crowd) {
  for (const Precision precision : {Precision::kFp32, Precision::kInt8}) {
    ShapeRig alone(cpu(model_of(shape), precision));
    const std::vector<GenerateRequest> requests = crowd(alone.lm(), 6, 5, 3);
    std::vector<Heard> want;
    for (const GenerateRequest& one : requests) {
      want.push_back(alone.run(one));
      check_speech(alone, one, want.back());
    }
    CHECK(std::vector<int32_t>(want[3].codes.begin(), want[3].codes.begin() + static_cast<std::ptrdiff_t>(want[0].codes.size())) != want[0].codes);
    for (const int threads : {1, 3}) {
      ShapeRig together(cpu(model_of(shape), precision, threads));
      // One that nobody reads stops in the middle, and is cancelled there.
      GenerateRequest endless = speech(together.lm(), 1, 4, 300, 77);
      endless.buffer_frames = 3;
      const RequestId cancelled = together.engine->generate(endless);
      together.listener.wait_frames(cancelled, 3);
      const std::vector<Heard> got = together.run_together(requests, cancelled);
      const Heard ended = together.listener.wait_done(cancelled);
      CHECK(ended.end.reason == FinishReason::kCancelled);
      CHECK_EQUAL(ended.frames, 3);
      for (size_t i = 0; i < requests.size(); i++) CHECK(got[i].codes == want[i].codes && got[i].pcm == want[i].pcm);
      together.check_nothing_left();
    }
  }
}

// Chunks of any size, and the stored codes decoded as a whole, are the same samples, past every window of the codec.
SHAPE_TEST(shapes_stream_what_they_decode_whole) {
  for (const Precision precision : {Precision::kFp32, Precision::kInt8}) {
    ShapeRig rig(cpu(model_of(shape), precision, 2));
    for (const int books : {0, std::max(1, rig.lm().n_vq / 2)}) {
      GenerateRequest one = speech(rig.lm(), 0, 3, 18, 5);
      one.sampling.n_vq = books;
      const Heard by_frame = rig.run(one);
      one.chunks = {.first_frames = 4, .growth = 1, .max_frames = 4};
      const Heard by_four = rig.run(one);
      CHECK(by_frame.chunks == std::vector<int>(18, 1));
      CHECK((by_four.chunks == std::vector<int>{4, 4, 4, 4, 2}));
      const Heard whole = rig.listener.wait_done(rig.engine->decode(by_frame.codes, books ? books : rig.lm().n_vq));
      CHECK_EQUAL(whole.frames, 18);
      CHECK(by_frame.codes == by_four.codes && by_frame.pcm == by_four.pcm && whole.pcm == by_frame.pcm);
      CHECK(std::any_of(whole.pcm.begin(), whole.pcm.end(), [](float sample) { return std::fabs(sample) > 1e-4f; }));
      check_speech(rig, one, by_four);
    }
    GenerateRequest mono = speech(rig.lm(), 0, 3, 4, 5);
    const std::vector<float> all = rig.run(mono).pcm;
    mono.channels = 1;
    const std::vector<float> mean = rig.run(mono).pcm;
    const auto channels = static_cast<size_t>(rig.codec().channels);
    CHECK_EQUAL(mean.size() * channels, all.size());
    for (size_t i = 0; i < mean.size(); i++) {
      double sum = 0;
      for (size_t c = 0; c < channels; c++) sum += all[i * channels + c];
      CHECK_NEAR(mean[i], sum / static_cast<double>(channels), 1e-6);
    }
    rig.check_nothing_left();
  }
}

SHAPE_TEST(shapes_encode_clips_into_their_own_codes) {
  const CodecShape& codec = shape.codec;
  const int channels = std::min(codec.channels, 2);  // of clips
  std::vector<int32_t> first;
  for (const int slice : {1, 8}) {
    ShapeRig rig(cpu(model_of(shape), Precision::kInt8, slice == 1 ? 1 : 3), {.encode_slice_frames = slice});
    const double seconds = 12.4 * codec.frame_samples / codec.rate;
    const Heard heard = rig.listener.wait_done(rig.engine->encode(clip(codec.rate, channels, seconds), channels, codec.rate));
    CHECK_EQUAL(heard.frames, 12);
    CHECK_EQUAL(heard.codes.size(), static_cast<size_t>(12 * codec.books));
    for (const int32_t code : heard.codes) CHECK(code >= 0 && code < codec.entries);
    CHECK(std::count(heard.codes.begin(), heard.codes.end(), heard.codes[0]) < static_cast<std::ptrdiff_t>(heard.codes.size()));
    if (first.empty()) first = heard.codes;
    CHECK(heard.codes == first);
    const Heard from_stereo = rig.listener.wait_done(rig.engine->encode(clip(2 * codec.rate, 2, seconds), 2, 2 * codec.rate));
    CHECK_EQUAL(from_stereo.frames, 12);
    rig.check_nothing_left();
  }
}

SHAPE_TEST(shapes_refuse_what_does_not_fit) {
  ShapeRig rig(cpu(model_of(shape), Precision::kInt8));
  const LmConfig& lm = rig.lm();
  const auto width = static_cast<size_t>(lm.row_width());
  const GenerateRequest good = speech(lm, 0, 3, 4, 1);
  const auto refused = [&](auto change, const std::string& sentence) {
    GenerateRequest bad = good;
    change(bad);
    CHECK_THROWS_SAYING(rig.engine->generate(bad), "bad_request", sentence);
  };
  refused([](GenerateRequest& r) { r.text_rows.pop_back(); }, "text_rows holds " + std::to_string(3 * width - 1) + " ids, which do not make whole rows of " + std::to_string(width));
  refused([](GenerateRequest& r) { r.prefix_rows.pop_back(); }, "do not make whole rows of " + std::to_string(width));
  refused([&](GenerateRequest& r) { r.text_rows[width] = lm.vocab_size; },
          "text ids must be between 0 and " + std::to_string(lm.vocab_size - 1) + ", not " + std::to_string(lm.vocab_size));
  for (int book = 0; book < lm.n_vq; book++) {
    const int size = lm.codebook_sizes[static_cast<size_t>(book)], outside = size == lm.audio_pad_id ? size + 1 : size;
    refused([&](GenerateRequest& r) { r.prefix_rows[1 + static_cast<size_t>(book)] = outside; },
            "codes must be between 0 and " + std::to_string(size - 1) + ", not " + std::to_string(outside));
  }
  refused([&](GenerateRequest& r) { r.sampling.n_vq = lm.n_vq + 1; }, "from 1 to " + std::to_string(lm.n_vq));
  refused([&](GenerateRequest& r) { r.max_frames = lm.max_positions; }, "do not fit the model's " + std::to_string(lm.max_positions) + " positions");
  refused([&](GenerateRequest& r) { r.channels = rig.codec().channels + 1; }, std::to_string(rig.codec().channels) + ", not " + std::to_string(rig.codec().channels + 1));

  const int books = shape.codec.books, entries = shape.codec.entries;
  CHECK_THROWS_SAYING(rig.engine->decode(std::vector<int32_t>(static_cast<size_t>(books) + 1), books + 1), "bad_request", "between 1 and " + std::to_string(books));
  CHECK_THROWS_SAYING(rig.engine->decode(std::vector<int32_t>(static_cast<size_t>(books), entries), books), "bad_request",
                      "between 0 and " + std::to_string(entries - 1) + ", not " + std::to_string(entries));
  const double ms = 1000.0 * shape.codec.frame_samples / shape.codec.rate;
  CHECK_THROWS_SAYING(rig.engine->encode(std::vector<float>(static_cast<size_t>(shape.codec.frame_samples) - 1), 1, shape.codec.rate), "bad_request",
                      "shorter than one frame of " + std::to_string(static_cast<int>(ms)) + " ms");
  check_speech(rig, good, rig.run(good));
}

// Kernels take widths in steps of 16, int8 in groups of 64; what is left over must not count.
SHAPE_TEST(shapes_numbers_agree_on_every_instruction_set_and_precision) {
  constexpr int kRows = 70;  // more than a block of the cache
  const std::vector<float> want = hidden_of(*cpu(model_of(shape), Precision::kFp32)->lm, kRows);
  for (const char* isa : {"avx512", "avx2", "neon", "generic"}) {
    BackendOptions options = options_of(model_of(shape), Precision::kFp32, 2);
    options.isa = isa;
    try {
      CHECK_NEAR(relative_error(hidden_of(*create_cpu_backend(options)->lm, kRows), want), 0, 1e-4);
      options.precision = Precision::kInt8;
      CHECK_NEAR(relative_error(hidden_of(*create_cpu_backend(options)->lm, kRows), want), 0, 0.1);
    } catch (const Error& error) {
      CHECK(error.code() == "unsupported" && std::string(isa) != "generic");
    }
  }
  const ModelFolders stored{temporary_folder(), model_of(shape).codec};
  quantise_checkpoint(model_of(shape).lm, stored.lm, [](const std::string&) { return false; });
  CHECK_NEAR(relative_error(hidden_of(*cpu(stored, Precision::kInt8)->lm, kRows), want), 0, 0.1);
}

// What the original made of its own small models, asked of the whole engine.
TEST(shapes_of_the_original_give_its_codes) {
  for (const char* name : {"lm-tiny", "lm-small"}) {
    const auto expected = Checkpoint::open_file(fixture(name) + "/expected.safetensors");
    for (const int threads : {1, 3}) {
      BackendOptions options;
      options.lm_folder = fixture(name);
      options.precision = Precision::kFp32;
      options.threads = threads;
      ShapeRig rig(create_cpu_backend(options), {.prefill_slice_rows = 7});
      GenerateRequest greedy;
      greedy.text_rows = integers(expected->get("prompt_rows"));
      greedy.max_frames = static_cast<int>(expected->get("greedy_codes").rows());
      greedy.sampling.do_sample = false;
      greedy.sampling.repetition_penalty = 1;
      greedy.want_codes = greedy.ignore_stop = true;
      greedy.want_audio = false;
      CHECK(rig.run(greedy).codes == integers(expected->get("greedy_codes")));
    }
  }
}

// A language model may draw more books than its codec has, or fewer; its books may not be larger.
TEST(shapes_of_model_and_codec_must_agree) {
  const Shape& deeper = *std::find_if(shapes().begin(), shapes().end(), [](const Shape& one) { return static_cast<int>(one.lm.books.size()) < one.codec.books; });
  CodecShape shallow = deeper.codec;
  shallow.books = 2;
  ShapeRig rig(cpu({model_of(deeper).lm, make_codec(shallow)}, Precision::kFp32));
  const GenerateRequest request = speech(rig.lm(), 0, 3, 5, 2);
  const Heard heard = rig.run(request);
  check_speech(rig, request, heard);
  std::vector<int32_t> first_two;
  for (size_t i = 0; i < heard.codes.size(); i++)
    if (i % deeper.lm.books.size() < 2) first_two.push_back(heard.codes[i]);
  CHECK(rig.listener.wait_done(rig.engine->decode(first_two, 2)).pcm == heard.pcm);

  CodecShape smaller = deeper.codec;
  smaller.entries = deeper.lm.books[0] - 1;
  const ModelFolders wrong{model_of(deeper).lm, make_codec(smaller)};
  CHECK_THROWS_SAYING(ShapeRig(cpu(wrong, Precision::kInt8)), "model_invalid", "Codebook 0 of the language model has 300 codes, but those of the codec have 299");
}

}  // namespace sonant::test
