// Reads and validates the two config.json files of a checkpoint. Every size has a sane maximum,
// so that a config that lies cannot make the engine allocate without bound.
#include "model/config.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "model/error.h"
#include "model/json.h"

namespace sonant {
namespace {

constexpr int kMaxDim = 16384;
constexpr int kMaxFeedForward = 65536;
constexpr int kMaxLayers = 256;
constexpr int kMaxVocab = 1 << 20;
constexpr int kMaxCodebooks = 64;
constexpr int kMaxPositions = 1 << 20;
constexpr int kMaxWindow = 1 << 16;
constexpr double kMaxKvValues = 1 << 28;    // keys plus values one codec stream may hold
constexpr double kMaxParameters = 1ull << 34;

std::string show(double value) {
  std::string text = std::to_string(value);
  text.erase(text.find_last_not_of('0') + 1);
  if (!text.empty() && text.back() == '.') text.pop_back();
  return text;
}

// An object of the config together with the words that name it in errors. Keys may have several
// spellings; the first one present wins.
class Section {
 public:
  Section(const Json& json, std::string path, std::string prefix)
      : json_(json), path_(std::move(path)), prefix_(std::move(prefix)) {
    if (!json.is(Json::Kind::kObject)) fail("is " + std::string(Json::kind_name(json.kind())) + " but must be an object");
  }

  using Names = std::initializer_list<std::string_view>;

  // Null counts as absent: exporters write it for keys that were never set.
  const Json* find(Names names) const {
    for (const std::string_view name : names) {
      const Json* value = json_.find(name);
      if (value && !value->is(Json::Kind::kNull)) return value;
    }
    return nullptr;
  }

  int integer(Names names, int low, int high) const {
    const Json* value = find(names);
    if (!value) missing(names);
    if (!value->is_integer() || value->as_number() < low || value->as_number() > high) {
      fail_value(names, *value, "a whole number from " + std::to_string(low) + " to " + std::to_string(high));
    }
    return static_cast<int>(value->as_integer());
  }
  int integer(Names names, int low, int high, int fallback) const {
    return find(names) ? integer(names, low, high) : fallback;
  }

  double number(Names names, double low, double high, double fallback) const {
    const Json* value = find(names);
    if (!value) return fallback;
    if (!value->is(Json::Kind::kNumber) || !(value->as_number() >= low && value->as_number() <= high)) {
      fail_value(names, *value, "a number from " + show(low) + " to " + show(high));
    }
    return value->as_number();
  }

  bool boolean(Names names, bool fallback) const {
    const Json* value = find(names);
    if (!value) return fallback;
    if (!value->is(Json::Kind::kBool)) fail_value(names, *value, "true or false");
    return value->as_bool();
  }

  // A key whose other values would change the mathematics.
  void only(Names names, const char* allowed) const {
    const Json* value = find(names);
    if (!value || (value->is(Json::Kind::kString) && value->as_string() == allowed)) return;
    fail_value(names, *value, "\"" + std::string(allowed) + "\"");
  }
  void only(Names names, bool allowed) const {
    if (boolean(names, allowed) != allowed) {
      fail_value(names, *find(names), allowed ? "true" : "false");
    }
  }

  Section child(std::string_view name) const {
    const Json* value = find({name});
    if (!value) missing({name});
    return Section(*value, path_, prefix_ + std::string(name) + ".");
  }
  const std::vector<Json>& list(std::string_view name) const {
    const Json* value = find({name});
    if (!value) missing({name});
    if (!value->is(Json::Kind::kArray)) fail_value({name}, *value, "an array");
    return value->as_array();
  }
  Section element(std::string_view name, size_t index) const {
    return Section(list(name)[index], path_, prefix_ + std::string(name) + "[" + std::to_string(index) + "].");
  }

  [[noreturn]] void fail(const std::string& what) const {
    const std::string where = prefix_.empty() ? "The config" : prefix_.substr(0, prefix_.size() - 1);
    throw Error("model_invalid", path_ + ": " + where + " " + what + ".");
  }
  [[noreturn]] void fail_value(Names names, const Json& value, const std::string& allowed) const {
    std::string shown;
    switch (value.kind()) {
      case Json::Kind::kNumber: shown = show(value.as_number()); break;
      case Json::Kind::kString: shown = "\"" + value.as_string().substr(0, 80) + "\""; break;
      case Json::Kind::kBool: shown = value.as_bool() ? "true" : "false"; break;
      default: shown = Json::kind_name(value.kind()); break;
    }
    std::string_view used = *names.begin();
    for (const std::string_view name : names) {
      if (json_.find(name) == &value) used = name;
    }
    throw Error("model_invalid", path_ + ": " + prefix_ + std::string(used) + " is " + shown + " but must be " + allowed + ".");
  }

 private:
  [[noreturn]] void missing(Names names) const {
    throw Error("model_invalid", path_ + ": " + prefix_ + std::string(*names.begin()) + " is missing.");
  }

  const Json& json_;
  std::string path_;
  std::string prefix_;
};

int head_dim(const Section& section, int d_model, int n_head) {
  if (d_model % n_head != 0 || (d_model / n_head) % 2 != 0) {
    section.fail("has a width of " + std::to_string(d_model) + " for " + std::to_string(n_head) +
                 " attention heads; the width must be a multiple of twice the number of heads");
  }
  return d_model / n_head;
}

std::vector<int> codebook_sizes(const Section& top, int n_vq) {
  const Json* sizes = top.find({"audio_codebook_sizes"});
  if (!sizes) return std::vector<int>(static_cast<size_t>(n_vq), top.integer({"audio_vocab_size"}, 2, kMaxVocab));
  if (!sizes->is(Json::Kind::kArray) || sizes->as_array().size() != static_cast<size_t>(n_vq)) {
    top.fail_value({"audio_codebook_sizes"}, *sizes, "an array of n_vq = " + std::to_string(n_vq) + " numbers");
  }
  std::vector<int> result;
  for (const Json& size : sizes->as_array()) {
    if (!size.is_integer() || size.as_number() < 2 || size.as_number() > kMaxVocab) {
      top.fail_value({"audio_codebook_sizes"}, size, "made of whole numbers from 2 to " + std::to_string(kMaxVocab));
    }
    result.push_back(static_cast<int>(size.as_integer()));
  }
  return result;
}

// Transformer stages with the patches before them, as one of the two module lists gives them.
struct ModuleList {
  std::vector<CodecStage> stages;
  std::vector<double> context_seconds;
  int final_patch = 1;
};

ModuleList read_modules(const Section& top, std::string_view key) {
  const std::vector<Json>& modules = top.list(key);
  if (modules.size() > 64) top.fail("has more than 64 modules in " + std::string(key));
  const double default_context = top.number({"causal_transformer_context_duration"}, 0.001, 600.0, 10.0);
  ModuleList result;
  int patch = 0;  // 0: none since the last stage
  for (size_t i = 0; i < modules.size(); ++i) {
    const Section module = top.element(key, i);
    const Json* type = module.find({"module_type"});
    const std::string name = type && type->is(Json::Kind::kString) ? type->as_string() : "";
    if (name == "PatchedPretransform") {
      if (patch != 0) module.fail("is a second patch in a row; a transformer must lie between two");
      patch = module.integer({"patch_size"}, 1, kMaxDim);
      continue;
    }
    if (name != "Transformer") module.fail("has module_type \"" + name + "\" but only PatchedPretransform and Transformer are known");
    module.only({"causal"}, true);
    module.only({"norm"}, "layer_norm");
    module.only({"gating"}, "none");
    module.only({"positional_embedding"}, "rope");
    CodecStage stage;
    stage.patch = patch == 0 ? 1 : patch;
    patch = 0;
    stage.in_dim = module.integer({"input_dimension", "input_dim"}, 1, kMaxDim);
    stage.d_model = module.integer({"d_model"}, 2, kMaxDim);
    stage.out_dim = module.integer({"output_dimension", "output_dim"}, 1, kMaxDim);
    stage.n_head = module.integer({"num_heads"}, 1, kMaxDim);
    stage.head_dim = head_dim(module, stage.d_model, stage.n_head);
    stage.n_layer = module.integer({"num_layers"}, 1, kMaxLayers);
    stage.d_ff = module.integer({"dim_feedforward"}, 1, kMaxFeedForward);
    stage.rope_base = static_cast<float>(module.number({"max_period", "rope_base"}, 1.0, 1e9, 10000.0));
    stage.module_index = static_cast<int>(i);
    result.stages.push_back(stage);
    result.context_seconds.push_back(module.number({"context_duration", "context"}, 0.001, 600.0, default_context));
  }
  if (result.stages.empty()) top.fail("has no Transformer in " + std::string(key));
  if (patch != 0) result.final_patch = patch;
  return result;
}

int product_of_patches(const Section& top, const ModuleList& list, std::string_view key) {
  int64_t product = list.final_patch;
  for (const CodecStage& stage : list.stages) {
    product *= stage.patch;
    if (product > kMaxPositions) top.fail("has patch sizes in " + std::string(key) + " whose product is too large");
  }
  return static_cast<int>(product);
}

[[noreturn]] void widths_differ(const Section& top, std::string_view key, const std::string& where, int64_t arrives, int expected) {
  top.fail("does not fit together in " + std::string(key) + ": " + std::to_string(arrives) + " values arrive at " + where +
           " but it takes " + std::to_string(expected));
}

void check_encoder_widths(const Section& top, const ModuleList& list, int code_dim) {
  int64_t width = 1;
  for (const CodecStage& stage : list.stages) {
    width *= stage.patch;
    if (width != stage.in_dim) {
      widths_differ(top, "encoder_kwargs", "module " + std::to_string(stage.module_index), width, stage.in_dim);
    }
    width = stage.out_dim;
  }
  width *= list.final_patch;
  if (width != code_dim) widths_differ(top, "encoder_kwargs", "the quantizer", width, code_dim);
}

void check_decoder_widths(const Section& top, const ModuleList& list, int code_dim) {
  int width = code_dim;
  for (const CodecStage& stage : list.stages) {
    if (width % stage.patch != 0 || width / stage.patch != stage.in_dim) {
      widths_differ(top, "decoder_kwargs", "module " + std::to_string(stage.module_index) + " after a split by " + std::to_string(stage.patch),
                    width, stage.in_dim * stage.patch);
    }
    width = stage.out_dim;
  }
  if (width != list.final_patch) widths_differ(top, "decoder_kwargs", "the last patch", width, list.final_patch);
}

// Window = stage rate x context, where the stage rate follows from its steps in a frame.
void finish_stages(const Section& top, ModuleList& list, bool encoder, double frame_rate, int stream_per_frame) {
  int steps = encoder ? stream_per_frame : 1;
  double kv_values = 0;
  for (size_t i = 0; i < list.stages.size(); ++i) {
    CodecStage& stage = list.stages[i];
    steps = encoder ? steps / stage.patch : steps * stage.patch;
    stage.steps_per_frame = steps;
    // Half to even, as the original rounds.
    const double window = std::nearbyint(frame_rate * steps * list.context_seconds[i]);
    if (!(window >= 1 && window <= kMaxWindow)) {
      top.fail("gives module " + std::to_string(stage.module_index) + " an attention window of " + show(window) +
               " steps; 1 to " + std::to_string(kMaxWindow) + " are allowed");
    }
    stage.window = static_cast<int>(window);
    kv_values += 2.0 * window * stage.d_model * stage.n_layer;
  }
  if (kv_values > kMaxKvValues) top.fail("asks for attention windows that hold more than " + show(kMaxKvValues) + " values a stream");
}

double stage_parameters(const CodecStage& s) {
  return static_cast<double>(s.d_model) * (s.in_dim + s.out_dim + s.n_layer * (4.0 * s.d_model + 2.0 * s.d_ff));
}

}  // namespace

int LmConfig::max_codebook() const {
  return codebook_sizes.empty() ? 0 : *std::max_element(codebook_sizes.begin(), codebook_sizes.end());
}

LmConfig read_lm_config(const std::string& path) {
  const Json json = Json::parse_file(path);
  const Section top(json, path, "");
  top.only({"model_architecture"}, "global_local_transformer");
  const Section gpt = top.child("gpt2_config");
  gpt.only({"activation_function"}, "gelu_new");
  gpt.only({"position_embedding_type"}, "rope");
  gpt.only({"scale_attn_weights"}, true);
  gpt.only({"scale_attn_by_inverse_layer_idx"}, false);

  LmConfig c;
  c.n_vq = top.integer({"n_vq"}, 1, kMaxCodebooks);
  c.codebook_sizes = codebook_sizes(top, c.n_vq);
  c.vocab_size = gpt.integer({"vocab_size"}, 2, kMaxVocab);
  c.d_model = gpt.integer({"n_embd"}, 2, kMaxDim);
  c.n_layer = gpt.integer({"n_layer"}, 1, kMaxLayers);
  c.local_layers = top.integer({"local_transformer_layers"}, 1, kMaxLayers);
  c.n_head = gpt.integer({"n_head"}, 1, kMaxDim);
  c.head_dim = head_dim(gpt, c.d_model, c.n_head);
  c.d_ff = gpt.integer({"n_inner"}, 1, kMaxFeedForward, 4 * c.d_model);
  c.layer_norm_eps = static_cast<float>(gpt.number({"layer_norm_epsilon"}, 1e-12, 1.0, 1e-5));
  c.rope_base = static_cast<float>(gpt.number({"rope_base"}, 1.0, 1e9, 10000.0));
  c.max_positions = gpt.integer({"n_positions", "n_ctx"}, 2, kMaxPositions, 0);
  if (c.max_positions == 0) c.max_positions = top.integer({"max_position_embeddings"}, 2, kMaxPositions);
  c.audio_pad_id = top.integer({"audio_pad_token_id"}, 0, 2 * kMaxVocab);
  if (c.audio_pad_id < c.max_codebook()) {
    top.fail("has audio_pad_token_id " + std::to_string(c.audio_pad_id) + " inside a codebook; it must be at least " + std::to_string(c.max_codebook()));
  }
  const int last = c.vocab_size - 1;
  c.pad_id = top.integer({"pad_token_id"}, 0, last, c.pad_id);
  c.im_start_id = top.integer({"im_start_token_id"}, 0, last);
  c.im_end_id = top.integer({"im_end_token_id"}, 0, last);
  c.audio_start_id = top.integer({"audio_start_token_id"}, 0, last);
  c.audio_end_id = top.integer({"audio_end_token_id"}, 0, last);
  c.user_slot_id = top.integer({"audio_user_slot_token_id"}, 0, last);
  c.assistant_slot_id = top.integer({"audio_assistant_slot_token_id"}, 0, last);
  if (c.audio_end_id == c.assistant_slot_id) {
    top.fail("uses the id " + std::to_string(c.audio_end_id) + " both to end and to go on");
  }
  c.sample_rate = top.integer({"audio_tokenizer_sample_rate"}, 1000, 768000, c.sample_rate);
  for (const auto& [key, value] : {std::pair<const char*, int>{"vocab_size", c.vocab_size}, {"hidden_size", c.d_model}}) {
    if (top.integer({key}, 1, kMaxVocab, value) != value) {
      top.fail("gives " + std::string(key) + " and gpt2_config different values; both must be " + std::to_string(value));
    }
  }
  const double block = static_cast<double>(c.d_model) * (4.0 * c.d_model + 2.0 * c.d_ff);
  double entries = c.vocab_size;
  for (const int size : c.codebook_sizes) entries += size;
  if (block * (c.n_layer + c.local_layers) + entries * c.d_model > kMaxParameters) {
    top.fail("describes a model of more than " + show(kMaxParameters) + " parameters");
  }
  return c;
}

CodecConfig read_codec_config(const std::string& path) {
  const Json json = Json::parse_file(path);
  const Section top(json, path, "");
  top.only({"quantizer_type"}, "rlfq");
  const Section quantizer = top.child("quantizer_kwargs");
  quantizer.only({"quantizer_type"}, "rlfq");

  CodecConfig c;
  c.sample_rate = top.integer({"sampling_rate", "sample_rate"}, 1000, 768000);
  c.channels = top.integer({"number_channels"}, 1, 8, 1);
  c.frame_samples = top.integer({"downsample_rate"}, 1, kMaxPositions);
  if (c.channels > 1 && !top.boolean({"enable_channel_interleave"}, false)) {
    top.fail("has " + std::to_string(c.channels) + " channels but does not interleave them; only interleaved channels are known");
  }
  c.codebook_dim = quantizer.integer({"codebook_dim"}, 1, 64);
  c.n_codebooks = quantizer.integer({"num_quantizers"}, 1, kMaxCodebooks);
  c.codebook_size = quantizer.integer({"codebook_size"}, 2, kMaxVocab);
  c.rvq_dim = quantizer.integer({"rvq_dim"}, 1, kMaxDim);
  const int in_dim = quantizer.integer({"input_dim", "input_dimension"}, 1, kMaxDim);
  const int out_dim = quantizer.integer({"output_dim", "output_dimension"}, 1, kMaxDim, in_dim);
  c.code_dim = top.integer({"code_dim"}, 1, kMaxDim, in_dim);
  if (in_dim != c.code_dim || out_dim != c.code_dim) {
    quantizer.fail("has input_dim " + std::to_string(in_dim) + " and output_dim " + std::to_string(out_dim) +
                   " but both must equal code_dim, " + std::to_string(c.code_dim));
  }

  ModuleList encoder = read_modules(top, "encoder_kwargs");
  ModuleList decoder = read_modules(top, "decoder_kwargs");
  const int64_t stream_per_frame = static_cast<int64_t>(c.frame_samples) * c.channels;
  for (const auto& [list, key] : {std::pair<const ModuleList*, const char*>{&encoder, "encoder_kwargs"}, {&decoder, "decoder_kwargs"}}) {
    const int product = product_of_patches(top, *list, key);
    if (product != stream_per_frame) {
      top.fail("has patch sizes in " + std::string(key) + " whose product is " + std::to_string(product) +
               "; downsample_rate x channels is " + std::to_string(stream_per_frame));
    }
  }
  check_encoder_widths(top, encoder, c.code_dim);
  check_decoder_widths(top, decoder, c.code_dim);
  const double frame_rate = static_cast<double>(c.sample_rate) / c.frame_samples;
  finish_stages(top, encoder, true, frame_rate, static_cast<int>(stream_per_frame));
  finish_stages(top, decoder, false, frame_rate, static_cast<int>(stream_per_frame));
  c.encoder = std::move(encoder.stages);
  c.decoder = std::move(decoder.stages);
  c.encoder_final_patch = encoder.final_patch;
  c.decoder_final_patch = decoder.final_patch;

  double parameters = static_cast<double>(c.n_codebooks) * c.codebook_dim * (c.codebook_size + 2.0 * c.rvq_dim);
  for (const CodecStage& stage : c.encoder) parameters += stage_parameters(stage);
  for (const CodecStage& stage : c.decoder) parameters += stage_parameters(stage);
  if (parameters > kMaxParameters) top.fail("describes a codec of more than " + show(kMaxParameters) + " parameters");
  return c;
}

}  // namespace sonant
