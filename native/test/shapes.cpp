#include "test/shapes.h"

#include <deque>
#include <map>

#include "model/quantise.h"

namespace sonant::test {

namespace {

// Patch sizes multiply to samples x channels of a frame on both sides. A patch of the encoder joins steps and
// so multiplies their width, one of the decoder splits and divides it.
std::vector<Shape> all_shapes() {
  const std::vector<int> sixteen(16, 64), six(6, 50), five(5, 300), four(4, 1000);
  std::vector<int> many;
  for (int i = 0; i < 31; i++) many.push_back(18 + 2 * i);
  return {
      // 16 books, heads of an eighth of the released ones, four mirrored stages, stereo.
      {.name = "official-in-small",
       .lm = {.vocab = 512, .width = 96, .heads = 12, .feed_forward = 384, .layers = 2, .local_layers = 1, .books = sixteen, .pad = 64},
       .codec = {.rate = 4800, .channels = 2, .frame_samples = 384, .latent = 96, .quantiser = 64, .entry = 8, .books = 16, .entries = 64,
                 .encoder = {{24, 24, 32, 4, 128, 2, 48, 2.5}, {2, 96, 32, 4, 128, 1, 48, 3.75}, {2, 96, 32, 4, 128, 1, 48, 5}, {2, 96, 32, 4, 128, 2, 24, 6.25}},
                 .encoder_patch = 4,
                 .decoder = {{4, 24, 32, 4, 128, 2, 96, 6.25}, {2, 48, 32, 4, 128, 1, 96, 5}, {2, 48, 32, 4, 128, 1, 96, 3.75}, {2, 48, 32, 4, 128, 2, 24, 2.5}},
                 .decoder_patch = 24}},
      // 6 books, 2 local layers, heads of 24; a codec of one channel whose sides differ.
      {.name = "six-books-two-local",
       .lm = {.vocab = 300, .width = 72, .heads = 3, .feed_forward = 200, .layers = 2, .local_layers = 2, .books = six, .pad = 50},
       .codec = {.rate = 8000, .channels = 1, .frame_samples = 480, .latent = 48, .quantiser = 24, .entry = 8, .books = 6, .entries = 50,
                 .encoder = {{20, 20, 24, 2, 40, 1, 16, 2}, {6, 96, 36, 3, 72, 2, 12, 4}},
                 .encoder_patch = 4,
                 .decoder = {{8, 6, 40, 2, 72, 2, 48, 3}, {3, 16, 24, 2, 40, 3, 20, 1.5}},
                 .decoder_patch = 20}},
      // 6 heads of 20; the codec has more books than the language model, an odd width, and two stages with no patch between.
      {.name = "heads-of-20-deeper-codec",
       .lm = {.vocab = 1000, .width = 120, .heads = 6, .feed_forward = 312, .layers = 3, .local_layers = 1, .books = five, .pad = 300},
       .codec = {.rate = 16000, .channels = 1, .frame_samples = 840, .latent = 60, .quantiser = 22, .entry = 5, .books = 8, .entries = 300,
                 .encoder = {{35, 35, 24, 2, 48, 1, 10, 2}, {4, 40, 24, 2, 48, 1, 10, 4}},
                 .encoder_patch = 6,
                 .decoder = {{4, 15, 24, 2, 48, 1, 42, 3}, {7, 6, 24, 2, 48, 1, 20, 3}, {1, 20, 20, 1, 20, 1, 30, 1}},
                 .decoder_patch = 30}},
      // Heads of 40, books of 1000, a feed-forward narrower than the stream; stereo at 44.1 kHz.
      {.name = "heads-of-40-books-of-1000",
       .lm = {.vocab = 777, .width = 80, .heads = 2, .feed_forward = 50, .layers = 1, .local_layers = 2, .books = four, .pad = 1000},
       .codec = {.rate = 44100, .channels = 2, .frame_samples = 882, .latent = 42, .quantiser = 36, .entry = 3, .books = 4, .entries = 1000,
                 .encoder = {{28, 28, 20, 1, 30, 1, 14, 1}, {21, 294, 28, 2, 30, 1, 14, 3}},
                 .encoder_patch = 3,
                 .decoder = {{3, 14, 20, 1, 30, 1, 42, 2}, {21, 2, 28, 2, 30, 1, 28, 1}},
                 .decoder_patch = 28}},
      // One book with fewer entries than a warp has lanes, one head of 80, one stage a side, three channels.
      {.name = "one-book-one-head",
       .lm = {.vocab = 20, .width = 80, .heads = 1, .feed_forward = 90, .layers = 2, .local_layers = 1, .books = {30}, .pad = 4000},
       .codec = {.rate = 8000, .channels = 3, .frame_samples = 32, .latent = 16, .quantiser = 10, .entry = 3, .books = 1, .entries = 30,
                 .encoder = {{12, 12, 80, 1, 64, 1, 2, 5}},
                 .encoder_patch = 8,
                 .decoder = {{8, 2, 80, 1, 64, 1, 12, 5}},
                 .decoder_patch = 12}},
      // As many books as fit beside a text id into 32 places, each of another size; heads of 6.
      {.name = "31-books-of-their-own-sizes",
       .lm = {.vocab = 64, .width = 36, .heads = 6, .feed_forward = 100, .layers = 2, .local_layers = 1, .books = many, .pad = 78},
       .codec = {.rate = 11025, .channels = 2, .frame_samples = 160, .latent = 48, .quantiser = 30, .entry = 4, .books = 31, .entries = 78,
                 .encoder = {{10, 10, 30, 5, 44, 1, 10, 3}, {4, 40, 30, 5, 44, 1, 6, 4}},
                 .encoder_patch = 8,
                 .decoder = {{8, 6, 30, 5, 44, 1, 40, 4}, {4, 10, 30, 5, 44, 1, 10, 3}},
                 .decoder_patch = 10}},
      // Books of more than 1024 entries, heads of 2.
      {.name = "books-of-2500-heads-of-2",
       .lm = {.vocab = 40, .width = 24, .heads = 12, .feed_forward = 64, .layers = 1, .local_layers = 1, .books = {2500, 2500}, .pad = 9999},
       .codec = {.rate = 12000, .channels = 1, .frame_samples = 128, .latent = 48, .quantiser = 12, .entry = 6, .books = 2, .entries = 2500,
                 .encoder = {{16, 16, 24, 12, 20, 1, 6, 4}},
                 .encoder_patch = 8,
                 .decoder = {{8, 6, 24, 12, 20, 1, 16, 4}},
                 .decoder_patch = 16}},
      // Odd wherever that can be, and a head of more than 128.
      {.name = "odd-widths-head-of-130",
       .lm = {.vocab = 101, .width = 130, .heads = 1, .feed_forward = 33, .layers = 1, .local_layers = 1, .books = {33, 17, 9}, .pad = 33},
       .codec = {.rate = 9001, .channels = 1, .frame_samples = 315, .latent = 45, .quantiser = 21, .entry = 7, .books = 3, .entries = 33,
                 .encoder = {{35, 35, 22, 1, 17, 1, 9, 2}, {9, 81, 14, 1, 13, 1, 45, 4}},
                 .encoder_patch = 1,
                 .decoder = {{5, 9, 22, 1, 17, 1, 49, 3}, {7, 7, 14, 1, 13, 1, 9, 3}},
                 .decoder_patch = 9},
       .cuda_refusal = "an even number of rows, not 33"},
  };
}

std::string quoted(const char* key, const std::string& value) { return "\"" + std::string(key) + "\": " + value; }
std::string number(const char* key, double value) {
  std::ostringstream text;
  text.precision(12);
  text << value;
  return quoted(key, text.str());
}

std::string joined(const std::vector<std::string>& parts) {
  std::string text;
  for (const std::string& part : parts) text += (text.empty() ? "" : ", ") + part;
  return text;
}
std::string object(const std::vector<std::string>& fields) { return "{" + joined(fields) + "}"; }
std::string array(const std::vector<std::string>& elements) { return "[" + joined(elements) + "]"; }

std::string lm_config(const LmShape& s) {
  std::vector<std::string> sizes;
  for (const int size : s.books) sizes.push_back(std::to_string(size));
  const std::string gpt = object({number("n_layer", s.layers), number("n_head", s.heads), number("n_embd", s.width), number("n_inner", s.feed_forward),
                                  number("vocab_size", s.vocab), number("n_positions", 512)});
  return object({number("n_vq", static_cast<double>(s.books.size())), quoted("audio_codebook_sizes", array(sizes)), number("audio_pad_token_id", s.pad),
                 number("im_start_token_id", 4), number("im_end_token_id", 5), number("audio_start_token_id", 6), number("audio_end_token_id", 7),
                 number("audio_user_slot_token_id", 8), number("audio_assistant_slot_token_id", 9), number("local_transformer_layers", s.local_layers),
                 quoted("gpt2_config", gpt)});
}

std::string patch_module(int size) { return object({quoted("module_type", "\"PatchedPretransform\""), number("patch_size", size)}); }

std::string transformer_module(const StageShape& s, double frame_seconds) {
  return object({quoted("module_type", "\"Transformer\""), number("input_dimension", s.in), number("d_model", s.width), number("num_heads", s.heads),
                 number("dim_feedforward", s.feed_forward), number("num_layers", s.layers), number("output_dimension", s.out),
                 number("context_duration", s.window_frames * frame_seconds)});
}

std::string codec_config(const CodecShape& s) {
  const auto modules = [&](const std::vector<StageShape>& stages, int last_patch) {
    std::vector<std::string> list;
    for (const StageShape& stage : stages) {
      if (stage.patch > 1) list.push_back(patch_module(stage.patch));
      list.push_back(transformer_module(stage, static_cast<double>(s.frame_samples) / s.rate));
    }
    list.push_back(patch_module(last_patch));
    return array(list);
  };
  const std::string quantiser = object({quoted("quantizer_type", "\"rlfq\""), number("input_dim", s.latent), number("rvq_dim", s.quantiser), number("output_dim", s.latent),
                                        number("num_quantizers", s.books), number("codebook_size", s.entries), number("codebook_dim", s.entry)});
  return object({number("sampling_rate", s.rate), number("number_channels", s.channels), quoted("enable_channel_interleave", "true"),
                 number("downsample_rate", s.frame_samples), number("code_dim", s.latent), quoted("quantizer_type", "\"rlfq\""), quoted("quantizer_kwargs", quantiser),
                 quoted("encoder_kwargs", modules(s.encoder, s.encoder_patch)), quoted("decoder_kwargs", modules(s.decoder, s.decoder_patch))});
}

std::vector<TableEntry> roughened(std::vector<TableEntry> table, float gain) {
  for (TableEntry& entry : table) {
    if (entry.init == Init::kNormal) entry.scale *= gain;
    if (entry.init == Init::kConstant) entry.init = Init::kNormal, entry.scale = entry.scale == 0 ? 0.2f : entry.scale;
  }
  return table;
}

template <class Config>
std::string make(const std::string& config, uint64_t seed, Config (*read)(const std::string&), std::vector<TableEntry> (*table)(const Config&), float gain) {
  const std::string folder = temporary_folder();
  write_file(folder + "/config.json", config);
  random_checkpoint(roughened(table(read(folder + "/config.json")), gain), RandomDType::kF32, seed, folder + "/model.safetensors");
  return folder;
}

}  // namespace

const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = all_shapes();
  return all;
}

// A random language model's logits differ little; the gain makes some codes likelier than others.
std::string make_lm(const LmShape& shape, uint64_t seed) { return make(lm_config(shape), seed, read_lm_config, lm_table, 4); }
std::string make_codec(const CodecShape& shape, uint64_t seed) { return make(codec_config(shape), seed, read_codec_config, codec_table, 1); }

const ModelFolders& model_of(const Shape& shape) {
  static std::map<std::string, ModelFolders> made;
  auto [at, is_new] = made.try_emplace(shape.name);
  if (is_new) at->second = {make_lm(shape.lm), make_codec(shape.codec)};
  return at->second;
}

ShapeRegistration::ShapeRegistration(const char* name, const char* file, void (*body)(const Shape&)) {
  static std::deque<std::string> names;  // a registration keeps the pointer
  for (const Shape& shape : shapes()) {
    names.push_back(std::string(name) + "_of_" + shape.name);
    Registration(names.back().c_str(), file, [body, &shape] { body(shape); });
  }
}

}  // namespace sonant::test
