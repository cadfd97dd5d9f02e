#include "parity/ladder.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>

#include "model/error.h"
#include "model/json.h"
#include "model/safetensors.h"

namespace sonant {

Tolerances tolerances(Precision precision) {
  switch (precision) {
    case Precision::kFp32: return {1e-4, 1e-4, 1e-5};
    case Precision::kBf16: return {1.2e-2, 1.2e-2, 2e-2};
    case Precision::kInt8: return {5e-2, 5e-2, 4e-2};
  }
  return {};
}

namespace {

namespace fs = std::filesystem;

std::vector<float> floats(const Tensor& tensor) {
  std::vector<float> out(static_cast<size_t>(tensor.count()));
  read_f32(tensor, out.data());
  return out;
}

std::vector<int32_t> integers(const Tensor& tensor) {
  if (tensor.dtype != DType::kI32) throw Error("model_invalid", "Expected tensor '" + tensor.name + "' to hold I32");
  std::vector<int32_t> out(static_cast<size_t>(tensor.count()));
  std::memcpy(out.data(), tensor.data, out.size() * 4);
  return out;
}

template <class T>
std::vector<T> transposed(const std::vector<T>& in, size_t rows, size_t cols) {
  std::vector<T> out(in.size());
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < cols; c++) out[c * rows + r] = in[r * cols + c];
  return out;
}

class Ladder {
 public:
  explicit Ladder(const LadderOptions& options) : options_(options), limits_(tolerances(options.precision)) {}

  void language_model(const std::string& folder, const Checkpoint& expected);
  void codec(const std::string& folder, const Checkpoint& expected);
  void sampling(const std::string& file);

  std::string fixture;
  std::vector<Rung> rungs;

 private:
  void add(const std::string& name, double error, double tolerance, const std::string& unit) {
    rungs.push_back({fixture, name, unit, error, tolerance, std::isfinite(error) && error <= tolerance});
  }
  // Largest difference over `scale`, or over the largest reference value when it is 0.
  void compare(const std::string& name, const std::vector<float>& got, const std::vector<float>& want, double tolerance, double scale = 0) {
    double worst = 0, peak = scale;
    for (size_t i = 0; i < want.size(); i++) {
      const double difference = std::fabs(static_cast<double>(got[i]) - want[i]);
      worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
      if (scale == 0) peak = std::max(peak, std::fabs(static_cast<double>(want[i])));
    }
    add(name, got.size() == want.size() && peak > 0 ? worst / peak : INFINITY, tolerance, "relative");
  }
  void compare_codes(const std::string& name, const std::vector<int32_t>& got, const std::vector<int32_t>& want) {
    size_t unequal = got.size() == want.size() && !want.empty() ? 0 : want.size() + 1;
    for (size_t i = 0; unequal <= want.size() && i < want.size(); i++) unequal += got[i] != want[i];
    add(name, static_cast<double>(unequal) / static_cast<double>(std::max<size_t>(1, want.size())), 0, "unequal");
  }
  std::unique_ptr<Backend> backend(const std::string& folder, bool lm) const {
    BackendOptions options;
    (lm ? options.lm_folder : options.codec_folder) = folder;
    options.precision = options_.precision;
    options.threads = options_.threads;
    options.isa = options_.isa;
    return options_.create(options);
  }

  const LadderOptions options_;
  const Tolerances limits_;
};

void Ladder::language_model(const std::string& folder, const Checkpoint& expected) {
  const auto engine = backend(folder, true);
  LanguageModel& lm = *engine->lm;
  const LmConfig& config = lm.config();
  const Tensor& prompt = expected.get("prompt_rows");
  const std::vector<int32_t> rows = integers(prompt);
  const int n = static_cast<int>(prompt.rows()), d = config.d_model, widest = config.max_codebook();

  std::vector<float> hidden(static_cast<size_t>(n) * d);
  auto sequence = lm.create_sequence(nullptr, n + 64);
  PrefillItem whole{sequence.get(), rows.data(), n, hidden.data()};
  lm.prefill({&whole, 1});
  compare("global hidden of the prompt", hidden, floats(expected.get("global_hidden")), limits_.hidden);

  // The same prompt behind a shared prefix, in slices that fit no block: bit for bit the same.
  auto first = lm.create_sequence(nullptr, n + 64);
  PrefillItem head{first.get(), rows.data(), n / 3, nullptr};
  lm.prefill({&head, 1});
  auto sliced = lm.create_sequence(lm.freeze(*first), n + 64);
  std::vector<float> last(d);
  for (int at = n / 3; at < n; at += 5) {
    std::vector<float> slice_hidden(static_cast<size_t>(5) * d);
    const int count = std::min(5, n - at);
    PrefillItem slice{sliced.get(), rows.data() + static_cast<size_t>(at) * config.row_width(), count, slice_hidden.data()};
    lm.prefill({&slice, 1});
    std::copy_n(slice_hidden.begin() + static_cast<size_t>(count - 1) * d, d, last.begin());
  }
  compare("prompt in slices behind a shared prefix", last, {hidden.end() - d, hidden.end()}, 0);

  const std::vector<int32_t> want_codes = integers(expected.get("greedy_codes"));
  const std::vector<float> want_hidden = floats(expected.get("frame_hidden")), want_text = floats(expected.get("text_logits")),
                           want_audio = floats(expected.get("audio_logits"));
  const int frames = static_cast<int>(expected.get("greedy_codes").rows()), vocab = static_cast<int>(expected.get("text_logits").cols());
  SamplingParams greedy;
  greedy.do_sample = false;
  greedy.repetition_penalty = 1.0f;
  std::vector<int32_t> codes;
  std::vector<float> got_hidden, got_text, got_audio, text_reference;
  for (int f = 0; f < frames; f++) {
    std::vector<int32_t> frame(config.n_vq);
    std::vector<float> h(d), text(2), audio(static_cast<size_t>(config.n_vq) * widest);
    FrameItem item{sequence.get(), &greedy, true, frame.data(), false, false, h.data(), text.data(), audio.data()};
    lm.step({&item, 1});
    codes.insert(codes.end(), frame.begin(), frame.end());
    got_hidden.insert(got_hidden.end(), h.begin(), h.end());
    got_text.insert(got_text.end(), text.begin(), text.end());
    got_audio.insert(got_audio.end(), audio.begin(), audio.end());
    text_reference.push_back(want_text[static_cast<size_t>(f) * vocab + config.assistant_slot_id]);
    text_reference.push_back(want_text[static_cast<size_t>(f) * vocab + config.audio_end_id]);
  }
  const double text_peak = std::fabs(*std::max_element(want_text.begin(), want_text.end(), [](float a, float b) { return std::fabs(a) < std::fabs(b); }));
  if (options_.precision == Precision::kFp32) {
    compare_codes("greedy codes", codes, want_codes);
    compare("global hidden of each frame", got_hidden, want_hidden, limits_.hidden);
    compare("text logits", got_text, text_reference, limits_.logits, text_peak);
    compare("audio logits", got_audio, want_audio, limits_.logits);
    return;
  }
  // A coarser precision may choose another code where two are nearly tied, and then goes its own
  // way; so the numbers are compared up to there, and the choice must have been nearly a tie.
  const auto head_of = [](const std::vector<float>& v, size_t count) { return std::vector<float>(v.begin(), v.begin() + static_cast<long>(count)); };
  compare("global hidden of the first frame", head_of(got_hidden, d), head_of(want_hidden, d), limits_.hidden);
  compare("text logits of the first frame", head_of(got_text, 2), head_of(text_reference, 2), limits_.logits, text_peak);
  compare("first head of the first frame", head_of(got_audio, config.codebook_sizes[0]), head_of(want_audio, config.codebook_sizes[0]), limits_.logits);
  const size_t split = static_cast<size_t>(std::mismatch(codes.begin(), codes.end(), want_codes.begin()).first - codes.begin());
  double margin = 0;
  if (split < codes.size()) {
    const float* logits = want_audio.data() + split * widest;
    const double peak = std::fabs(*std::max_element(logits, logits + config.codebook_sizes[split % config.n_vq]));
    margin = (static_cast<double>(logits[want_codes[split]]) - logits[codes[split]]) / peak;
  }
  add("margin of the first other code (" + std::to_string(split) + " equal)", margin, limits_.near_tie(), "relative");
}

void Ladder::codec(const std::string& folder, const Checkpoint& expected) {
  const auto engine = backend(folder, false);
  Codec& codec = *engine->codec;
  const CodecConfig& config = codec.config();
  const size_t frame_values = static_cast<size_t>(config.frame_samples) * config.channels;
  // Reference codes are [book][frame], audio [channel][sample]; ours are the other way round.
  const auto codes_of = [&](const char* name) {
    const Tensor& tensor = expected.get(name);
    return transposed(integers(tensor), static_cast<size_t>(tensor.rows()), static_cast<size_t>(tensor.cols()));
  };
  const auto audio_of = [&](const char* name) {
    const Tensor& tensor = expected.get(name);
    return transposed(floats(tensor), static_cast<size_t>(tensor.rows()), static_cast<size_t>(tensor.cols()));
  };
  const auto decode = [&](const std::vector<int32_t>& codes, int books, int chunk) {
    const int frames = static_cast<int>(codes.size()) / books;
    std::vector<float> pcm(frames * frame_values);
    auto stream = codec.create_decoder();
    for (int at = 0; at < frames; at += chunk) {
      DecodeItem item{stream.get(), codes.data() + static_cast<size_t>(at) * books, std::min(chunk, frames - at), books, pcm.data() + at * frame_values};
      codec.decode({&item, 1});
    }
    return pcm;
  };

  const std::vector<int32_t> codes = codes_of("codes"), random = codes_of("random_codes");
  const int books = config.n_codebooks, frames = static_cast<int>(codes.size()) / books, random_frames = static_cast<int>(random.size()) / books;
  std::vector<float> latent(static_cast<size_t>(frames) * config.code_dim);
  codec.dequantize(codes.data(), frames, books, latent.data());
  const Tensor& want_latent = expected.get("latent");
  compare("dequantised latent", latent, transposed(floats(want_latent), static_cast<size_t>(want_latent.rows()), static_cast<size_t>(want_latent.cols())), 1e-5);
  if (!options_.brief) compare("decode", decode(codes, books, frames), audio_of("decoded"), limits_.decode);
  const std::vector<float> offline = decode(random, books, random_frames);
  compare("decode past every window", offline, audio_of("random_decoded"), limits_.decode);
  if (!options_.brief) {
    std::vector<int32_t> half;
    for (int t = 0; t < random_frames; t++) half.insert(half.end(), random.begin() + t * books, random.begin() + t * books + books / 2);
    compare("decode of half the codebooks", decode(half, books / 2, random_frames), audio_of("random_decoded_half_codebooks"), limits_.decode);
  }
  if (options_.brief && options_.precision != Precision::kFp32) return;  // the encoder is fp32 in every precision
  for (const int chunk : options_.brief ? std::vector{3} : std::vector{1, 3, 8}) compare("decode in chunks of " + std::to_string(chunk), decode(random, books, chunk), offline, 0);

  const std::vector<float> wave = audio_of("input_wave");
  const int whole = static_cast<int>(wave.size() / frame_values);
  for (const int chunk : options_.brief ? std::vector{whole} : std::vector{whole, 1, 3}) {
    std::vector<int32_t> got(static_cast<size_t>(whole) * books);
    std::vector<float> hidden(static_cast<size_t>(whole) * config.code_dim);
    auto stream = codec.create_encoder();
    for (int at = 0; at < whole; at += chunk) {
      EncodeItem item{stream.get(), wave.data() + at * frame_values, std::min(chunk, whole - at), got.data() + static_cast<size_t>(at) * books,
                      hidden.data() + static_cast<size_t>(at) * config.code_dim};
      codec.encode({&item, 1});
    }
    compare_codes(chunk == whole ? "encode" : "encode in chunks of " + std::to_string(chunk), got, codes);
    if (chunk != whole) continue;
    const Tensor& want = expected.get("encoder_hidden");
    std::vector<float> reference = transposed(floats(want), static_cast<size_t>(want.rows()), static_cast<size_t>(want.cols()));
    reference.resize(hidden.size());  // the original also reports the partial last frame
    compare("encoder hidden", hidden, reference, 1e-4);
  }
}

void Ladder::sampling(const std::string& file) {
  double worst = 0;
  const Json cases = Json::parse_file(file);
  for (const Json& entry : cases.as_array()) {
    const auto number = [&](const char* key) {
      const Json* value = entry.find(key);
      if (!value) throw Error("model_invalid", file + ": a case lacks '" + key + "'");
      return value->as_number();
    };
    std::vector<float> logits, want;
    for (const Json& x : entry.find("logits")->as_array()) logits.push_back(static_cast<float>(x.as_number()));
    for (const Json& x : entry.find("probs")->as_array()) want.push_back(static_cast<float>(x.as_number()));
    CodeHistory history(static_cast<int>(logits.size()));
    for (const Json& x : entry.find("previous")->as_array()) history.add(static_cast<int>(x.as_integer()));
    SamplingParams params;
    params.audio_temperature = static_cast<float>(number("temperature"));
    params.audio_top_k = static_cast<int>(number("top_k"));
    params.audio_top_p = static_cast<float>(number("top_p"));
    params.repetition_penalty = static_cast<float>(number("repetition_penalty"));
    const std::vector<float> got = audio_probabilities(logits.data(), static_cast<int>(logits.size()), history, params);
    for (size_t i = 0; i < want.size(); i++) worst = std::max(worst, std::fabs(static_cast<double>(got[i]) - want[i]));
  }
  add("sampling probabilities", worst, 1e-5, "absolute");
}

}  // namespace

std::vector<Rung> run_ladder(const std::string& folder, const LadderOptions& options) {
  if (!fs::is_directory(folder)) throw Error("model_missing", "There is no folder '" + folder + "'");
  std::vector<std::string> entries;
  for (const auto& entry : fs::directory_iterator(folder)) entries.push_back(entry.path().string());
  std::sort(entries.begin(), entries.end());
  Ladder ladder(options);
  for (const std::string& path : entries) {
    const std::string name = fs::path(path).filename().string();
    ladder.fixture = name;
    if (name.rfind("sampling", 0) == 0 && name.ends_with(".json")) ladder.sampling(path);
    if (!fs::exists(path + "/config.json") || !fs::exists(path + "/expected.safetensors")) continue;
    const auto expected = Checkpoint::open_file(path + "/expected.safetensors");
    if (expected->has("prompt_rows")) ladder.language_model(path, *expected);
    else ladder.codec(path, *expected);
  }
  if (ladder.rungs.empty())
    throw Error("model_missing", "'" + folder + "' has no fixtures: expected sub-folders with config.json, model.safetensors and expected.safetensors, or sampling*.json");
  return std::move(ladder.rungs);
}

}  // namespace sonant
