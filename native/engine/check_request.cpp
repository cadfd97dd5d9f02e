#include "engine/check_request.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/error.h"

namespace sonant {

namespace {

constexpr int kMost = std::numeric_limits<int>::max();
constexpr int kMostMs = 86'400'000;

void require_between(const char* field, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return;
  std::string range = "at least " + std::to_string(low);
  if (high != kMost) range = "between " + std::to_string(low) + " and " + std::to_string(high);
  throw Error("bad_request",
              std::string(field) + " must be " + range + ", not " + std::to_string(value) + ".");
}

void check_rows(const char* field, const std::vector<int32_t>& rows, const LmConfig& config) {
  const size_t width = static_cast<size_t>(config.row_width());
  if (rows.size() % width != 0) {
    throw Error("bad_request", std::string(field) + " holds " + std::to_string(rows.size()) +
                                   " ids, which do not make whole rows of " +
                                   std::to_string(width) + ".");
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    const size_t column = i % width;
    const int id = rows[i];
    if (column == 0) {
      require_between((std::string(field) + ": text ids").c_str(), id, 0, config.vocab_size - 1);
    } else if (id != config.audio_pad_id) {
      require_between((std::string(field) + ": codes").c_str(), id, 0,
                      config.codebook_sizes[column - 1] - 1);
    }
  }
}

void check_ms(const char* field, double ms) {
  if (ms >= 0 && ms <= kMostMs) return;  // neither holds for what is not a number
  throw Error("bad_request", std::string(field) + " must be between 0 and " + std::to_string(kMostMs) +
                                 " milliseconds, not " + std::to_string(ms) + ".");
}

void check_chunks(const ChunkPolicy& chunks) {
  require_between("chunks.first_frames", chunks.first_frames, 1, kMost);
  require_between("chunks.max_frames", chunks.max_frames, 1, kMost);
  if (!std::isfinite(chunks.growth) || chunks.growth < 1) {
    throw Error("bad_request", "chunks.growth must be a number of at least 1, not " +
                                   std::to_string(chunks.growth) + ".");
  }
  check_ms("chunks.hold_ms", chunks.hold_ms);
}

// The codec's own channels, all of them or their mean.
void check_channels(int channels, int of_codec) {
  if (channels == 0 || channels == 1 || channels == of_codec) return;
  const std::string allowed = of_codec == 1 ? "0 or 1" : "0, 1 or " + std::to_string(of_codec);
  throw Error("bad_request", "channels must be " + allowed + ", not " + std::to_string(channels) + ".");
}

}  // namespace

void check_models(const Backend& backend) {
  if (!backend.lm || !backend.codec) return;
  const LmConfig& lm = backend.lm->config();
  const CodecConfig& codec = backend.codec->config();
  for (int book = 0; book < std::min(lm.n_vq, codec.n_codebooks); ++book) {
    const int size = lm.codebook_sizes[static_cast<size_t>(book)];
    if (size <= codec.codebook_size) continue;
    throw Error("model_invalid", "Codebook " + std::to_string(book) + " of the language model has " +
                                     std::to_string(size) + " codes, but those of the codec have " +
                                     std::to_string(codec.codebook_size) + "; the two do not belong together.");
  }
}

void check_limits(const EngineLimits& limits) {
  require_between("max_sequences", limits.max_sequences, 0, kMost / 2);
  require_between("max_parked", limits.max_parked, 0, kMost / 2);
  require_between("max_waiting", limits.max_waiting, 0, kMost);
  require_between("prefill_slice_rows", limits.prefill_slice_rows, 0, kMost);
  require_between("encode_slice_frames", limits.encode_slice_frames, 0, kMost);
}

EngineLimits complete(EngineLimits limits, const Backend& backend) {
  const auto fill = [](int& limit, int suits) {
    if (limit == 0) limit = suits;
  };
  fill(limits.max_sequences, backend.sequences);
  fill(limits.prefill_slice_rows, backend.prefill_rows);
  fill(limits.encode_slice_frames, backend.encode_frames);
  return limits;
}

void check_request(const GenerateRequest& request, const Backend& backend) {
  if (!backend.lm) throw Error("unsupported", "No language model has been loaded.");
  if (request.want_audio && !backend.codec) throw Error("unsupported", "No codec has been loaded.");
  const LmConfig& config = backend.lm->config();
  check_rows("prefix_rows", request.prefix_rows, config);
  check_rows("text_rows", request.text_rows, config);
  if (request.text_rows.empty()) {
    throw Error("bad_request", "text_rows must hold at least one row.");
  }
  validate(request.sampling, config.n_vq);
  require_between("max_frames", request.max_frames, 1, config.max_positions);
  require_between("buffer_frames", request.buffer_frames, 1, kMost);
  if (request.want_audio) check_channels(request.channels, backend.codec->config().channels);
  check_ms("lead_ms", request.lead_ms);
  check_ms("reserve_ms", request.reserve_ms);
  check_chunks(request.chunks);
  const int64_t ids = static_cast<int64_t>(request.prefix_rows.size() + request.text_rows.size());
  const int64_t rows = ids / config.row_width();
  if (rows + request.max_frames > config.max_positions) {
    throw Error("bad_request", "A prompt of " + std::to_string(rows) + " rows and " +
                                   std::to_string(request.max_frames) +
                                   " frames do not fit the model's " +
                                   std::to_string(config.max_positions) + " positions.");
  }
}

}  // namespace sonant
