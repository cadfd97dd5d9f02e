// Encoding references and decoding stored codes beside running streams.
#include <cmath>

#include "engine/resample_window.h"
#include "model/resampler.h"
#include "test/engine_harness.h"

namespace sonant::test {

namespace {

std::vector<float> tone(size_t n, float step) {
  std::vector<float> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = std::sin(step * static_cast<float>(i));
  return out;
}

}  // namespace

TEST(resample_window_equals_the_whole) {
  const std::pair<int, int> rates[] = {{44100, 48000}, {16000, 48000}, {48000, 16000}, {8000, 8000},
                                       {22050, 48000}, {48000, 44100}, {11025, 1000}};
  for (const auto& [from, to] : rates) {
    const std::vector<float> in = tone(30011, 0.05f);
    const std::vector<float> whole = resample(in.data(), in.size(), from, to);
    const ResampleWindow window(from, to);
    REQUIRE(window.output_size(30011) == static_cast<int64_t>(whole.size()));
    for (const int64_t count : {37, 700, 3840}) {
      std::vector<float> pieces(whole.size());
      for (int64_t first = 0; first < static_cast<int64_t>(whole.size()); first += count) {
        const int64_t n = std::min(count, static_cast<int64_t>(whole.size()) - first);
        window.read(in.data(), 30011, first, n, pieces.data() + first);
      }
      CHECK(pieces == whole);
    }
  }
}

TEST(engine_encodes_whole_frames) {
  Rig rig({.encode_slice_frames = 3});
  const std::vector<float> stereo = tone(2 * 850, 0.1f);  // 10.6 frames of 80
  const Heard heard = rig.listener.wait_done(rig.engine->encode(stereo, 2, 1000));
  CHECK_EQUAL(heard.frames, 10);
  CHECK_EQUAL(heard.codes.size(), 40u);
  CHECK(heard.end.reason == FinishReason::kStop);
  CHECK_EQUAL(rig.state->calls, std::string("eeee"));
  Rig in_one_slice({.encode_slice_frames = 100});
  CHECK(in_one_slice.listener.wait_done(in_one_slice.engine->encode(stereo, 2, 1000)).codes == heard.codes);
  rig.check_nothing_left();
}

TEST(engine_encodes_mono_as_two_equal_channels) {
  Rig rig;
  const std::vector<float> mono = tone(800, 0.1f);
  std::vector<float> stereo;
  for (const float sample : mono) stereo.insert(stereo.end(), 2, sample);
  const Heard from_mono = rig.listener.wait_done(rig.engine->encode(mono, 1, 1000));
  const Heard from_stereo = rig.listener.wait_done(rig.engine->encode(stereo, 2, 1000));
  CHECK(from_mono.codes == from_stereo.codes);
}

TEST(engine_encodes_other_rates_as_if_resampled_before) {
  Rig rig({.encode_slice_frames = 2});
  const std::vector<float> in = tone(9000, 0.03f);
  const std::vector<float> resampled = resample(in.data(), in.size(), 2756, 1000);
  const Heard sliced = rig.listener.wait_done(rig.engine->encode(in, 1, 2756));
  CHECK(sliced.codes == rig.listener.wait_done(rig.engine->encode(resampled, 1, 1000)).codes);
}

TEST(engine_decodes_what_a_stream_would_deliver) {
  Rig rig({.encode_slice_frames = 4});
  const Heard spoken = rig.run(request(3, 18));
  const Heard decoded = rig.listener.wait_done(rig.engine->decode(spoken.codes, 4));
  CHECK(decoded.pcm == spoken.pcm);
  CHECK_EQUAL(decoded.frames, 18);
}

TEST(engine_jobs_never_stall_a_stream_by_more_than_a_slice) {
  Rig rig({.encode_slice_frames = 2});
  const RequestId speaking = rig.engine->generate(running(*rig.state));
  rig.listener.wait_frames(speaking, 2);
  rig.listener.wait_done(rig.engine->encode(tone(80 * 40, 0.1f), 1, 1000));
  rig.engine->cancel(speaking);
  rig.listener.wait_done(speaking);
  CHECK_EQUAL(rig.state->calls.find("ee"), std::string::npos);
}

TEST(engine_jobs_can_be_cancelled) {
  Rig rig({.encode_slice_frames = 1});
  // Somebody speaks whose steps are let through one by one, so that the job stands still in its middle.
  Gate gate;
  const GenerateRequest endless = running(*rig.state);
  rig.state->on_step = [&](int) { gate.wait(); };
  const RequestId speaking = rig.engine->generate(endless);
  gate.wait_arrival(1);
  const RequestId long_one = rig.engine->encode(tone(80 * 50, 0.1f), 1, 1000);
  const RequestId waiting = rig.engine->encode(tone(800, 0.1f), 1, 1000);
  for (int step = 2; rig.state->calls.find('e') == std::string::npos; ++step) {
    gate.pass();
    gate.wait_arrival(step);
  }
  for (const RequestId id : {waiting, long_one, speaking}) rig.engine->cancel(id);
  gate.open();
  rig.listener.wait_done(speaking);
  for (const RequestId id : {long_one, waiting}) {
    const Heard heard = rig.listener.wait_done(id);
    CHECK(heard.end.reason == FinishReason::kCancelled);
    CHECK(heard.codes.empty());
  }
  rig.check_nothing_left();
}

TEST(engine_jobs_fail_alone) {
  Rig rig;
  std::vector<int32_t> broken(40, 5);
  broken[0] = 63;
  const Heard failed = rig.listener.wait_done(rig.engine->decode(broken, 4));
  CHECK(failed.end.reason == FinishReason::kError);
  CHECK_EQUAL(failed.end.error_code, std::string("bad_request"));
  CHECK_EQUAL(rig.listener.wait_done(rig.engine->decode(std::vector<int32_t>(40, 5), 4)).frames, 10);
  rig.check_nothing_left();
}

TEST(engine_refuses_bad_jobs) {
  Rig rig;
  CHECK_THROWS_SAYING(rig.engine->encode(tone(80, 1), 3, 1000), "bad_request", "1 or 2 channels, not 3");
  CHECK_THROWS_SAYING(rig.engine->encode(tone(81, 1), 2, 1000), "bad_request", "81 samples do not divide into 2");
  CHECK_THROWS_SAYING(rig.engine->encode(tone(79, 1), 1, 1000), "bad_request", "shorter than one frame of 80 ms");
  CHECK_THROWS_SAYING(rig.engine->encode({}, 1, 1000), "bad_request", "shorter than one frame");
  CHECK_THROWS_CODE(rig.engine->encode(tone(80, 1), 1, 10), "bad_request");
  CHECK_THROWS_SAYING(rig.engine->encode(std::vector<float>(80, NAN), 1, 1000), "bad_request", "not finite");
  CHECK_THROWS_SAYING(rig.engine->decode({1, 2, 3}, 4), "bad_request", "3 codes do not make whole frames of 4");
  CHECK_THROWS_SAYING(rig.engine->decode({}, 4), "bad_request", "0 codes do not make whole frames");
  CHECK_THROWS_SAYING(rig.engine->decode({1, 2, 64, 4}, 4), "bad_request", "between 0 and 63, not 64");
  CHECK_THROWS_SAYING(rig.engine->decode({1, 2, 3, 4, 5}, 5), "bad_request", "between 1 and 4, not 5");
  const EngineLimits narrow{.max_waiting = 1};
  Rig full(narrow);
  const RequestId first = full.engine->decode(std::vector<int32_t>(400000, 5), 4);
  full.engine->decode(std::vector<int32_t>(400, 5), 4);
  CHECK_THROWS_CODE(full.engine->decode(std::vector<int32_t>(400, 5), 4), "overloaded");
  full.engine->cancel(first);
}

}  // namespace sonant::test
