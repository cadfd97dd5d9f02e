#include "engine/pacing.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace sonant {

namespace {

// Half of what is known is forgotten after some 35 ticks: half a second to two seconds of speech.
constexpr double kKept = 0.98;
// Of other work, half is forgotten after some 350 frames.
constexpr double kOtherKept = 0.998;
// Who hears nothing yet waits so long before he is served like one who runs dry.
constexpr double kPatienceMs = 1000;
// A spread of batch sizes below this tells nothing about the slope.
constexpr double kLeastSpread = 0.25;
// Who has less than so many ticks to play, or less than this, is about to run dry: the next piece of his text
// may have to be prepared meanwhile. Who has twice that may wait.
constexpr double kDryTicks = 2;
constexpr double kDryMs = 400;

double in_ms(Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); }
Clock::duration of_ms(double ms) {
  return std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double, std::milli>(ms));
}

}  // namespace

void TickCost::note(int sequences, double ms) {
  const double n = sequences;
  weight_ = kKept * weight_ + 1;
  n_ = kKept * n_ + n;
  t_ = kKept * t_ + ms;
  nn_ = kKept * nn_ + n * n;
  nt_ = kKept * nt_ + n * ms;
  const double mean_n = n_ / weight_, mean_t = t_ / weight_;
  const double spread = nn_ / weight_ - mean_n * mean_n;
  if (spread >= kLeastSpread) {
    const double slope = (nt_ / weight_ - mean_n * mean_t) / spread;
    each_ = std::clamp(slope, 0.0, mean_t / mean_n);
    fixed_ = mean_t - each_ * mean_n;
    return;
  }
  // One size of batch says how much, and nothing about the shape: what was known of that stays, and where
  // nothing was, each sequence is taken to cost the same.
  const double known = fixed_ + each_ * mean_n;
  if (known <= 0) {
    each_ = mean_t / mean_n;
    return;
  }
  fixed_ *= mean_t / known;
  each_ *= mean_t / known;
}

double TickCost::ms(int sequences) const { return fixed_ + each_ * sequences; }

void TickCost::note_other(int frames, double ms) {
  const double kept = std::pow(kOtherKept, frames);
  other_ = kept * other_ + ms;
  other_frames_ = kept * other_frames_ + frames;
}

Lead::Lead(Time begun, double ahead_ms, double reserve_ms)
    : until_(begun + of_ms(ahead_ms)), reserve_ms_(reserve_ms), begun_(ahead_ms > 0) {}

double Lead::left_ms(Time now) const { return std::max(0.0, in_ms(until_ - now)); }

double Lead::sent(Time now, double audio_ms) {
  const double late = begun_ ? std::max(0.0, in_ms(now - until_)) : 0;
  begun_ = true;
  until_ = std::max(until_, now) + of_ms(audio_ms);
  return late;
}

void Lead::resumed(Time now) { until_ = std::max(until_, now); }

Time Lead::due() const { return begun_ ? until_ - of_ms(reserve_ms_) : until_ + of_ms(kPatienceMs); }

double yields_above(std::span<const double> leads, const TickCost& cost) {
  constexpr double kNobody = std::numeric_limits<double>::infinity();
  if (leads.empty()) return kNobody;
  const double tick_ms = cost.ms(static_cast<int>(leads.size()));
  if (tick_ms < kShortTickMs) return kNobody;
  const double dry = std::max(kDryTicks * tick_ms, kDryMs);
  return *std::min_element(leads.begin(), leads.end()) < dry ? 2 * dry : kNobody;
}

}  // namespace sonant
