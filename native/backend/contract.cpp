#include "backend/contract.h"

#include <string>

#include "model/error.h"

namespace sonant {

namespace {

void check_row(const LmConfig& config, const int32_t* row) {
  if (row[0] < 0 || row[0] >= config.vocab_size)
    throw Error("bad_request", "Text id " + std::to_string(row[0]) + " is outside of the vocabulary of " + std::to_string(config.vocab_size));
  for (int k = 0; k < config.n_vq; k++) {
    const int code = row[1 + k], size = config.codebook_sizes[static_cast<size_t>(k)];
    if (code != config.audio_pad_id && (code < 0 || code >= size))
      throw Error("bad_request", "Code " + std::to_string(code) + " of codebook " + std::to_string(k) + " is outside of 0.." +
                                     std::to_string(size - 1) + " and not the padding code " + std::to_string(config.audio_pad_id));
  }
}

}  // namespace

void check_capacity(const LmConfig& config, int max_rows) {
  if (max_rows < 1 || max_rows > config.max_positions)
    throw Error("bad_request", "A sequence may hold 1 to " + std::to_string(config.max_positions) + " rows, not " + std::to_string(max_rows));
}

void check_prompt(const LmConfig& config, const PrefillItem& item, int max_rows) {
  const int rows = item.sequence->rows() + item.n_rows;
  if (item.sequence->frames() > 0) throw Error("bad_request", "A prompt cannot grow after the first frame");
  if (rows > max_rows)
    throw Error("bad_request", "The prompt has " + std::to_string(rows) + " rows but its sequence was made for " + std::to_string(max_rows));
  for (int i = 0; i < item.n_rows; i++) check_row(config, item.rows + static_cast<size_t>(i) * config.row_width());
}

void check_step(const LmSequence& sequence, bool is_pending, int max_rows) {
  if (sequence.rows() == 0) throw Error("bad_request", "A frame needs a prompt first");
  if (is_pending && sequence.rows() >= max_rows)
    throw Error("bad_request", "The sequence is full: it was made for " + std::to_string(max_rows) + " rows");
}

void check_codes(const CodecConfig& config, const int32_t* codes, int n_frames, int n_books) {
  if (n_books < 1 || n_books > config.n_codebooks)
    throw Error("bad_request", "Decoding takes 1 to " + std::to_string(config.n_codebooks) + " codebooks, not " + std::to_string(n_books));
  for (int64_t i = 0; i < static_cast<int64_t>(n_frames) * n_books; i++)
    if (codes[i] < 0 || codes[i] >= config.codebook_size)
      throw Error("bad_request", "Code " + std::to_string(codes[i]) + " of codebook " + std::to_string(i % n_books) + " is outside of 0.." +
                                     std::to_string(config.codebook_size - 1));
}

}  // namespace sonant
