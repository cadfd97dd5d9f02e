// Generation as one caller sees it: what is delivered, in which pieces, and what is refused.
#include <set>

#include "engine/chunker.h"
#include "test/engine_harness.h"

namespace sonant::test {

TEST(engine_delivers_frames_then_one_end) {
  Rig rig;
  const Heard heard = rig.run(request(5, 7));
  CHECK_EQUAL(heard.frames, 7);
  CHECK_EQUAL(heard.pcm.size(), 7u * 80 * 2);
  CHECK_EQUAL(heard.codes.size(), 7u * 4);
  CHECK(heard.chunks == std::vector<int>(7, 1));
  CHECK(heard.end.reason == FinishReason::kStop);
  CHECK(heard.end.error_code.empty());
  CHECK_EQUAL(heard.end.stats.frames, 7);
  CHECK_EQUAL(heard.end.stats.prompt_rows, 5);
  CHECK_EQUAL(heard.end.stats.cached_rows, 0);
  CHECK(heard.end.stats.total_ms >= heard.end.stats.first_audio_ms);
  rig.check_nothing_left();
  const EngineStats stats = rig.engine->stats();
  CHECK_EQUAL(stats.frames, 7u);
  CHECK_EQUAL(stats.steps, 8u);
  CHECK_EQUAL(stats.prefill_rows, 5u);
  CHECK_EQUAL(stats.weight_bytes, 77u);
}

TEST(engine_ends_at_the_frame_limit) {
  Rig rig;
  GenerateRequest endless = request(3, kEndless);
  endless.max_frames = 4;
  const Heard heard = rig.run(endless);
  CHECK_EQUAL(heard.frames, 4);
  CHECK(heard.end.reason == FinishReason::kLength);
}

TEST(engine_ends_without_a_frame_when_the_model_stops_at_once) {
  Rig rig;
  const Heard heard = rig.run(request(3, 0));
  CHECK_EQUAL(heard.frames, 0);
  CHECK(heard.end.reason == FinishReason::kStop);
}

TEST(engine_first_frame_follows_its_prompt_in_the_same_tick) {
  Rig rig;
  rig.run(request(3, 2));
  CHECK_EQUAL(rig.state->calls, std::string("psdsds"));
}

TEST(engine_gathers_chunks_by_policy) {
  Rig rig;
  GenerateRequest grown = request(2, 20);
  grown.chunks = {.first_frames = 1, .growth = 2, .max_frames = 6};
  const Heard heard = rig.run(grown);
  CHECK((heard.chunks == std::vector<int>{1, 2, 4, 6, 6, 1}));
  CHECK(heard.pcm == rig.run(request(2, 20)).pcm);
}

TEST(chunker_holds_frames_no_longer_than_it_may) {
  const auto at = [](int ms) { return Time{} + std::chrono::milliseconds(ms); };
  Chunker chunker({.first_frames = 2, .growth = 4, .max_frames = 8, .hold_ms = 10}, 0, 0);
  CHECK(!chunker.held_past(at(1000)));  // nothing is held
  chunker.add(nullptr, at(0));
  CHECK(!chunker.held_past(at(1000)));  // the first chunk has the length that was asked for
  chunker.add(nullptr, at(20));
  chunker.take(1);
  chunker.add(nullptr, at(40));
  chunker.add(nullptr, at(45));
  CHECK(!chunker.held_past(at(50)));
  CHECK(chunker.held_past(at(51)));  // counted from the older of the two
  CHECK_EQUAL(chunker.take(1).frames, 2);
  CHECK(!chunker.held_past(at(51)));
}

TEST(engine_lets_frames_travel_together_that_come_fast) {
  Rig rig;
  GenerateRequest held = request(3, 20);
  held.chunks = {.first_frames = 1, .growth = 6, .max_frames = 6, .hold_ms = 60'000};
  CHECK((rig.run(held).chunks == std::vector<int>{1, 6, 6, 6, 1}));
}

TEST(engine_holds_no_frames_where_each_takes_longer_than_it_may_hold_them) {
  for (const bool beside : {false, true}) {
    const auto state = std::make_shared<FakeState>();
    state->beside = beside;
    state->on_step = [](int) { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
    Rig rig({}, state);
    GenerateRequest held = request(3, 12);
    held.chunks = {.first_frames = 1, .growth = 6, .max_frames = 6, .hold_ms = 2};
    CHECK(rig.run(held).chunks == std::vector<int>(12, 1));
  }
}

TEST(chunker_grows_slowly_without_losing_fractions) {
  Chunker chunker({.first_frames = 1, .growth = 1.5f, .max_frames = 4}, 2, 1);
  std::vector<int> sizes;
  for (int32_t frame = 0; frame < 12; ++frame) {
    chunker.next_pcm()[0] = static_cast<float>(frame);
    chunker.add(&frame, {});
    if (!chunker.full()) continue;
    const Event event = chunker.take(3);
    CHECK_EQUAL(event.pcm.size(), static_cast<size_t>(event.frames) * 2);
    CHECK_EQUAL(event.codes.back(), frame);
    sizes.push_back(event.frames);
  }
  CHECK((sizes == std::vector<int>{1, 1, 2, 3, 4}));
}

TEST(engine_delivers_what_was_asked_for) {
  Rig rig;
  GenerateRequest codes_only = request(2, 5);
  codes_only.want_audio = false;
  const Heard codes = rig.run(codes_only);
  CHECK(codes.pcm.empty());
  CHECK_EQUAL(codes.codes.size(), 20u);
  CHECK_EQUAL(rig.state->calls.find('d'), std::string::npos);

  GenerateRequest audio_only = request(2, 5);
  audio_only.want_codes = false;
  CHECK(rig.run(audio_only).codes.empty());

  GenerateRequest fewer_books = request(2, 5);
  fewer_books.sampling.n_vq = 3;
  const Heard fewer = rig.run(fewer_books);
  CHECK_EQUAL(fewer.codes.size(), 15u);
  CHECK_EQUAL(fewer.pcm.size(), 5u * 160);
}

TEST(engine_mixes_to_one_channel_where_it_is_asked_for) {
  Rig rig;
  GenerateRequest stereo = request(3, 6, 4), mono = stereo;
  mono.channels = 1;
  const Heard two = rig.run(stereo), one = rig.run(mono);
  CHECK_EQUAL(one.frames, two.frames);
  CHECK_EQUAL(one.pcm.size() * 2, two.pcm.size());
  bool equal = true;
  for (size_t i = 0; i < one.pcm.size(); ++i) {
    equal &= one.pcm[i] == static_cast<float>((static_cast<double>(two.pcm[2 * i]) + two.pcm[2 * i + 1]) / 2);
  }
  CHECK(equal);
  mono.channels = 3;
  CHECK_THROWS_SAYING(rig.engine->generate(mono), "bad_request", "channels");
}

TEST(engine_results_do_not_depend_on_company) {
  std::vector<GenerateRequest> requests;
  for (int i = 0; i < 16; ++i) requests.push_back(voiced(i % 3, 30 + i % 3, 3 + i, 10 + 2 * i, 100u + i));
  std::vector<Heard> alone;
  for (const GenerateRequest& one : requests) alone.push_back(Rig().run(one));

  Rig rig({.prefill_slice_rows = 7});
  std::vector<RequestId> ids;
  for (const GenerateRequest& one : requests) ids.push_back(rig.engine->generate(one));
  std::set<std::vector<float>> different;
  for (size_t i = 0; i < ids.size(); ++i) {
    const Heard heard = rig.listener.wait_done(ids[i]);
    CHECK(heard.codes == alone[i].codes);
    CHECK(heard.pcm == alone[i].pcm);
    different.insert(heard.pcm);
  }
  CHECK_EQUAL(different.size(), 16u);
  rig.check_nothing_left();
}

TEST(engine_seed_and_segment_change_the_result) {
  Rig rig;
  GenerateRequest base = request(4, 6, 0), other_seed = request(4, 6, 1), other_segment = base;
  other_segment.sampling.segment = 1;
  const Heard first = rig.run(base);
  CHECK(first.codes == rig.run(base).codes);
  CHECK(first.codes != rig.run(other_seed).codes);
  CHECK(first.codes != rig.run(other_segment).codes);
}

TEST(engine_delivers_a_tick_in_one_call) {
  auto state = std::make_shared<FakeState>();
  Gate gate;
  state->on_prefill = [&](int) { gate.wait(); };
  Rig rig({}, state);
  std::vector<RequestId> ids;
  for (int i = 0; i < 8; ++i) ids.push_back(rig.engine->generate(request(2, 10)));
  gate.wait_arrival(1);
  gate.open();
  for (const RequestId id : ids) rig.listener.wait_done(id);
  // At most two ticks of prefill stagger: ten frames and the end, not eighty.
  CHECK(rig.listener.batches() <= 13);
}

TEST(engine_refuses_bad_requests) {
  Rig rig;
  const auto refused = [&](const GenerateRequest& bad, const char* part) {
    CHECK_THROWS_SAYING(rig.engine->generate(bad), "bad_request", part);
  };
  GenerateRequest bad = request(2, 5);
  bad.text_rows.clear();
  refused(bad, "text_rows must hold at least one row");
  bad = request(2, 5);
  bad.text_rows.pop_back();
  refused(bad, "text_rows holds 9 ids, which do not make whole rows of 5");
  bad = request(2, 5);
  bad.text_rows[0] = 1000;
  refused(bad, "text_rows: text ids must be between 0 and 999, not 1000");
  bad = request(2, 5);
  bad.text_rows[1] = -1;
  refused(bad, "text_rows: codes must be between 0 and 63, not -1");
  bad = request(2, 5);
  bad.max_frames = 0;
  refused(bad, "max_frames must be between 1 and 5000, not 0");
  bad = request(2, 5);
  bad.max_frames = 4999;
  refused(bad, "A prompt of 2 rows and 4999 frames do not fit the model's 5000 positions");
  bad = request(2, 5);
  bad.buffer_frames = 0;
  refused(bad, "buffer_frames must be at least 1, not 0");
  bad = request(2, 5);
  bad.chunks.growth = 0.5f;
  refused(bad, "chunks.growth must be a number of at least 1");
  bad = request(2, 5);
  bad.chunks.hold_ms = -1;
  refused(bad, "chunks.hold_ms must be between 0 and 86400000 milliseconds");
  bad = request(2, 5);
  bad.sampling.n_vq = 5;
  refused(bad, "n_vq");
  CHECK_EQUAL(rig.engine->stats().submitted, 0u);
  CHECK_THROWS_CODE(Rig({.max_sequences = -1}), "bad_request");
}

TEST(engine_without_a_model_says_so) {
  auto state = std::make_shared<FakeState>();
  auto backend = fake_backend(state);
  backend->lm.reset();
  Engine codec_only(std::move(backend), {}, [](std::vector<Event>&&) {});
  CHECK_THROWS_CODE(codec_only.generate(request(2, 5)), "unsupported");

  backend = fake_backend(state);
  backend->codec.reset();
  Listener listener;
  Engine lm_only(std::move(backend), {}, [&](std::vector<Event>&& events) { listener.hear(std::move(events)); });
  CHECK_THROWS_CODE(lm_only.generate(request(2, 5)), "unsupported");
  CHECK_THROWS_CODE(lm_only.encode({0, 0}, 1, 1000), "unsupported");
  CHECK_THROWS_CODE(lm_only.decode({0, 0, 0, 0}, 4), "unsupported");
  GenerateRequest codes_only = request(2, 5);
  codes_only.want_audio = false;
  CHECK_EQUAL(listener.wait_done(lm_only.generate(codes_only)).frames, 5);
}

}  // namespace sonant::test
