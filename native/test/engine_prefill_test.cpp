// How prompts are computed: in slices, fairly, and each voice once.
#include "test/engine_harness.h"

namespace sonant::test {

namespace {

struct PrefillRig {
  explicit PrefillRig(const EngineLimits& limits = {}) : state(std::make_shared<FakeState>()), rig(limits, with_gate()) {}
  ~PrefillRig() { gate.open(); }
  std::shared_ptr<FakeState> with_gate() {
    state->on_prefill = [this](int) { gate.wait(); };
    return state;
  }
  Gate gate;
  std::shared_ptr<FakeState> state;
  Rig rig;
};

}  // namespace

TEST(prefill_never_exceeds_its_slice) {
  Rig rig({.prefill_slice_rows = 16});
  std::vector<RequestId> ids;
  for (int i = 0; i < 6; ++i) ids.push_back(rig.engine->generate(voiced(i % 2, 90, 20 + i, 5)));
  for (const RequestId id : ids) rig.listener.wait_done(id);
  for (const int rows : rig.state->prefill_rows) CHECK(rows <= 16);
  CHECK_EQUAL(rig.engine->stats().prefill_rows, 2u * 90 + 6 * 20 + 15);
}

TEST(prefill_does_not_stall_running_streams) {
  Rig rig({.prefill_slice_rows = 10});
  const RequestId speaking = rig.engine->generate(running(*rig.state));
  rig.listener.wait_frames(speaking, 3);
  rig.run(request(200, 2));
  rig.engine->cancel(speaking);
  rig.listener.wait_done(speaking);
  // A step of the running stream stands between any two slices.
  CHECK_EQUAL(rig.state->calls.find("pp"), std::string::npos);
}

TEST(prefill_shares_a_slice_between_long_and_short) {
  PrefillRig gated({.prefill_slice_rows = 20});
  Rig& rig = gated.rig;
  const RequestId first = rig.engine->generate(request(400, 1));
  gated.gate.wait_arrival(1);
  const RequestId second = rig.engine->generate(request(30, 1));
  gated.gate.open();
  const Heard late = rig.listener.wait_done(second);
  CHECK_EQUAL(late.frames, 1);
  CHECK(!rig.listener.so_far(first).done || late.end.stats.total_ms < rig.listener.so_far(first).end.stats.total_ms);
  rig.listener.wait_done(first);
  // Three slices of ten rows each for the short one; the long one gets the rest of every slice.
  CHECK_EQUAL(rig.state->prefill_rows.size(), 22u);
}

TEST(voice_is_computed_once_and_then_taken_from_the_cache) {
  Rig rig;
  const Heard first = rig.run(voiced(1, 50, 4, 6));
  CHECK_EQUAL(first.end.stats.cached_rows, 0);
  CHECK_EQUAL(first.end.stats.prompt_rows, 54);
  const Heard second = rig.run(voiced(1, 50, 4, 6));
  CHECK_EQUAL(second.end.stats.cached_rows, 50);
  CHECK(second.pcm == first.pcm);
  CHECK(second.codes == first.codes);
  const EngineStats stats = rig.engine->stats();
  CHECK_EQUAL(stats.voice_cache_hits, 1u);
  CHECK_EQUAL(stats.voice_cache_misses, 1u);
  CHECK_EQUAL(stats.voice_cache_entries, 1);
  CHECK_EQUAL(stats.voice_cache_bytes, 5000u);
  CHECK_EQUAL(stats.prefill_rows, 58u);

  // The same rows without sharing give the same speech.
  GenerateRequest unshared = voiced(1, 50, 4, 6);
  unshared.prefix_key.clear();
  CHECK(rig.run(unshared).pcm == first.pcm);
  CHECK_EQUAL(rig.engine->stats().voice_cache_entries, 1);
}

TEST(voice_text_begins_in_the_slice_that_completes_the_prefix) {
  Rig rig({.prefill_slice_rows = 64});
  rig.run(voiced(1, 50, 4, 1));
  CHECK((rig.state->prefill_rows == std::vector<int>{50, 4}));
  CHECK_EQUAL(rig.state->calls, std::string("ppsds"));
}

TEST(voice_is_computed_once_for_all_who_ask_together) {
  PrefillRig gated({.prefill_slice_rows = 10});
  Rig& rig = gated.rig;
  std::vector<RequestId> ids{rig.engine->generate(voiced(1, 50, 4, 6))};
  gated.gate.wait_arrival(1);
  for (int i = 0; i < 5; ++i) ids.push_back(rig.engine->generate(voiced(1, 50, 4, 6)));
  gated.gate.open();
  const Heard first = rig.listener.wait_done(ids[0]);
  CHECK_EQUAL(first.end.stats.cached_rows, 0);
  for (size_t i = 1; i < ids.size(); ++i) {
    const Heard heard = rig.listener.wait_done(ids[i]);
    CHECK_EQUAL(heard.end.stats.cached_rows, 50);
    CHECK(heard.pcm == first.pcm);
  }
  CHECK_EQUAL(rig.engine->stats().prefill_rows, 50u + 6 * 4);
  CHECK_EQUAL(rig.engine->stats().voice_cache_misses, 1u);
}

TEST(voice_computation_goes_on_for_the_next_when_the_first_is_cancelled) {
  PrefillRig gated({.prefill_slice_rows = 10});
  Rig& rig = gated.rig;
  const RequestId first = rig.engine->generate(voiced(1, 50, 4, 6));
  gated.gate.wait_arrival(1);
  const RequestId second = rig.engine->generate(voiced(1, 50, 4, 6));
  gated.gate.pass();
  gated.gate.wait_arrival(2);
  rig.engine->cancel(first);
  gated.gate.open();
  CHECK(rig.listener.wait_done(first).end.reason == FinishReason::kCancelled);
  const Heard heard = rig.listener.wait_done(second);
  CHECK(heard.pcm == Rig().run(voiced(1, 50, 4, 6)).pcm);
  CHECK_EQUAL(heard.end.stats.cached_rows, 0);
  CHECK_EQUAL(rig.engine->stats().prefill_rows, 54u);  // nothing was computed twice
}

TEST(voice_computation_stops_when_nobody_wants_it) {
  PrefillRig gated({.prefill_slice_rows = 10});
  Rig& rig = gated.rig;
  const RequestId only = rig.engine->generate(voiced(1, 50, 4, 6));
  gated.gate.wait_arrival(1);
  rig.engine->cancel(only);
  gated.gate.open();
  rig.listener.wait_done(only);
  CHECK_EQUAL(rig.engine->stats().prefill_rows, 10u);
  CHECK_EQUAL(rig.engine->stats().voice_cache_entries, 0);
  rig.check_nothing_left();
}

TEST(voice_cache_drops_the_least_recently_used) {
  Rig rig({.voice_cache_bytes = 12000});
  for (const int voice : {1, 2, 1, 3}) rig.run(voiced(voice, 50, 2, 1));  // 2 leaves
  EngineStats stats = rig.engine->stats();
  CHECK_EQUAL(stats.voice_cache_evictions, 1u);
  CHECK_EQUAL(stats.voice_cache_entries, 2);
  CHECK_EQUAL(rig.state->prefixes.load(), 2);
  CHECK_EQUAL(rig.run(voiced(1, 50, 2, 1)).end.stats.cached_rows, 50);
  CHECK_EQUAL(rig.run(voiced(3, 50, 2, 1)).end.stats.cached_rows, 50);
  CHECK_EQUAL(rig.run(voiced(2, 50, 2, 1)).end.stats.cached_rows, 0);
  // A voice larger than the cache speaks all the same and displaces nobody.
  CHECK_EQUAL(rig.run(voiced(4, 500, 2, 3)).frames, 3);
  stats = rig.engine->stats();
  CHECK_EQUAL(stats.voice_cache_entries, 2);
  CHECK(stats.voice_cache_bytes <= 12000u);
  CHECK_EQUAL(rig.state->prefixes.load(), 2);
}

TEST(voice_key_alone_is_not_trusted) {
  PrefillRig gated;
  Rig& rig = gated.rig;
  GenerateRequest other_rows = voiced(1, 50, 4, 6);
  other_rows.prefix_rows = rows(50, 711, 711);
  GenerateRequest fewer_rows = voiced(1, 49, 4, 6);

  const RequestId first = rig.engine->generate(voiced(1, 50, 4, 6));
  gated.gate.wait_arrival(1);
  const RequestId beside = rig.engine->generate(other_rows);  // while the first is being computed
  gated.gate.open();
  const Heard refused = rig.listener.wait_done(beside);
  CHECK(refused.end.reason == FinishReason::kError);
  CHECK_EQUAL(refused.end.error_code, std::string("bad_request"));
  CHECK(refused.end.error_message.find("'voice-1' already names other rows") != std::string::npos);
  CHECK_EQUAL(rig.listener.wait_done(first).frames, 6);
  CHECK(rig.run(other_rows).end.reason == FinishReason::kError);  // when it is in the cache
  CHECK(rig.run(fewer_rows).end.reason == FinishReason::kError);
  CHECK_EQUAL(rig.run(voiced(1, 50, 4, 6)).frames, 6);
  rig.check_nothing_left();
}

TEST(voice_that_cannot_be_computed_fails_those_who_wait_and_nobody_else) {
  PrefillRig gated;
  Rig& rig = gated.rig;
  const RequestId opener = rig.engine->generate(request(2, 6));
  gated.gate.wait_arrival(1);
  GenerateRequest broken = voiced(2, 10, 4, 6);
  broken.prefix_rows = rows(10, 700, kFailPrefill);
  const RequestId first = rig.engine->generate(broken);
  const RequestId second = rig.engine->generate(broken);
  const RequestId healthy = rig.engine->generate(voiced(1, 10, 4, 6));
  gated.gate.open();
  CHECK(rig.listener.wait_done(first).end.reason == FinishReason::kError);
  CHECK(rig.listener.wait_done(second).end.reason == FinishReason::kError);
  CHECK_EQUAL(rig.listener.wait_done(healthy).frames, 6);
  CHECK_EQUAL(rig.listener.wait_done(opener).frames, 6);
  rig.check_nothing_left();
}

}  // namespace sonant::test
