#include "parity/company.h"

#include <cstring>

#include "bench/prompt.h"

namespace sonant {
namespace {

constexpr int kVoiceFrames = 30, kTextRows = 20;

// What one sequence gets in a frame.
struct Frame {
  std::vector<int32_t> codes;
  std::vector<float> hidden, text_logits, audio_logits;
};

std::string place(const char* what, int frame, size_t at) { return std::string(what) + " " + std::to_string(at) + " of frame " + std::to_string(frame); }

// Where two runs of numbers part; `size` if nowhere.
template <class T>
size_t parting(const std::vector<T>& a, const std::vector<T>& b) {
  for (size_t i = 0; i < a.size(); i++)
    if (std::memcmp(&a[i], &b[i], sizeof(T)) != 0) return i;
  return a.size();
}

std::string first_difference(const std::vector<Frame>& alone, const std::vector<Frame>& together) {
  for (size_t f = 0; f < alone.size(); f++) {
    const int frame = static_cast<int>(f);
    if (const size_t at = parting(alone[f].hidden, together[f].hidden); at < alone[f].hidden.size()) return place("hidden value", frame, at);
    if (const size_t at = parting(alone[f].text_logits, together[f].text_logits); at < alone[f].text_logits.size()) return place("text score", frame, at);
    if (const size_t at = parting(alone[f].audio_logits, together[f].audio_logits); at < alone[f].audio_logits.size()) return place("audio score", frame, at);
    if (const size_t at = parting(alone[f].codes, together[f].codes); at < alone[f].codes.size()) return place("code", frame, at);
  }
  return "";
}

// The first of `size` sequences, the others with prompts of other lengths.
std::vector<Frame> speak(LanguageModel& lm, int size, int frames) {
  const LmConfig& config = lm.config();
  std::vector<std::unique_ptr<LmSequence>> sequences;
  std::vector<std::vector<int32_t>> rows, codes(static_cast<size_t>(size), std::vector<int32_t>(static_cast<size_t>(config.n_vq)));
  std::vector<SamplingParams> sampling(static_cast<size_t>(size));
  std::vector<PrefillItem> prompts;
  for (int i = 0; i < size; i++) {
    const int text = kTextRows + i % 13;
    rows.push_back(bench::prompt_rows(config, kVoiceFrames, text, static_cast<uint32_t>(i + 1)));
    sequences.push_back(lm.create_sequence(nullptr, kVoiceFrames + text + frames));
    prompts.push_back({sequences.back().get(), rows.back().data(), kVoiceFrames + text, nullptr});
    sampling[static_cast<size_t>(i)].seed = static_cast<uint64_t>(i);
  }
  lm.prefill(prompts);
  std::vector<Frame> result;
  for (int f = 0; f < frames; f++) {
    Frame frame{{}, std::vector<float>(static_cast<size_t>(config.d_model)), std::vector<float>(2), std::vector<float>(static_cast<size_t>(config.n_vq * config.max_codebook()))};
    std::vector<FrameItem> items;
    for (size_t i = 0; i < sequences.size(); i++) items.push_back({sequences[i].get(), &sampling[i], true, codes[i].data()});
    items[0].hidden = frame.hidden.data(), items[0].text_logits = frame.text_logits.data(), items[0].audio_logits = frame.audio_logits.data();
    lm.step(items);
    frame.codes = codes[0];
    result.push_back(std::move(frame));
  }
  return result;
}

// The sound of the first of `size` streams.
std::vector<std::vector<float>> decode(Codec& codec, int size, int frames) {
  const CodecConfig& config = codec.config();
  const size_t samples = static_cast<size_t>(config.frame_samples) * static_cast<size_t>(config.channels);
  std::vector<std::unique_ptr<CodecStream>> streams;
  for (int i = 0; i < size; i++) streams.push_back(codec.create_decoder());
  std::vector<std::vector<int32_t>> codes(static_cast<size_t>(size), std::vector<int32_t>(static_cast<size_t>(config.n_codebooks)));
  std::vector<std::vector<float>> pcm(static_cast<size_t>(size), std::vector<float>(samples)), result;
  for (int f = 0; f < frames; f++) {
    std::vector<DecodeItem> items;
    for (size_t i = 0; i < streams.size(); i++) {
      uint32_t state = static_cast<uint32_t>(i) * 7919u + static_cast<uint32_t>(f);
      for (int32_t& code : codes[i]) code = static_cast<int32_t>(((state = state * 1664525u + 1013904223u) >> 8) % static_cast<uint32_t>(config.codebook_size));
      items.push_back({streams[i].get(), codes[i].data(), 1, config.n_codebooks, pcm[i].data()});
    }
    codec.decode(items);
    result.push_back(pcm[0]);
  }
  return result;
}

}  // namespace

std::vector<CompanyResult> check_company(Backend& backend, const CompanyOptions& options) {
  std::vector<CompanyResult> results;
  if (backend.lm) {
    const std::vector<Frame> alone = speak(*backend.lm, 1, options.lm_frames);
    for (const int size : options.sizes) results.push_back({"language model", size, first_difference(alone, speak(*backend.lm, size, options.lm_frames))});
  }
  if (backend.codec) {
    const auto alone = decode(*backend.codec, 1, options.codec_frames);
    for (const int size : options.sizes) {
      const auto together = decode(*backend.codec, size, options.codec_frames);
      std::string difference;
      for (size_t f = 0; f < alone.size() && difference.empty(); f++)
        if (const size_t at = parting(alone[f], together[f]); at < alone[f].size()) difference = place("sample", static_cast<int>(f), at);
      results.push_back({"codec", size, difference});
    }
  }
  return results;
}

}  // namespace sonant
