// What one request carries through the scheduler. A Sequence owns everything that its
// generation allocates; destroying it, on whatever path, releases all of it. Only the
// scheduler's thread touches these objects after submission.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "engine/attempt.h"
#include "engine/chunker.h"
#include "engine/clock.h"
#include "engine/engine.h"
#include "engine/pacing.h"

namespace sonant {

// What a prefix key must stand for: two prefixes with equal identities hold the same rows.
struct PrefixIdentity {
  uint64_t hash = 0;
  int rows = 0;
  bool operator==(const PrefixIdentity&) const = default;
};
PrefixIdentity identify_prefix(const std::vector<int32_t>& rows, int row_width);

enum class Phase {
  kWaiting,   // in line, no state yet
  kPrefix,    // live, its voice prefix is being computed
  kPrompt,    // live, its own rows are being computed
  kSpeaking,  // live, one frame a tick unless its reader lags
};

struct Sequence {
  RequestId id = 0;
  GenerateRequest request;
  PrefixIdentity prefix;
  Phase phase = Phase::kWaiting;
  bool cancelled = false;
  std::optional<Time> cancel_called;
  std::optional<Failure> failure;
  std::optional<FinishReason> end;  // the model stopped, or the frame limit was reached

  std::shared_ptr<const LmPrefix> cached_prefix;  // until the sequence is created from it
  std::unique_ptr<LmSequence> lm;
  std::unique_ptr<CodecStream> decoder;  // null without audio
  std::vector<int32_t> prompt;           // own rows: the text, and the prefix when it is not shared
  int prompt_done = 0;                   // rows of `prompt` computed

  std::vector<int32_t> codes;  // [n_vq] of the frame in the making
  Chunker chunker;
  bool decoding = false;  // the codec is at work on its last frame: decoder and chunker stay as they are
  int delivered = 0;  // frames handed to the sink
  int consumed = 0;   // of them, taken by the reader
  Lead lead;          // what the listener has yet to hear

  GenerateStats stats;
  std::array<Time, 4> drawn{};  // when the last frames were complete, by their number modulo 4
  Time submitted;
  std::optional<Time> started;       // first prefill slice
  std::optional<Time> first_audio;   // first chunk
  std::optional<Time> paused_since;  // the reader has lagged since

  // The chunk in the making is complete, and goes out as soon as its last frame has its sound.
  bool chunk_complete() const { return !chunker.empty() && (chunker.full() || end); }
  // It goes out now, since it is complete or would be held too long until `next`.
  bool chunk_due(Time next) const { return chunk_complete() || chunker.held_past(next); }
  // A chunk that waits for the codec counts, so that what is drawn does not depend on when it goes out.
  bool reader_lags() const {
    const int coming = decoding && chunk_complete() ? chunker.frames() : 0;
    return delivered + coming - consumed >= request.buffer_frames;
  }
  // Counts a frame that was complete at `now`.
  void note_frame(Time now) { drawn[static_cast<size_t>(stats.frames++) % drawn.size()] = now; }
  // Charges a prefill slice that ran from `from` to `to`.
  void charge_prefill(Time from, Time to);
  // Keeps paused_ms: call the first at every tick, the second when the sequence ends.
  void note_pause(Time now);
  void end_pause(Time now);
};

}  // namespace sonant
