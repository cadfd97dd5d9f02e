// A codec that decodes while the language model makes the next frame: what each listener gets is the
// same, and nobody waits for a step that is not his. The fake codec checks on its own that only one
// decode is under way, and that its streams and buffers stay in place until it has ended.
#include <optional>
#include <thread>

#include "test/engine_harness.h"

namespace sonant::test {

namespace {

std::shared_ptr<FakeState> beside() {
  auto state = std::make_shared<FakeState>();
  state->beside = true;
  return state;
}

bool overlapped(FakeState& state) {
  const std::lock_guard lock(state.mutex);
  return state.calls.find("bs") != std::string::npos;
}

void check_same(const Heard& heard, const Heard& expected) {
  CHECK(heard.pcm == expected.pcm);
  CHECK(heard.codes == expected.codes);
  CHECK(heard.chunks == expected.chunks);
  CHECK(heard.end.reason == expected.end.reason);
  CHECK_EQUAL(heard.end.error_code, expected.end.error_code);
  CHECK_EQUAL(heard.end.error_message, expected.end.error_message);
  CHECK_EQUAL(heard.end.stats.frames, expected.end.stats.frames);
}

GenerateRequest endless(int max_frames) {
  GenerateRequest out = request(2, kEndless);
  out.max_frames = max_frames;
  return out;
}

// Requests that differ in all that decides what is handed out when.
std::vector<GenerateRequest> mixed() {
  std::vector<GenerateRequest> out;
  for (int i = 0; i < 14; ++i) {
    GenerateRequest one = request(2 + i, 5 + 2 * i, 100u + static_cast<uint64_t>(i));
    one.chunks = {.first_frames = 1 + i % 3, .growth = 1.0f + 0.5f * static_cast<float>(i % 4), .max_frames = 1 + i % 7};
    if (i % 4 == 1) one.max_frames = 3 + i;
    if (i % 5 == 2) one.want_codes = false;
    if (i % 5 == 3) one.sampling.n_vq = 3;
    if (i == 6) one.want_audio = false;
    out.push_back(one);
  }
  GenerateRequest short_of_a_chunk = endless(1);
  short_of_a_chunk.chunks = {.first_frames = 2, .growth = 1, .max_frames = 5};
  out.push_back(short_of_a_chunk);
  for (const int32_t fault : {kNotFinite, kFailStep, kFailDecode}) out.push_back(request(3, fault, 9));
  return out;
}

}  // namespace

TEST(engine_beside_gives_everyone_the_same) {
  std::vector<Heard> expected;
  for (const GenerateRequest& one : mixed()) expected.push_back(Rig().run(one));
  for (size_t i = 0; i < expected.size(); ++i) {
    Rig alone({}, beside());
    check_same(alone.run(mixed()[i]), expected[i]);
    alone.check_nothing_left();
  }

  const auto state = beside();
  Gate gate;
  state->on_prefill = [&](int) { gate.wait(); };
  Rig rig({.max_sequences = 32, .prefill_slice_rows = 30}, state);
  std::vector<RequestId> ids;
  for (const GenerateRequest& one : mixed()) ids.push_back(rig.engine->generate(one));
  gate.wait_arrival(1);
  gate.open();
  for (size_t i = 0; i < ids.size(); ++i) check_same(rig.listener.wait_done(ids[i]), expected[i]);
  CHECK(overlapped(*state));
  rig.check_nothing_left();
}

TEST(engine_beside_decodes_behind_the_next_step) {
  Rig rig({}, beside());
  rig.run(request(3, 4));
  // The first sound is waited for; from then on each frame is finished behind the next one's step.
  CHECK_EQUAL(rig.state->calls, std::string("psbfsbsfbsfbsf"));
}

TEST(engine_beside_ends_at_the_frame_limit_without_another_step) {
  Rig rig({}, beside());
  CHECK(rig.run(endless(3)).end.reason == FinishReason::kLength);
  CHECK_EQUAL(rig.state->calls, std::string("psbfsbsfbf"));
}

TEST(engine_beside_gives_the_first_sound_before_the_next_step) {
  const auto state = beside();
  Gate gate;
  state->on_step = [&](int) { gate.wait(); };
  Rig rig({}, state);
  const RequestId speaker = rig.engine->generate(request(2, kEndless));
  gate.wait_arrival(1);
  gate.pass();
  gate.wait_arrival(2);
  CHECK_EQUAL(rig.listener.so_far(speaker).frames, 1);
  gate.pass();
  gate.wait_arrival(3);
  CHECK_EQUAL(rig.listener.so_far(speaker).frames, 1);  // the second is on its way
  const RequestId newcomer = rig.engine->generate(request(2, kEndless));
  gate.pass();  // takes it in
  gate.wait_arrival(4);
  gate.pass();  // its first step
  gate.wait_arrival(5);
  CHECK_EQUAL(rig.listener.so_far(newcomer).frames, 1);
  CHECK_EQUAL(rig.listener.so_far(speaker).frames, 4);  // whoever shares that decode has it too
  rig.engine->cancel(speaker);
  rig.engine->cancel(newcomer);
  gate.open();
  rig.listener.wait_done(speaker);
  rig.listener.wait_done(newcomer);
  rig.check_nothing_left();
}

TEST(engine_beside_gives_a_first_sound_among_many_behind_the_next_step) {
  for (const bool has_crowd : {true, false}) {
    const auto state = beside();
    Gate gate;
    state->on_step = [&](int) { gate.wait(); };
    Rig rig({.max_sequences = 32}, state);
    std::vector<RequestId> all = {rig.engine->generate(request(2, kEndless))};
    gate.wait_arrival(1);
    int arrivals = 1;
    const auto step = [&] {
      gate.pass();
      gate.wait_arrival(++arrivals);
    };
    const auto join = [&](int count) {  // the next step but one is their first
      for (int i = 0; i < count; ++i) all.push_back(rig.engine->generate(request(2, kEndless)));
      step();
    };
    if (has_crowd) join(7), step();
    join(has_crowd ? 1 : 8);
    step();  // one newcomer among nine, or eight
    CHECK_EQUAL(rig.listener.so_far(all.back()).frames, has_crowd ? 0 : 1);
    step();
    CHECK_EQUAL(rig.listener.so_far(all.back()).frames, 1);
    for (const RequestId id : all) rig.engine->cancel(id);
    gate.open();
    for (const RequestId id : all) rig.listener.wait_done(id);
    rig.check_nothing_left();
  }
}

TEST(engine_beside_hands_out_all_before_it_rests) {
  for (const int together : {1, 3}) {
    Rig rig({}, beside());
    GenerateRequest slow = request(2, 20);
    slow.buffer_frames = 3;
    const Heard expected = Rig().run(request(2, 20));
    std::vector<RequestId> ids;
    for (int i = 0; i < together; ++i) ids.push_back(rig.engine->generate(slow));
    for (const RequestId id : ids) rig.listener.wait_frames(id, 3);
    rig.run(request(2, 10));
    for (const RequestId id : ids) CHECK_EQUAL(rig.listener.so_far(id).frames, 3);  // none is drawn ahead of its reader
    for (int frames = 3; frames <= 20; frames += 3) {
      for (const RequestId id : ids) rig.engine->consumed(id, 3);
      for (const RequestId id : ids) rig.listener.wait_frames(id, std::min(20, frames + 3));
    }
    for (const RequestId id : ids) CHECK(rig.listener.wait_done(id).pcm == expected.pcm);
    rig.check_nothing_left();
  }
}

TEST(engine_beside_does_not_leave_the_last_sound_to_a_tick_of_others) {
  GenerateRequest slow = request(2, kEndless), ending = endless(2);
  slow.buffer_frames = 2;
  for (const GenerateRequest& one : {slow, ending}) {
    const auto state = beside();
    std::optional<Rig> rig;
    RequestId newcomer = 0;
    int begun = 0;
    state->on_begin = [&] {
      if (++begun == 2) newcomer = rig->engine->generate(request(2, 1));
    };
    rig.emplace(EngineLimits{}, state);
    const RequestId id = rig->engine->generate(one);
    rig->listener.wait_frames(id, 2);
    rig->listener.wait_done(newcomer);
    rig->engine->cancel(id);
    rig->listener.wait_done(id);
    CHECK_EQUAL(state->calls, std::string("psbfsbf" "psbfs"));  // before the newcomer's prompt
  }
}

TEST(engine_beside_draws_no_further_than_the_buffer) {
  const auto state = beside();
  Rig rig({}, state);
  GenerateRequest slow = request(2, kEndless);
  slow.buffer_frames = 5;
  slow.chunks = {.first_frames = 1, .growth = 2, .max_frames = 2};
  const RequestId id = rig.engine->generate(slow);
  rig.listener.wait_frames(id, 5);
  rig.run(request(2, 8));
  rig.engine->cancel(id);
  CHECK_EQUAL(rig.listener.wait_done(id).end.stats.frames, 5);
}

TEST(engine_beside_cancels_during_a_step) {
  const auto state = beside();
  Gate gate;
  state->on_step = [&](int) { gate.wait(); };
  Rig rig({}, state);
  const RequestId id = rig.engine->generate(request(2, kEndless));
  for (int i = 0; i < 5; ++i) gate.pass();
  gate.wait_arrival(6);
  rig.engine->cancel(id);
  gate.open();
  const Heard heard = rig.listener.wait_done(id);
  CHECK(heard.end.reason == FinishReason::kCancelled);
  CHECK_EQUAL(heard.frames, 5);  // the last of them was being decoded
  CHECK(heard.pcm == Rig().run(endless(5)).pcm);
  CHECK_EQUAL(heard.end.stats.late_frames, 1);
  rig.check_nothing_left();
}

TEST(engine_beside_cancels_one_whose_decode_has_begun) {
  const auto state = beside();
  std::optional<Rig> rig;
  RequestId id = 0;
  int begun = 0;
  state->on_begin = [&] {
    if (++begun == 5) rig->engine->cancel(id);
  };
  Gate gate;
  state->on_prefill = [&](int) { gate.wait(); };
  rig.emplace(EngineLimits{}, state);
  id = rig->engine->generate(request(2, kEndless));
  gate.wait_arrival(1);
  const RequestId other = rig->engine->generate(request(2, 20, 3));
  gate.open();
  const Heard heard = rig->listener.wait_done(id);
  CHECK(heard.end.reason == FinishReason::kCancelled);
  CHECK_EQUAL(heard.frames, 5);
  CHECK(heard.pcm == Rig().run(endless(5)).pcm);
  CHECK_EQUAL(heard.end.stats.late_frames, 0);
  check_same(rig->listener.wait_done(other), Rig().run(request(2, 20, 3)));
  rig->check_nothing_left();
}

TEST(engine_beside_fails_only_those_of_a_decode_that_broke) {
  const auto state = beside();
  Gate gate;
  Rig rig({}, state);
  GenerateRequest slow = request(4, 12, 5);
  slow.buffer_frames = 2;
  const RequestId bystander = rig.engine->generate(slow);
  rig.listener.wait_frames(bystander, 2);
  state->on_prefill = [&](int) { gate.wait(); };  // the engine is at rest
  const RequestId opener = rig.engine->generate(request(2, 1));
  gate.wait_arrival(1);
  const RequestId guilty = rig.engine->generate(request(2, kBreakDecode));
  const RequestId company = rig.engine->generate(request(2, 30));
  gate.open();
  for (const RequestId id : {guilty, company}) {
    const Heard heard = rig.listener.wait_done(id);
    CHECK(heard.end.reason == FinishReason::kError);
    CHECK_EQUAL(heard.end.error_code, std::string("engine_failed"));
    CHECK_EQUAL(heard.end.error_message, std::string("scripted break of a decode"));
    CHECK_EQUAL(heard.frames, 2);  // what came before it was good
  }
  CHECK(rig.listener.wait_done(opener).end.reason == FinishReason::kStop);
  rig.engine->consumed(bystander, 2);
  for (int frames = 4; frames <= 12; frames += 2) {
    rig.listener.wait_frames(bystander, frames);
    rig.engine->consumed(bystander, 2);
  }
  check_same(rig.listener.wait_done(bystander), Rig().run(request(4, 12, 5)));
  CHECK_EQUAL(rig.run(request(2, 4)).frames, 4);
  CHECK_EQUAL(rig.engine->stats().failed, 2u);
  rig.check_nothing_left();
}

TEST(engine_beside_closes_with_a_decode_under_way) {
  const auto state = beside();
  Gate gate;
  state->on_begin = [&] { gate.wait(); };
  Rig rig({.max_sequences = 1, .max_waiting = 0}, state);
  const RequestId id = rig.engine->generate(request(2, kEndless));
  for (int i = 0; i < 3; ++i) gate.pass();
  gate.wait_arrival(4);
  std::thread closer([&] { rig.engine->close(); });
  for (std::string code = "overloaded"; code == "overloaded"; std::this_thread::yield()) {
    try {
      rig.engine->generate(request(2, 1));
    } catch (const Error& error) {
      code = error.code();
    }
  }
  gate.open();
  closer.join();
  const Heard heard = rig.listener.so_far(id);
  CHECK(heard.end.reason == FinishReason::kCancelled);
  CHECK_EQUAL(heard.frames, 4);
  CHECK(heard.pcm == Rig().run(endless(4)).pcm);
  CHECK_EQUAL(state->calls.back(), 'f');
  rig.check_nothing_left();
}

TEST(engine_beside_leaves_the_codec_to_jobs) {
  const auto state = beside();
  const GenerateRequest lasting = running(*state);
  Rig rig({.encode_slice_frames = 1}, state);
  const RequestId id = rig.engine->generate(lasting);
  rig.listener.wait_frames(id, 2);
  const std::vector<float> sound(1000, 0.1f);
  const std::vector<int32_t> codes(40, 5);
  const RequestId encoding = rig.engine->encode(sound, 1, 1000), decoding = rig.engine->decode(codes, 4);
  Rig quiet;
  CHECK(rig.listener.wait_done(encoding).codes == quiet.listener.wait_done(quiet.engine->encode(sound, 1, 1000)).codes);
  CHECK(rig.listener.wait_done(decoding).pcm == quiet.listener.wait_done(quiet.engine->decode(codes, 4)).pcm);
  rig.engine->cancel(id);
  CHECK(rig.listener.wait_done(id).end.reason == FinishReason::kCancelled);
}

TEST(engine_beside_counts_the_wait_for_the_codec) {
  const auto state = beside();
  state->on_finish = [] { std::this_thread::sleep_for(std::chrono::milliseconds(3)); };
  Rig rig({}, state);
  const GenerateStats stats = rig.run(request(2, 5)).end.stats;
  CHECK(stats.codec_ms >= 5 * 3);
  CHECK(stats.first_codec_ms >= 3 && stats.first_codec_ms < stats.codec_ms - 3);
  CHECK(rig.engine->stats().codec_ms_p50 >= 3);
}

}  // namespace sonant::test
