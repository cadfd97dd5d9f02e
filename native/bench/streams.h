// Listeners: many streams at once through the whole engine, each heard in real time.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"

namespace sonant::bench {

struct StreamsOptions {
  int streams = 1;
  double seconds = 10;      // of sound that each stream speaks
  int voice_frames = 50, text_rows = 25;
};

// Speaks `streams` streams with one warm voice, all begun at once, and reports, in milliseconds unless the name says
// otherwise: first audio (median, 95 %, most), the share of streams that never ran dry for longer than 100 ms once
// they had begun, the longest such gap, how long all took, and seconds of sound a second.
std::vector<std::pair<std::string, double>> run_streams(std::unique_ptr<Backend> backend, const StreamsOptions& options);

}  // namespace sonant::bench
