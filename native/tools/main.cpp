// sonant_model: makes, converts and inspects checkpoints from the command line. A checkpoint folder holds
// config.json and weights; a model folder holds two of them, lm/ and codec/. Both are accepted.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "model/error.h"
#include "model/json.h"
#include "model/quantise.h"
#include "model/rewrite.h"
#include "model/weights.h"

namespace {

using namespace sonant;
namespace fs = std::filesystem;

constexpr const char* kUsage =
    "Usage:\n"
    "  sonant_model quantise IN OUT [--only lm|codec]      int8 form of a checkpoint\n"
    "  sonant_model convert IN OUT [--dtype keep|bf16|f32|int8]\n"
    "                                                      one model.safetensors of any checkpoint that can be read, or of\n"
    "                                                      one file of weights; --dtype: the type of its numbers\n"
    "  sonant_model random CONFIG_FOLDER OUT [--dtype bf16|f32|int8] [--seed N] [--talkative]\n"
    "                                                      random weights for the sizes of a config; --talkative:\n"
    "                                                      a language model that goes on until it is cut\n"
    "  sonant_model info FOLDER [--tensors]                what a checkpoint holds\n";

struct Arguments {
  std::vector<std::string> words;
  std::map<std::string, std::string> options;

  std::string option(const std::string& name, const std::string& fallback) const {
    const auto at = options.find(name);
    return at == options.end() ? fallback : at->second;
  }
};

Arguments parse_arguments(int argc, char** argv, const std::vector<std::string>& with_value, const std::vector<std::string>& flags) {
  const auto contains = [](const std::vector<std::string>& list, const std::string& word) { return std::find(list.begin(), list.end(), word) != list.end(); };
  Arguments result;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.rfind("--", 0) != 0) {
      result.words.push_back(word);
    } else if (contains(flags, word)) {
      result.options[word] = "yes";
    } else if (contains(with_value, word) && i + 1 < argc) {
      result.options[word] = argv[++i];
    } else {
      throw Error("bad_request", "The option " + word + " is unknown or lacks its value.");
    }
  }
  return result;
}

const std::string& word(const Arguments& arguments, size_t index, const char* what) {
  if (index >= arguments.words.size()) throw Error("bad_request", std::string(what) + " is missing.");
  return arguments.words[index];
}

enum class Part { kLm, kCodec };

Part part_of(const std::string& folder) {
  const Json config = Json::parse_file(folder + "/config.json");
  return config.find("gpt2_config") ? Part::kLm : Part::kCodec;
}

struct PartFolder {
  Part part;
  std::string in, out;
};

// The checkpoint folders under `in`: itself, or its lm/ and codec/.
std::vector<PartFolder> parts(const std::string& in, const std::string& out) {
  if (fs::exists(in + "/config.json")) return {{part_of(in), in, out}};
  std::vector<PartFolder> result;
  for (const char* name : {"lm", "codec"}) {
    const std::string folder = in + "/" + name;
    if (fs::exists(folder + "/config.json")) result.push_back({part_of(folder), folder, out + "/" + name});
  }
  if (result.empty()) throw Error("model_missing", "The folder " + in + " holds no config.json and no lm/ or codec/ with one.");
  return result;
}

double megabytes(const std::string& folder) {
  std::error_code error;
  const auto size = fs::file_size(folder + "/model.safetensors", error);
  return error ? 0 : static_cast<double>(size) / 1e6;
}

void quantise(const Arguments& arguments) {
  const std::string only = arguments.option("--only", "");
  if (!only.empty() && only != "lm" && only != "codec") throw Error("bad_request", "--only must be lm or codec.");
  for (const PartFolder& folder : parts(word(arguments, 0, "The folder IN"), word(arguments, 1, "The folder OUT"))) {
    const bool chosen = only.empty() || (only == "lm") == (folder.part == Part::kLm);
    quantise_checkpoint(folder.in, folder.out, [chosen](const std::string&) { return !chosen; });
    std::printf("%s: %.1f MB, %s\n", folder.out.c_str(), megabytes(folder.out), chosen ? "int8" : "unchanged");
  }
}

void convert(const Arguments& arguments) {
  const std::map<std::string, StoredAs> types{{"keep", StoredAs::kKeep}, {"bf16", StoredAs::kBf16}, {"f32", StoredAs::kF32}, {"int8", StoredAs::kInt8}};
  const std::string name = arguments.option("--dtype", "keep");
  const auto type = types.find(name);
  if (type == types.end()) throw Error("bad_request", "--dtype must be keep, bf16, f32 or int8, not \"" + name + "\".");
  const std::string& in = word(arguments, 0, "The folder or file IN");
  const std::string& out = word(arguments, 1, "The folder OUT");
  std::vector<std::pair<std::string, std::string>> all;
  for (const char* part : {"/lm", "/codec"}) {
    if (fs::is_directory(in + part)) all.emplace_back(in + part, out + part);
  }
  if (all.empty()) all.emplace_back(in, out);
  for (const auto& [from, to] : all) {
    const std::string path = to + "/model.safetensors";
    if (fs::exists(path)) throw Error("bad_request", "The file " + path + " is already there; name a new folder.");
  }
  for (const auto& [from, to] : all) {
    rewrite_checkpoint(from, to, type->second, [](const std::string&) { return false; });
    std::printf("%s: %zu tensors, %.1f MB\n", to.c_str(), Checkpoint::open(to)->tensors().size(), megabytes(to));
  }
}

void random_weights(const Arguments& arguments) {
  const std::map<std::string, RandomDType> dtypes{{"bf16", RandomDType::kBf16}, {"f32", RandomDType::kF32}, {"int8", RandomDType::kInt8}};
  const auto dtype = dtypes.find(arguments.option("--dtype", "bf16"));
  if (dtype == dtypes.end()) throw Error("bad_request", "--dtype must be bf16, f32 or int8.");
  const std::string text = arguments.option("--seed", "0");
  uint64_t seed = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), seed);
  if (problem != std::errc() || end != text.data() + text.size()) throw Error("bad_request", "--seed must be a whole number from 0 to 2^64 - 1.");
  for (const PartFolder& folder : parts(word(arguments, 0, "CONFIG_FOLDER"), word(arguments, 1, "The folder OUT"))) {
    const std::string config = folder.in + "/config.json";
    fs::create_directories(folder.out);
    const std::string path = folder.out + "/model.safetensors";
    size_t tensors = 0;
    if (folder.part == Part::kLm) {
      const LmConfig lm = read_lm_config(config);
      const auto table = lm_table(lm);
      random_checkpoint(table, dtype->second, seed, path, arguments.options.count("--talkative") ? &lm : nullptr);
      tensors = table.size();
    } else {
      const auto table = codec_table(read_codec_config(config));
      random_checkpoint(table, dtype->second, seed, path);
      tensors = table.size();
    }
    if (!fs::equivalent(folder.in, folder.out)) copy_companions(folder.in, folder.out);
    std::printf("%s: %zu tensors, %.1f MB\n", folder.out.c_str(), tensors, megabytes(folder.out));
  }
}

std::string shape_text(const Tensor& tensor) {
  std::string text;
  for (const int64_t dim : tensor.shape) text += (text.empty() ? "" : " x ") + std::to_string(dim);
  return text.empty() ? "scalar" : text;
}

void info(const Arguments& arguments) {
  const std::string& in = word(arguments, 0, "The folder");
  for (const PartFolder& folder : parts(in, in)) {
    const auto start = std::chrono::steady_clock::now();
    const auto file = Checkpoint::open(folder.in);
    std::map<std::string, std::pair<int, size_t>> by_dtype;  // tensors, bytes
    for (const auto& [name, tensor] : file->tensors()) {
      auto& [count, bytes] = by_dtype[dtype_name(tensor.dtype)];
      ++count;
      bytes += tensor.bytes;
      if (arguments.options.count("--tensors")) std::printf("  %-5s %-16s %s\n", dtype_name(tensor.dtype), shape_text(tensor).c_str(), name.c_str());
    }
    const std::string config = folder.in + "/config.json";
    if (folder.part == Part::kLm) {
      const LmConfig c = read_lm_config(config);
      resolve_lm_weights(file, c);
      std::printf("%s: language model, %d layers of %d, %d local, %d heads, feed-forward %d, %d pieces, %d codebooks, %d positions\n", folder.in.c_str(), c.n_layer,
                  c.d_model, c.local_layers, c.n_head, c.d_ff, c.vocab_size, c.n_vq, c.max_positions);
    } else {
      const CodecConfig c = read_codec_config(config);
      resolve_codec_weights(file, c);
      std::printf("%s: codec, %d Hz, %d channels, %d samples a frame, %d codebooks of %d\n", folder.in.c_str(), c.sample_rate, c.channels, c.frame_samples, c.n_codebooks,
                  c.codebook_size);
      for (const auto& [side, stages] : {std::pair<const char*, const std::vector<CodecStage>*>{"encoder", &c.encoder}, {"decoder", &c.decoder}}) {
        for (const CodecStage& s : *stages) {
          std::printf("  %s %d: %d -> %d -> %d, %d layers, %d steps a frame, window %d\n", side, s.module_index, s.in_dim, s.d_model, s.out_dim, s.n_layer, s.steps_per_frame,
                      s.window);
        }
      }
    }
    for (const auto& [dtype, sum] : by_dtype) std::printf("  %s: %d tensors, %.1f MB\n", dtype.c_str(), sum.first, static_cast<double>(sum.second) / 1e6);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::printf("  complete, read in %.0f ms\n", ms);
  }
}

int run(int argc, char** argv) {
  const std::string_view command = argc > 1 ? argv[1] : "";
  if (command == "quantise") {
    quantise(parse_arguments(argc, argv, {"--only"}, {}));
  } else if (command == "convert") {
    convert(parse_arguments(argc, argv, {"--dtype"}, {}));
  } else if (command == "random") {
    random_weights(parse_arguments(argc, argv, {"--dtype", "--seed"}, {"--talkative"}));
  } else if (command == "info") {
    info(parse_arguments(argc, argv, {}, {"--tensors"}));
  } else {
    std::fputs(kUsage, stderr);
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc, argv);
  } catch (const sonant::Error& error) {
    std::fprintf(stderr, "%s (%s)\n", error.what(), error.code().c_str());
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  return 1;
}
