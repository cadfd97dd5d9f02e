// Who is served first when not all can be served in time. A listener hears in real time, so a sequence that
// is ahead of him loses nothing when it lets one go first that is about to run dry. What a tick costs for
// how many sequences is learned from the ticks that were; it also tells how many can be spoken to at once.
#pragma once

#include <span>

#include "engine/clock.h"

namespace sonant {

// The time of a tick as a straight line over the number of sequences that speak in it: a part that every tick
// costs, and one for each sequence. Old ticks count less and less.
class TickCost {
 public:
  // A tick in which `sequences` (at least one) made a frame took `ms`.
  void note(int sequences, double ms);
  // Milliseconds of a tick for so many; 0 before the first note.
  double ms(int sequences) const;
  double fixed_ms() const { return fixed_; }
  double each_ms() const { return each_; }

  // Work on prompts and recordings took `ms` while `frames` were made.
  void note_other(int frames, double ms);
  // Of that work, what falls to a frame; it is part of none of the times above.
  double other_ms() const { return other_ / other_frames_; }

 private:
  double weight_ = 0, n_ = 0, t_ = 0, nn_ = 0, nt_ = 0;  // sums over ticks, weighted by their age
  double fixed_ = 0, each_ = 0;
  // As if so many frames had been made without any: the first prompts of an engine tell nothing yet.
  double other_ = 0, other_frames_ = 500;
};

// Until when a listener has something to hear, as far as the engine can know: he begins with the first chunk
// and plays in real time. Silence that he had to bear does not count as heard.
class Lead {
 public:
  Lead() = default;
  // `ahead_ms`: what he had before this sequence began. `reserve_ms`: sound that may be held back between
  // the engine and him, which is no use to him if he runs dry.
  Lead(Time begun, double ahead_ms, double reserve_ms);

  // Milliseconds to play at `now`; 0 where he has run dry.
  double left_ms(Time now) const;
  // The same less the reserve: negative where he may hear a gap soon.
  double ms(Time now) const { return left_ms(now) - reserve_ms_; }
  // A chunk of `audio_ms` goes out at `now`. Milliseconds that the listener had to wait for it; 0 for the first.
  double sent(Time now, double audio_ms);
  // The listener himself took a pause that ends at `now`.
  void resumed(Time now);
  // When he wants the next sound: before he runs dry, or, if he has heard nothing yet, before he loses patience.
  Time due() const;

 private:
  Time until_{};
  double reserve_ms_ = 0;
  bool begun_ = false;
};

// A tick for all that is shorter than this is over before anybody notices that he was not alone in it.
inline constexpr double kShortTickMs = 10;

// The lead in milliseconds above which a sequence lets others go first in this tick; infinite where nobody has to.
// `leads` are those of all that could make a frame.
double yields_above(std::span<const double> leads, const TickCost& cost);

}  // namespace sonant
