// Requests that end early, wait, fail or are too many.
#include <optional>
#include <random>
#include <thread>

#include "test/engine_harness.h"

namespace sonant::test {

namespace {

// A rig whose scheduler stops before every step until told otherwise.
struct GatedRig {
  explicit GatedRig(const EngineLimits& limits = {}) : state(std::make_shared<FakeState>()) {
    state->on_step = [this](int) { gate.wait(); };
    rig.emplace(limits, state);
  }
  ~GatedRig() { gate.open(); }
  Gate gate;
  std::shared_ptr<FakeState> state;
  std::optional<Rig> rig;
};

}  // namespace

TEST(engine_pauses_for_a_slow_reader) {
  Rig rig;
  GenerateRequest slow = request(2, 20);
  slow.buffer_frames = 3;
  const RequestId id = rig.engine->generate(slow);
  rig.listener.wait_frames(id, 3);
  // Another request runs from start to end meanwhile; the slow one takes part in none of its steps.
  const uint64_t steps = rig.engine->stats().steps;
  rig.run(request(2, 10));
  CHECK_EQUAL(rig.engine->stats().steps, steps + 11);
  CHECK_EQUAL(rig.listener.so_far(id).frames, 3);

  rig.engine->consumed(id, 2);
  rig.listener.wait_frames(id, 5);
  rig.run(request(2, 4));
  CHECK_EQUAL(rig.listener.so_far(id).frames, 5);

  rig.engine->consumed(id, 1000);  // more than was delivered counts as all of it
  rig.listener.wait_frames(id, 8);
  rig.run(request(2, 4));
  CHECK_EQUAL(rig.listener.so_far(id).frames, 8);
  for (int frames = 8; frames <= 20; frames += 3) {
    rig.engine->consumed(id, 3);
    rig.listener.wait_frames(id, std::min(20, frames + 3));
  }
  const Heard heard = rig.listener.wait_done(id);
  CHECK_EQUAL(heard.frames, 20);
  CHECK(heard.end.reason == FinishReason::kStop);
  CHECK(heard.end.stats.paused_ms > 0);
  CHECK(heard.pcm == rig.run(request(2, 20)).pcm);
}

TEST(engine_chunks_larger_than_the_buffer_still_flow) {
  Rig rig;
  GenerateRequest wide = request(2, 12);
  wide.buffer_frames = 2;
  wide.chunks = {.first_frames = 5, .growth = 1, .max_frames = 5};
  const RequestId id = rig.engine->generate(wide);
  rig.listener.wait_frames(id, 5);
  rig.engine->consumed(id, 5);
  rig.listener.wait_frames(id, 10);
  rig.engine->consumed(id, 5);
  CHECK_EQUAL(rig.listener.wait_done(id).frames, 12);
}

TEST(engine_cancels_while_waiting_in_line) {
  GatedRig gated({.max_sequences = 1});
  Rig& rig = *gated.rig;
  const RequestId first = rig.engine->generate(request(2, 3));
  gated.gate.wait_arrival(1);
  const RequestId second = rig.engine->generate(request(2, 3));
  rig.engine->cancel(second);
  gated.gate.pass();  // the step in which the cancel came
  gated.gate.pass();  // the tick that takes it in
  const Heard heard = rig.listener.wait_done(second);
  CHECK(heard.end.reason == FinishReason::kCancelled);
  CHECK_EQUAL(heard.frames, 0);
  CHECK_EQUAL(heard.end.stats.prefill_ms, 0.0);
  gated.gate.open();
  CHECK_EQUAL(rig.listener.wait_done(first).frames, 3);
  rig.check_nothing_left();
}

TEST(engine_cancels_while_prefilling) {
  auto state = std::make_shared<FakeState>();
  Gate gate;
  state->on_prefill = [&](int) { gate.wait(); };
  Rig rig({.prefill_slice_rows = 4}, state);
  const RequestId id = rig.engine->generate(request(100, 3));
  gate.wait_arrival(1);
  rig.engine->cancel(id);
  gate.open();
  const Heard heard = rig.listener.wait_done(id);
  CHECK(heard.end.reason == FinishReason::kCancelled);
  CHECK_EQUAL(rig.engine->stats().prefill_rows, 4u);
  rig.check_nothing_left();
}

TEST(engine_cancels_between_two_frames) {
  GatedRig gated;
  Rig& rig = *gated.rig;
  const RequestId id = rig.engine->generate(request(2, kEndless));
  for (int i = 0; i < 5; ++i) gated.gate.pass();
  gated.gate.wait_arrival(6);
  rig.engine->cancel(id);
  rig.engine->cancel(id);
  gated.gate.open();
  const Heard heard = rig.listener.wait_done(id);
  CHECK(heard.end.reason == FinishReason::kCancelled);
  CHECK_EQUAL(heard.frames, 5);  // the frame in the making was the last, and nobody needed its sound
  CHECK_EQUAL(heard.end.stats.late_frames, 1);
  CHECK(heard.end.stats.cancel_ms > 0);
  CHECK_EQUAL(rig.engine->stats().cancel_ms_max, heard.end.stats.cancel_ms);
  rig.engine->cancel(id);
  rig.engine->cancel(12345);
  rig.engine->consumed(id, 3);
  rig.check_nothing_left();
}

TEST(engine_cancels_while_paused) {
  Rig rig;
  GenerateRequest slow = request(2, kEndless);
  slow.buffer_frames = 2;
  const RequestId id = rig.engine->generate(slow);
  rig.listener.wait_frames(id, 2);
  rig.engine->cancel(id);
  const Heard heard = rig.listener.wait_done(id);
  CHECK(heard.end.reason == FinishReason::kCancelled);
  CHECK_EQUAL(heard.end.stats.late_frames, 0);
  rig.check_nothing_left();
}

TEST(engine_serves_the_line_in_order) {
  Rig rig({.max_sequences = 2});
  std::vector<RequestId> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(rig.engine->generate(request(2, 5)));
  for (const RequestId id : ids) CHECK_EQUAL(rig.listener.wait_done(id).frames, 5);
  rig.check_nothing_left();
}

TEST(engine_refuses_what_it_has_no_room_for) {
  GatedRig gated({.max_sequences = 2, .max_waiting = 3});
  Rig& rig = *gated.rig;
  std::vector<RequestId> ids;
  for (int i = 0; i < 5; ++i) ids.push_back(rig.engine->generate(request(2, 5)));
  CHECK_THROWS_SAYING(rig.engine->generate(request(2, 5)), "overloaded",
                      "3 requests are waiting and at most 3 may");
  CHECK_EQUAL(rig.engine->stats().refused, 1u);
  gated.gate.open();
  for (const RequestId id : ids) CHECK_EQUAL(rig.listener.wait_done(id).frames, 5);
  CHECK_EQUAL(rig.run(request(2, 5)).frames, 5);  // there is room again
}

TEST(engine_keeps_more_than_it_speaks_when_some_are_parked) {
  Rig rig({.max_sequences = 1, .max_parked = 1, .max_waiting = 1});
  GenerateRequest unread = request(2, 10);
  unread.buffer_frames = 2;
  const RequestId parked = rig.engine->generate(unread);
  rig.listener.wait_frames(parked, 2);
  CHECK_EQUAL(rig.run(request(2, 5)).frames, 5);

  const std::vector<RequestId> more{rig.engine->generate(unread), rig.engine->generate(unread)};
  rig.listener.wait_frames(more[0], 2);
  CHECK_THROWS_CODE(rig.engine->generate(request(2, 5)), "overloaded");
  CHECK_EQUAL(rig.listener.so_far(more[1]).frames, 0);
}

TEST(engine_follows_the_device_where_no_limit_is_set) {
  const auto state = std::make_shared<FakeState>();
  const auto device = [&] {
    auto backend = fake_backend(state);
    backend->sequences = 3;
    backend->prefill_rows = 10;
    backend->encode_frames = 5;
    return backend;
  };
  {
    Rig rig({}, state, device());
    CHECK_EQUAL(rig.engine->limits().max_sequences, 3);
    GenerateRequest unread = request(25, 20);
    unread.buffer_frames = 1;
    for (int i = 0; i < 3; ++i) rig.listener.wait_frames(rig.engine->generate(unread), 1);
    const RequestId fourth = rig.engine->generate(unread);
    rig.listener.wait_done(rig.engine->encode(std::vector<float>(1000, 0.1f), 1, 1000));  // 12 frames of 80
    CHECK_EQUAL(rig.listener.so_far(fourth).frames, 0);
    CHECK_EQUAL(rig.engine->stats().live, 3);
    CHECK_EQUAL(state->prefill_rows.size(), 9u);  // three prompts of 10, 10 and 5 rows
    CHECK_EQUAL(std::count(state->calls.begin(), state->calls.end(), 'e'), 3);
  }
  const Rig set({.max_sequences = 2, .prefill_slice_rows = 7, .encode_slice_frames = 1}, state, device());
  const EngineLimits& limits = set.engine->limits();
  CHECK(limits.max_sequences == 2 && limits.prefill_slice_rows == 7 && limits.encode_slice_frames == 1);
}

TEST(engine_has_room_as_soon_as_an_end_is_heard) {
  Rig rig({.max_sequences = 1, .max_waiting = 0});
  for (int i = 0; i < 200; ++i) CHECK_EQUAL(rig.run(request(1, 1)).frames, 1);
}

TEST(engine_closes_with_work_in_flight) {
  Rig rig({.max_sequences = 4});
  std::vector<RequestId> ids;
  for (int i = 0; i < 12; ++i) {
    GenerateRequest one = voiced(i % 2, 20, 3, kEndless);
    one.max_frames = 4000;  // paused for its reader long before, however late this thread comes to closing
    ids.push_back(rig.engine->generate(std::move(one)));
  }
  const RequestId job = rig.engine->decode(std::vector<int32_t>(4000, 1), 4);
  rig.listener.wait_frames(ids[0], 3);
  rig.engine->close();
  for (const RequestId id : ids) CHECK(rig.listener.so_far(id).end.reason == FinishReason::kCancelled);
  CHECK(rig.listener.so_far(job).done);
  CHECK_EQUAL(rig.state->sequences.load(), 0);
  CHECK_EQUAL(rig.state->streams.load(), 0);
  const int batches = rig.listener.batches();
  rig.engine->close();
  rig.engine->cancel(ids[0]);
  CHECK_THROWS_CODE(rig.engine->generate(request(2, 5)), "closed");
  CHECK_THROWS_CODE(rig.engine->decode({1, 1, 1, 1}, 4), "closed");
  CHECK_EQUAL(rig.listener.batches(), batches);
  rig.engine.reset();
  CHECK_EQUAL(rig.state->prefixes.load(), 0);
}

TEST(engine_closes_from_two_threads_at_once) {
  Rig rig;
  rig.engine->generate(request(2, kEndless));
  std::thread other([&] { rig.engine->close(); });
  rig.engine->close();
  other.join();
  rig.check_nothing_left();
}

TEST(engine_fails_only_the_guilty) {
  const struct {
    int32_t fault;
    const char *code, *sentence;
  } faults[] = {
      {kFailPrefill, "engine_failed", "scripted prefill failure"},
      {kNoMemory, "out_of_memory", "not enough memory"},
      {kFailStep, "engine_failed", "scripted step failure"},
      {kNotFinite, "engine_failed", "stopped being finite at frame 2"},
      {kFailDecode, "bad_request", "scripted decode failure"},
  };
  const Heard alone = Rig().run(request(4, 8, 5));
  for (const auto& [fault, code, sentence] : faults) {
    auto state = std::make_shared<FakeState>();
    Gate gate;
    state->on_prefill = [&](int) { gate.wait(); };
    Rig rig({}, state);
    // The first holds the gate shut, so that all the others start in one batch.
    const RequestId opener = rig.engine->generate(request(2, 3));
    gate.wait_arrival(1);
    const RequestId before = rig.engine->generate(request(4, 8, 5));
    const RequestId guilty = rig.engine->generate(request(4, fault));
    const RequestId after = rig.engine->generate(request(4, 8, 5));
    gate.open();
    const Heard failed = rig.listener.wait_done(guilty);
    CHECK(failed.end.reason == FinishReason::kError);
    CHECK_EQUAL(failed.end.error_code, std::string(code));
    CHECK(failed.end.error_message.find(sentence) != std::string::npos);
    for (const RequestId id : {before, after}) {
      const Heard heard = rig.listener.wait_done(id);
      CHECK(heard.end.reason == FinishReason::kStop);
      CHECK(heard.pcm == alone.pcm);
    }
    rig.listener.wait_done(opener);
    CHECK_EQUAL(rig.run(request(2, 4)).frames, 4);
    CHECK_EQUAL(rig.engine->stats().failed, 1u);
    rig.check_nothing_left();
  }
}

TEST(engine_never_repeats_a_step_that_moved_sequences_on) {
  GatedRig gated;
  Rig& rig = *gated.rig;
  const RequestId torn = rig.engine->generate(request(2, kTearStep));
  gated.gate.wait_arrival(1);
  const RequestId same_batch = rig.engine->generate(request(2, 8));
  gated.gate.open();
  CHECK(rig.listener.wait_done(torn).end.reason == FinishReason::kError);
  CHECK(rig.listener.wait_done(same_batch).end.reason == FinishReason::kError);
  CHECK_EQUAL(rig.run(request(2, 4)).frames, 4);
  rig.check_nothing_left();
}

static void storm_of_cancels(bool beside) {
  const auto state = std::make_shared<FakeState>();
  state->beside = beside;
  Rig rig({.max_sequences = 8, .max_waiting = 2000, .prefill_slice_rows = 8, .voice_cache_bytes = 9000}, state);
  std::mt19937 random(7);
  const auto below = [&](int n) { return static_cast<int>(random() % static_cast<unsigned>(n)); };
  std::vector<RequestId> ids;
  for (int i = 0; i < 1000; ++i) {
    const int32_t faults[] = {kFailStep, kFailDecode, kBreakDecode};
    const int32_t end = below(10) == 0 ? faults[below(3)] : 1 + below(30);
    GenerateRequest one = below(2) ? voiced(below(4), 20, 1 + below(12), end, random())
                                   : request(1 + below(30), end, random());
    one.buffer_frames = 1 + below(40);
    one.chunks = {.first_frames = 1 + below(3), .growth = 1.5f, .max_frames = 1 + below(8)};
    ids.push_back(rig.engine->generate(one));
    if (below(3) == 0) rig.engine->cancel(ids[static_cast<size_t>(below(static_cast<int>(ids.size())))]);
    if (below(20) == 0) rig.listener.wait_frames(ids[static_cast<size_t>(below(static_cast<int>(ids.size())))], 0);
    if (below(4) == 0) rig.engine->consumed(ids.back(), below(10));
    if (below(50) == 0) rig.engine->decode(std::vector<int32_t>(80, 5), 4);
  }
  std::thread reader([&] {
    for (const RequestId id : ids) rig.engine->consumed(id, 1000);
  });
  for (size_t i = 0; i < ids.size(); i += 2) rig.engine->cancel(ids[i]);
  reader.join();
  for (const RequestId id : ids) {
    // Acknowledge as a reader would until the request ends, whatever it waits for.
    for (int frames = 1; !rig.listener.so_far(id).done; ++frames) {
      rig.engine->consumed(id, 1000);
      rig.listener.wait_frames(id, frames);
    }
    CHECK(rig.listener.so_far(id).end.stats.late_frames <= 1);
  }
  rig.engine->close();
  rig.check_nothing_left();
  CHECK(rig.engine->stats().voice_cache_bytes <= 9000u);
}

TEST(engine_survives_a_storm_of_cancels) { storm_of_cancels(false); }
TEST(engine_survives_a_storm_of_cancels_while_it_decodes_beside) { storm_of_cancels(true); }

}  // namespace sonant::test
