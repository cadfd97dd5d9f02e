// The CUDA backend's sources, emulated, on the same shapes: equal to the CPU backend, alone as in a crowd, or refused.
#include "backend/cuda/backend.h"
#include "test/shapes_harness.h"

namespace sonant::test {

namespace {

std::unique_ptr<Backend> cpu(const ModelFolders& model) { return create_cpu_backend(options_of(model, Precision::kFp32)); }
std::unique_ptr<Backend> gpu(const ModelFolders& model, Precision precision) { return cuda::create_backend(options_of(model, precision)); }

// Whether the shape is one that the backend refuses, and if so, that it does.
bool is_refused(const Shape& shape) {
  if (shape.cuda_refusal) CHECK_THROWS_SAYING(gpu(model_of(shape), Precision::kBf16), "unsupported", shape.cuda_refusal);
  return shape.cuda_refusal != nullptr;
}

}  // namespace

SHAPE_TEST(cuda_shapes_speak_and_encode_as_the_cpu) {
  if (is_refused(shape)) return;
  ShapeRig plain(cpu(model_of(shape))), emulated(gpu(model_of(shape), Precision::kFp32));
  const std::vector<GenerateRequest> requests = crowd(plain.lm(), 3, 1, 2);
  const std::vector<Heard> want = plain.run_together(requests), got = emulated.run_together(requests);
  for (size_t i = 0; i < requests.size(); i++) {
    CHECK(got[i].codes == want[i].codes);
    CHECK_NEAR(relative_error(got[i].pcm, want[i].pcm), 0, 1e-4);
  }
  const CodecShape& codec = shape.codec;
  const int channels = std::min(codec.channels, 2);
  const std::vector<float> sound = clip(codec.rate, channels, 3.5 * codec.frame_samples / codec.rate);
  const auto codes_of = [&](ShapeRig& rig) { return rig.listener.wait_done(rig.engine->encode(sound, channels, codec.rate)).codes; };
  CHECK_EQUAL(codes_of(emulated).size(), static_cast<size_t>(3 * codec.books));
  CHECK(codes_of(emulated) == codes_of(plain));
  emulated.check_nothing_left();
}

// In bf16, by the tensor cores' product.
SHAPE_TEST(cuda_shapes_speak_alone_as_in_a_crowd) {
  if (is_refused(shape)) return;
  ShapeRig rig(gpu(model_of(shape), Precision::kBf16));
  const std::vector<GenerateRequest> requests = crowd(rig.lm(), 2, 1, 2);
  std::vector<Heard> alone;
  for (const GenerateRequest& one : requests) alone.push_back(rig.run(one));
  const std::vector<Heard> together = rig.run_together(requests);
  for (size_t i = 0; i < requests.size(); i++) {
    CHECK(alone[i].codes == together[i].codes && alone[i].pcm == together[i].pcm);
    CHECK_EQUAL(alone[i].frames, requests[i].max_frames);
    CHECK(std::all_of(alone[i].pcm.begin(), alone[i].pcm.end(), [](float sample) { return std::isfinite(sample); }));
  }
  rig.check_nothing_left();
  const auto narrow = gpu({model_of(shape).lm, ""}, Precision::kBf16), exact = cpu({model_of(shape).lm, ""});
  CHECK_NEAR(relative_error(hidden_of(*narrow->lm, 34), hidden_of(*exact->lm, 34)), 0, 0.05);
}

TEST(cuda_refuses_shapes_it_has_no_kernels_for) {
  const Shape& base = shapes()[1];
  const auto refused = [&](auto change, const std::string& sentence) {
    LmShape shape = base.lm;
    change(shape);
    const ModelFolders model{make_lm(shape), ""};
    CHECK_THROWS_SAYING(gpu(model, Precision::kBf16), "unsupported", sentence);
    CHECK_EQUAL(create_cpu_backend(options_of(model, Precision::kInt8))->lm->config().n_vq, static_cast<int>(shape.books.size()));
  };
  refused([](LmShape& s) { s.width = 130, s.heads = 1; }, "attention heads of up to 128 values, not 130");
  refused([](LmShape& s) { s.feed_forward = 65; }, "an even number of rows, not 65");
  refused([](LmShape& s) { s.books.back() = 49; }, "an even number of rows, not 49");
  refused([](LmShape& s) { s.books.assign(32, 20); }, "up to 31 codebooks, not 32");
  CHECK_THROWS_SAYING(gpu(model_of(base), Precision::kInt8), "unsupported", "bf16 or fp32, not in int8");
}

}  // namespace sonant::test
