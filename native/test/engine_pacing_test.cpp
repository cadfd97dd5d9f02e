// Who is served first when a tick for all is too slow for one: the arithmetic by itself, and an engine
// whose steps are made slow for it.
#include <cmath>
#include <limits>
#include <thread>
#include <vector>

#include "engine/pacing.h"
#include "test/engine_harness.h"

namespace sonant::test {

namespace {

constexpr double kNobody = std::numeric_limits<double>::infinity();

Time at(double ms) {
  return Time{} + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

double limit(const std::vector<double>& leads, const TickCost& cost) { return yields_above(leads, cost); }

TickCost line(double fixed, double each) {
  TickCost cost;
  for (const int n : {1, 8, 3, 5}) cost.note(n, fixed + each * n);
  return cost;
}

}  // namespace

TEST(pacing_learns_the_line_behind_the_ticks) {
  const TickCost cost = line(4, 9);
  CHECK_NEAR(cost.fixed_ms(), 4, 1e-6);
  CHECK_NEAR(cost.each_ms(), 9, 1e-6);
  CHECK_NEAR(cost.ms(16), 148, 1e-6);
}

TEST(pacing_takes_one_size_of_batch_for_proportional_and_keeps_the_shape_it_knew) {
  TickCost cost;
  cost.note(4, 40);
  CHECK_NEAR(cost.ms(1), 10, 1e-6);
  CHECK_NEAR(cost.ms(8), 80, 1e-6);
  // A machine that has become twice as slow: both parts of the line grow when only one size is seen.
  TickCost known = line(10, 5);
  for (int i = 0; i < 1000; ++i) known.note(4, 30);
  for (int i = 0; i < 2000; ++i) known.note(4, 60);
  CHECK_NEAR(known.ms(4), 60, 1e-6);
  CHECK_NEAR(known.fixed_ms(), 20, 1e-6);
  CHECK_NEAR(known.each_ms(), 10, 1e-6);
}

TEST(pacing_never_believes_that_more_sequences_cost_less) {
  TickCost cost;
  for (int i = 0; i < 20; ++i) {
    cost.note(1, 30);
    cost.note(4, 10);
  }
  CHECK(cost.each_ms() >= 0);
  CHECK(cost.fixed_ms() >= 0);
  CHECK(cost.ms(8) >= cost.ms(1));
}

TEST(pacing_counts_what_a_listener_has_left) {
  Lead lead(at(0), 0, 0);
  CHECK_NEAR(lead.ms(at(50)), 0, 1e-6);
  CHECK_NEAR(lead.sent(at(100), 80), 0, 1e-6);  // he waits for the first chunk, and that is no underrun
  CHECK_NEAR(lead.ms(at(120)), 60, 1e-6);
  CHECK_NEAR(lead.sent(at(150), 80), 0, 1e-6);
  CHECK_NEAR(lead.ms(at(150)), 110, 1e-6);
  CHECK_NEAR(lead.sent(at(300), 80), 40, 1e-6);  // dry since 260
  CHECK_NEAR(lead.ms(at(300)), 80, 1e-6);
  lead.resumed(at(500));  // the pause was his own
  CHECK_NEAR(lead.sent(at(510), 80), 10, 1e-6);
}

TEST(pacing_spreads_other_work_over_the_frames) {
  TickCost cost;
  cost.note_other(0, 40);  // a prompt before anybody speaks
  CHECK(cost.other_ms() < 0.1);
  for (int i = 0; i < 3000; ++i) cost.note_other(5, 10);
  CHECK_NEAR(cost.other_ms(), 2, 0.02);
  CHECK_EQUAL(cost.ms(5), 0.0);
}

TEST(pacing_tells_who_wants_the_next_sound_first) {
  Lead waiting(at(0), 0, 240);
  const Lead dry(at(0), 1, 240), plenty(at(0), 5000, 240);
  CHECK(dry.due() < waiting.due());
  CHECK(waiting.due() < plenty.due());
  CHECK(Lead(at(0), 0, 0).due() < Lead(at(1), 0, 0).due());
  waiting.sent(at(900), 80);  // he is a listener now
  CHECK_NEAR(ms_between(at(0), waiting.due()), 740, 1e-6);
}

TEST(pacing_counts_what_he_had_before_and_what_is_held_back) {
  Lead lead(at(0), 1000, 240);
  CHECK_NEAR(lead.ms(at(100)), 660, 1e-6);
  CHECK_NEAR(lead.ms(at(5000)), -240, 1e-6);
  CHECK_NEAR(lead.sent(at(1100), 80), 100, 1e-6);
}

TEST(pacing_lets_nobody_yield_where_all_are_served_in_time) {
  CHECK_EQUAL(limit({}, line(4, 9)), kNobody);
  CHECK_EQUAL(limit({0, 5000}, line(1, 2)), kNobody);        // the tick is short
  CHECK_EQUAL(limit({900, 5000, 450}, line(4, 9)), kNobody);     // nobody has less than 400 ms
  CHECK_EQUAL(limit({900, 5000, 810}, line(100, 100)), kNobody);  // nor, where that is longer, than two ticks
  CHECK_EQUAL(limit({kNobody, kNobody, kNobody, kNobody}, line(4, 9)), kNobody);
}

TEST(pacing_lets_those_ahead_yield_to_one_about_to_run_dry) {
  CHECK_NEAR(limit({0, 5000, 90}, line(4, 9)), 800, 1e-6);
  CHECK_NEAR(limit({-240, 5000}, line(4, 9)), 800, 1e-6);
  CHECK_NEAR(limit({700, 5000, 6000}, line(100, 100)), 1600, 1e-6);  // four ticks of 400 ms
}

// The step is slow for every sequence in it, so that the two together are too slow for a listener without a lead.
TEST(engine_serves_the_listener_who_runs_dry_before_one_who_has_plenty) {
  auto state = std::make_shared<FakeState>();
  std::mutex mutex;
  std::vector<int> batches;
  state->on_step = [&](int batch) {
    std::this_thread::sleep_for(std::chrono::milliseconds(15 * batch));
    const std::lock_guard lock(mutex);
    batches.push_back(batch);
  };
  Rig rig({.max_sequences = 4}, state);
  GenerateRequest ahead = request(2, kEndless, 1);
  ahead.max_frames = 12;
  ahead.lead_ms = 60'000;
  GenerateRequest late = request(2, kEndless, 2);
  late.max_frames = 6;
  late.reserve_ms = 60'000;  // as dry as can be, to its end
  const RequestId patient = rig.engine->generate(ahead);
  rig.listener.wait_frames(patient, 2);
  const RequestId urgent = rig.engine->generate(late);
  const Heard first = rig.listener.wait_done(urgent);
  const Heard second = rig.listener.wait_done(patient);
  CHECK_EQUAL(first.frames, 6);
  CHECK_EQUAL(second.frames, 12);
  CHECK(rig.engine->stats().yields > 0);
  const std::lock_guard lock(mutex);
  // Once it is known what two cost, they no longer share a step.
  CHECK(std::count(batches.begin(), batches.end(), 2) <= 2);
  rig.check_nothing_left();
}

// Two prompts wait for slices of one row: the one whose listener has begun goes before the one that came first.
TEST(engine_prefills_for_listeners_before_newcomers) {
  auto state = std::make_shared<FakeState>();
  Gate gate;
  state->on_step = [&](int) { gate.wait(); };
  Rig rig({.max_sequences = 4, .prefill_slice_rows = 1}, state);
  GenerateRequest keeper = request(1, kEndless, 1);
  keeper.max_frames = 40;
  const RequestId kept = rig.engine->generate(keeper);
  gate.wait_arrival(1);
  GenerateRequest newcomer = request(6, 3, 2), heard = request(6, 3, 3);
  heard.lead_ms = 1;
  const RequestId second = rig.engine->generate(newcomer);
  const RequestId first = rig.engine->generate(heard);
  // The heard one's six rows are done after six ticks, and nothing of the other prompt is.
  for (int tick = 2; tick <= 9; ++tick) {
    gate.pass();
    gate.wait_arrival(tick);
  }
  CHECK(rig.listener.so_far(first).frames > 0);
  CHECK_EQUAL(rig.listener.so_far(second).frames, 0);
  gate.open();
  rig.listener.wait_done(first);
  rig.listener.wait_done(second);
  rig.listener.wait_done(kept);
  rig.check_nothing_left();
}

TEST(engine_gives_the_same_whoever_yields) {
  const auto speak = [](bool crowd) {
    auto state = std::make_shared<FakeState>();
    state->on_step = [](int batch) { std::this_thread::sleep_for(std::chrono::milliseconds(8 * batch)); };
    Rig rig({.max_sequences = 4}, state);
    GenerateRequest one = request(3, kEndless, 7);
    one.max_frames = 10;
    one.lead_ms = 60'000;
    std::vector<RequestId> others;
    if (crowd) {
      for (uint64_t i = 0; i < 3; ++i) {
        GenerateRequest other = request(2, kEndless, 20 + i);
        other.max_frames = 8;
        others.push_back(rig.engine->generate(other));
      }
    }
    const Heard heard = rig.run(one);
    for (const RequestId id : others) rig.listener.wait_done(id);
    return heard;
  };
  const Heard alone = speak(false), crowded = speak(true);
  CHECK(alone.pcm == crowded.pcm);
  CHECK(alone.codes == crowded.codes);
}

TEST(engine_says_what_a_tick_costs_and_counts_who_ran_dry) {
  auto state = std::make_shared<FakeState>();
  state->on_step = [](int) { std::this_thread::sleep_for(std::chrono::milliseconds(2)); };
  Rig rig({}, state);
  const double frame_ms = 1000.0 * rig.engine->backend().codec->config().frame_samples /
                          rig.engine->backend().codec->config().sample_rate;
  int frame = 0;
  // A silence of at least the sound that was sent before it, and the length that a listener notices.
  state->on_step = [&](int) {
    if (++frame == 3) std::this_thread::sleep_for(std::chrono::duration<double, std::milli>(3 * frame_ms + 110));
  };
  const Heard heard = rig.run(request(2, 6));
  CHECK(heard.end.stats.starved_ms > 100);
  const EngineStats stats = rig.engine->stats();
  CHECK_EQUAL(stats.underruns, 1u);
  CHECK(stats.tick_fixed_ms + stats.tick_sequence_ms > 0);
}

TEST(engine_refuses_leads_that_make_no_sense) {
  Rig rig;
  GenerateRequest wrong = request(2, 5);
  wrong.lead_ms = -1;
  CHECK_THROWS_SAYING(rig.engine->generate(wrong), "bad_request", "lead_ms");
  wrong.lead_ms = 0;
  wrong.reserve_ms = std::nan("");
  CHECK_THROWS_SAYING(rig.engine->generate(wrong), "bad_request", "reserve_ms");
}

}  // namespace sonant::test
