#include "engine/request.h"

#include "backend/backend.h"

namespace sonant {

PrefixIdentity identify_prefix(const std::vector<int32_t>& rows, int row_width) {
  // FNV-1a over whole ids with a final mix; collisions need two prefixes under one key.
  uint64_t hash = 0xcbf29ce484222325u;
  for (const int32_t id : rows) hash = (hash ^ static_cast<uint32_t>(id)) * 0x100000001b3u;
  hash ^= hash >> 32;
  return {hash, static_cast<int>(rows.size()) / row_width};
}

void Sequence::charge_prefill(Time from, Time to) {
  stats.prefill_ms += ms_between(from, to);
  if (started) return;
  started = from;
  stats.queue_ms = ms_between(submitted, from);
}

void Sequence::note_pause(Time now) {
  if (!reader_lags()) {
    end_pause(now);
  } else if (!paused_since) {
    paused_since = now;
  }
}

void Sequence::end_pause(Time now) {
  if (!paused_since) return;
  stats.paused_ms += ms_between(*paused_since, now);
  lead.resumed(now);
  paused_since.reset();
}

}  // namespace sonant
