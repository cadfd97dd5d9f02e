#include "engine/scheduler.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "engine/pcm16.h"

namespace sonant {

namespace {

// Prompts and recordings are put off for so many ticks at most.
constexpr int kMostPutOff = 3;
// Among more than so many for each of them, first sounds are handed out with the others', a step of the language model later.
constexpr size_t kNewcomersWeigh = 8;

// A listener notices a longer silence.
constexpr double kUnderrunMs = 100;

}  // namespace

Scheduler::Scheduler(Backend& backend, const EngineLimits& limits, StatsBook& book)
    : backend_(backend), limits_(limits), book_(book), cache_(limits.voice_cache_bytes),
      jobs_(backend.codec.get(), book, limits.encode_slice_frames) {
  if (backend.lm) prefill_.emplace(*backend.lm, cache_, book, limits.prefill_slice_rows);
}

void Scheduler::submit(std::unique_ptr<Sequence> sequence) {
  by_id_[sequence->id] = sequence.get();
  waiting_.push_back(std::move(sequence));
}

void Scheduler::cancel(RequestId id, Time called) {
  if (const auto found = by_id_.find(id); found != by_id_.end()) {
    Sequence& sequence = *found->second;
    sequence.cancelled = true;
    if (!sequence.cancel_called) sequence.cancel_called = called;
    unwanted_ = true;
  } else {
    jobs_.cancel(id);
  }
}

void Scheduler::consumed(RequestId id, int frames) {
  const auto found = by_id_.find(id);
  if (found == by_id_.end()) return;  // a reader may still be reading what has ended here
  Sequence& sequence = *found->second;
  sequence.consumed = std::min(sequence.delivered, sequence.consumed + frames);
}

bool Scheduler::ready(const Sequence& sequence) const {
  return sequence.phase == Phase::kSpeaking && !sequence.cancelled && !sequence.failure && !sequence.end &&
         !sequence.reader_lags();
}

bool Scheduler::busy() const {
  if (unwanted_ || under_way_ || !jobs_.idle() || (prefill_ && !prefill_->idle())) return true;
  if (!waiting_.empty() && static_cast<int>(live_.size()) < limits_.places()) return true;
  return std::any_of(live_.begin(), live_.end(), [&](const auto& one) { return ready(*one); });
}

void Scheduler::tick(std::vector<Event>& events, const Hooks& hooks) {
  const auto hand_over = [&] {
    if (!events.empty()) hooks.give_out(events);
  };
  const auto let_go = [&] {
    sweep(events);
    hand_over();
  };
  let_go();
  admit();
  if (!jobs_.idle()) {  // they need the codec for themselves
    settle(events);
    hand_over();
  }
  const Time begun = Clock::now();
  const bool could_wait = !jobs_.idle() || (prefill_ && !prefill_->idle());
  const Time starving = could_wait && put_off_ < kMostPutOff ? first_starving() : Time::max();
  put_off_ = starving == Time::max() ? 0 : put_off_ + 1;
  if (put_off_ == 0) jobs_.advance(events);
  if (prefill_ && prefill_->due() <= starving) prefill_->advance();
  const double other_ms = ms_between(begun, Clock::now());
  hooks.take_in();
  let_go();
  const Time from = Clock::now();
  step();
  settle(events);
  hooks.take_in();
  decode();
  gather(events);
  if (under_way_ && better_now()) {
    hand_over();  // what is ready does not wait with it
    settle(events);
  }
  const int spoke = static_cast<int>(speaking_.size());
  if (spoke > 0) cost_.note(spoke, ms_between(from, Clock::now()));
  cost_.note_other(spoke, other_ms);
  sweep(events);
}

// When the first listener runs dry, if that is within a tick in which all are served; else the end of time.
Time Scheduler::first_starving() const {
  const Time now = Clock::now();
  int n = 0;
  const Sequence* first = nullptr;
  for (const auto& sequence : live_) {
    if (!ready(*sequence)) continue;
    ++n;
    if (sequence->first_audio && (!first || sequence->lead.due() < first->lead.due())) first = sequence.get();
  }
  const double tick_ms = cost_.ms(n);
  const bool starves = first && tick_ms >= kShortTickMs && first->lead.ms(now) < tick_ms;
  return starves ? first->lead.due() : Time::max();
}

// Those that make a frame in this tick: all that are ready, or those of them that nobody can do without.
void Scheduler::choose_speakers(Time now) {
  speaking_.clear();
  leads_.clear();
  for (const auto& sequence : live_) {
    if (sequence->phase != Phase::kSpeaking || sequence->failure || sequence->end) continue;
    sequence->note_pause(now);
    if (!ready(*sequence)) continue;
    speaking_.push_back(sequence.get());
    // Nobody listens to codes.
    leads_.push_back(sequence->decoder ? sequence->lead.ms(now) : std::numeric_limits<double>::infinity());
  }
  const double limit = yields_above(leads_, cost_);
  size_t i = 0;
  yielded_ = static_cast<int>(std::erase_if(speaking_, [&](const Sequence*) { return leads_[i++] > limit; }));
}

void Scheduler::cancel_all(std::vector<Event>& events) {
  for (const auto& [id, sequence] : by_id_) sequence->cancelled = true;
  unwanted_ = true;
  sweep(events);
  jobs_.cancel_all(events);
}

// Ends what was cancelled, has failed or is complete. Who waits for the sound of its last frame is not
// complete; who is to go before that gets it first, as it would have had if the codec had not been beside.
void Scheduler::sweep(std::vector<Event>& events) {
  if (under_way_ && std::any_of(decoding_.begin(), decoding_.end(), [](const Sequence* sequence) {
        return sequence->cancelled || sequence->failure;
      })) {
    settle(events);
  }
  const auto over = [&](const std::unique_ptr<Sequence>& sequence) {
    if (sequence->decoding) return false;
    if (sequence->cancelled) {
      finish(*sequence, FinishReason::kCancelled, events);
    } else if (sequence->failure) {
      finish(*sequence, FinishReason::kError, events);
    } else if (sequence->end) {
      finish(*sequence, *sequence->end, events);
    } else {
      return false;
    }
    return true;
  };
  std::erase_if(live_, over);
  if (std::exchange(unwanted_, false)) std::erase_if(waiting_, over);
}

void Scheduler::admit() {
  while (!waiting_.empty() && static_cast<int>(live_.size()) < limits_.places()) {
    live_.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
    Sequence& sequence = *live_.back();
    sequence.failure = attempt([&] { start(sequence); });
  }
}

int Scheduler::books_of(const GenerateRequest& request) const {
  return request.sampling.n_vq > 0 ? request.sampling.n_vq : backend_.lm->config().n_vq;
}

void Scheduler::start(Sequence& sequence) {
  const GenerateRequest& request = sequence.request;
  sequence.lead = Lead(sequence.submitted, request.lead_ms, request.reserve_ms);
  int samples = 0;
  if (request.want_audio) {
    const CodecConfig& codec = backend_.codec->config();
    samples = codec.frame_samples * codec.channels;
    sequence.decoder = backend_.codec->create_decoder();
  }
  sequence.chunker = Chunker(request.chunks, samples, request.want_codes ? books_of(request) : 0);
  sequence.codes.resize(static_cast<size_t>(backend_.lm->config().n_vq));
  prefill_->admit(sequence);
}

void Scheduler::step() {
  rows_before_.clear();
  frames_.clear();
  const Time from = Clock::now();
  choose_speakers(from);
  for (Sequence* sequence : speaking_) {
    rows_before_.push_back(sequence->lm->rows());
    frames_.push_back({.sequence = sequence->lm.get(),
                       .sampling = &sequence->request.sampling,
                       .force_continue = sequence->request.ignore_stop,
                       .codes = sequence->codes.data()});
  }
  if (speaking_.empty()) return;

  const auto untouched = [&](size_t i, const Failure&) {
    const LmSequence& lm = *speaking_[i]->lm;
    return lm.rows() == rows_before_[i] && lm.frames() == speaking_[i]->stats.frames;
  };
  attempt_batch(
      std::span(frames_), [&](std::span<FrameItem> items) { backend_.lm->step(items); }, untouched,
      [&](size_t i, const Failure& failure) { speaking_[i]->failure = failure; });
  const Time to = Clock::now();
  const double ms = ms_between(from, to);

  int drawn = 0;
  for (size_t i = 0; i < speaking_.size(); ++i) {
    Sequence& sequence = *speaking_[i];
    sequence.stats.frame_ms += ms;
    if (sequence.failure) continue;
    if (frames_[i].failed) {
      sequence.failure = {"engine_failed", "The model's numbers stopped being finite at frame " +
                                               std::to_string(sequence.stats.frames) + "."};
      continue;
    }
    if (frames_[i].stopped) {
      sequence.end = FinishReason::kStop;
      continue;
    }
    ++drawn;
    sequence.note_frame(to);
  }
  book_.step_took(ms, drawn, yielded_);
}

// Adds the frames of the step to their chunks and has their sound made, or begun.
void Scheduler::decode() {
  decodes_.clear();
  decoding_.clear();
  const Time now = Clock::now();
  for (size_t i = 0; i < speaking_.size(); ++i) {
    Sequence& sequence = *speaking_[i];
    if (sequence.cancelled || sequence.failure || frames_[i].stopped) continue;
    if (sequence.decoder) {
      decodes_.push_back({.stream = sequence.decoder.get(),
                          .codes = sequence.codes.data(),
                          .n_frames = 1,
                          .n_books = std::min(books_of(sequence.request), backend_.codec->config().n_codebooks),
                          .pcm = sequence.chunker.next_pcm()});
      decoding_.push_back(&sequence);
    }
    sequence.chunker.add(sequence.codes.data(), now);
    // Not before: a frame whose sound is still to be handed out would pass for the last one.
    if (sequence.stats.frames == sequence.request.max_frames) sequence.end = FinishReason::kLength;
  }
  if (decoding_.empty()) return;
  Codec& codec = *backend_.codec;
  const Time from = Clock::now();
  attempt_batch(
      std::span(decodes_),
      [&](std::span<DecodeItem> items) {
        // What is tried again alone is over when it returns: only one decode may be under way.
        if (!codec.decodes_beside() || items.size() < decodes_.size()) return codec.decode(items);
        codec.begin_decode(items);
        under_way_ = true;
      },
      [](size_t, const Failure& failure) { return failure.code == "bad_request"; },
      [&](size_t i, const Failure& failure) { decoding_[i]->failure = failure; });
  const double ms = ms_between(from, Clock::now());
  if (!under_way_) return codec_took(ms);
  begin_ms_ = ms;
  for (Sequence* sequence : decoding_) sequence->decoding = true;
}

// Whether the decode under way is not to be left to the next tick: for first sounds, unless they are so few among so many
// that all would wait for them longer than they would wait for the next frame of all.
bool Scheduler::better_now() const {
  const auto first_sound = [](const Sequence* one) { return !one->first_audio && one->chunk_complete(); };
  const auto newcomers = static_cast<size_t>(std::count_if(decoding_.begin(), decoding_.end(), first_sound));
  return (newcomers > 0 && newcomers * kNewcomersWeigh >= decoding_.size()) ||
         std::none_of(live_.begin(), live_.end(), [&](const auto& one) { return ready(*one); });
}

// Waits for the decode under way, if there is one, and hands its chunks out. Who has been cancelled or
// has failed since it began gets them too: they come from before that.
void Scheduler::settle(std::vector<Event>& events) {
  if (!std::exchange(under_way_, false)) return;
  const Time from = Clock::now();
  const auto failure = attempt([&] { backend_.codec->finish_decode(); });
  codec_took(begin_ms_ + ms_between(from, Clock::now()));
  for (Sequence* sequence : decoding_) {
    sequence->decoding = false;
    if (failure) sequence->failure = failure;
  }
  if (failure) return;
  const Time next = next_look();
  for (Sequence* sequence : decoding_) {
    if (sequence->chunk_due(next)) hand_out(*sequence, events);
  }
}

// Hands out the chunks that are due and wait for no codec; those who let others go first may have some as well.
void Scheduler::gather(std::vector<Event>& events) {
  const Time next = next_look();
  for (const auto& sequence : live_) {
    if (sequence->cancelled || sequence->failure || sequence->decoding) continue;
    if (sequence->chunk_due(next)) hand_out(*sequence, events);
  }
}

// When chunks that stay now will be looked at again: a tick from now, if it is one like the last.
Time Scheduler::next_look() const {
  const std::chrono::duration<double, std::milli> tick(cost_.ms(static_cast<int>(speaking_.size())));
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(tick);
}

double Scheduler::audio_ms(int frames) const {
  const CodecConfig& codec = backend_.codec->config();
  return 1000.0 * frames * codec.frame_samples / codec.sample_rate;
}

void Scheduler::hand_out(Sequence& sequence, std::vector<Event>& events) {
  events.push_back(sequence.chunker.take(sequence.id));
  Event& event = events.back();
  if (sequence.decoder && sequence.request.channels == 1) {
    event.pcm = to_mono(event.pcm, backend_.codec->config().channels);
  }
  if (sequence.request.pcm16) event.pcm16 = to_pcm16(std::exchange(event.pcm, {}));
  sequence.delivered += event.frames;
  const Time now = Clock::now();
  if (sequence.decoder) {
    const double late_ms = sequence.lead.sent(now, audio_ms(event.frames));
    if (sequence.first_audio) sequence.stats.starved_ms += late_ms;
    if (late_ms > kUnderrunMs) book_.update([](EngineStats& stats) { ++stats.underruns; });
  }
  if (sequence.first_audio) return;
  sequence.first_audio = now;
  sequence.stats.first_audio_ms = ms_between(sequence.submitted, *sequence.first_audio);
}

// Charges the last decode. `ms` is the time this thread gave to it: all of it where it waits from the
// beginning to the end, and where the codec decodes beside, its beginning and what was left to wait
// for; how long the device took is not in it.
void Scheduler::codec_took(double ms) {
  for (Sequence* sequence : decoding_) {
    sequence->stats.codec_ms += ms;
    if (!sequence->first_audio) sequence->stats.first_codec_ms += ms;
  }
  book_.codec_took(ms);
}

void Scheduler::fail_all(const Failure& failure, std::vector<Event>& events) {
  for (const auto& sequence : live_) {
    if (!sequence->failure) sequence->failure = failure;
  }
  sweep(events);
}

void Scheduler::finish(Sequence& sequence, FinishReason reason, std::vector<Event>& events) {
  if (prefill_) prefill_->leave(sequence);
  by_id_.erase(sequence.id);
  sequence.lm.reset();
  sequence.decoder.reset();
  const Time now = Clock::now();
  if (reason == FinishReason::kCancelled && sequence.cancel_called) {
    const Time called = *sequence.cancel_called;
    sequence.stats.cancel_ms = ms_between(called, now);
    sequence.stats.late_frames = static_cast<int>(
        std::count_if(sequence.drawn.begin(), sequence.drawn.end(), [&](Time at) { return at > called; }));
    book_.cancel_took(sequence.stats.cancel_ms);
  }
  sequence.end_pause(now);
  if (!sequence.started) sequence.stats.queue_ms = ms_between(sequence.submitted, now);
  sequence.stats.total_ms = ms_between(sequence.submitted, now);
  Event done;
  done.kind = Event::Kind::kDone;
  done.id = sequence.id;
  done.reason = reason;
  if (reason == FinishReason::kError) {
    done.error_code = sequence.failure->code;
    done.error_message = sequence.failure->message;
  }
  done.stats = sequence.stats;
  events.push_back(std::move(done));
  book_.update([&](EngineStats& stats) { count_end(stats, reason); });
}

void Scheduler::report(EngineStats& stats) const {
  stats.live = static_cast<int>(live_.size());
  stats.waiting = static_cast<int>(waiting_.size());
  stats.voice_cache_bytes = cache_.bytes();
  stats.voice_cache_entries = cache_.entries();
  stats.voice_cache_evictions = cache_.evictions();
  stats.sequence_bytes = 0;
  stats.lead_ms_min = 0;
  stats.tick_fixed_ms = cost_.fixed_ms();
  stats.tick_sequence_ms = cost_.each_ms();
  stats.tick_prompt_ms = cost_.other_ms();
  const Time now = Clock::now();
  bool any = false;
  for (const auto& sequence : live_) {
    if (sequence->lm) stats.sequence_bytes += sequence->lm->bytes();
    if (sequence->decoder) stats.sequence_bytes += sequence->decoder->bytes();
    // Who does not read is not waiting for anything.
    if (!sequence->first_audio || !sequence->decoder || sequence->reader_lags()) continue;
    const double lead = sequence->lead.left_ms(now);
    stats.lead_ms_min = any ? std::min(stats.lead_ms_min, lead) : lead;
    any = true;
  }
}

}  // namespace sonant
