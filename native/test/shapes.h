// Models of other sizes than the released one, small enough to be made and spoken with in a test: the shapes
// themselves, and model folders of them with random weights.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "test/check.h"

namespace sonant::test {

struct LmShape {
  int vocab, width, heads, feed_forward, layers, local_layers;
  std::vector<int> books;  // entries of each codebook
  int pad;                 // the code that adds nothing to a row
};

// Transformers of the codec, in order; before each lies a patch, behind the last one another.
struct StageShape {
  int patch, in, width, heads, feed_forward, layers, out;
  double window_frames;
};

struct CodecShape {
  int rate, channels, frame_samples;
  int latent, quantiser, entry;  // widths: of a frame's latent, inside the quantiser, of a codebook's entries
  int books, entries;
  std::vector<StageShape> encoder;
  int encoder_patch;
  std::vector<StageShape> decoder;
  int decoder_patch;
};

struct Shape {
  std::string name;
  LmShape lm;
  CodecShape codec;
  const char* cuda_refusal = nullptr;  // what the CUDA backend says to it, if it cannot take it
};

// Each differs from the released model in something else; together they leave none of its numbers in place.
const std::vector<Shape>& shapes();

struct ModelFolders {
  std::string lm, codec;
};

// Checkpoints of these sizes in folders that live as long as the tests. No vector is all ones or zeros, so
// that a bias or a norm taken from the wrong place shows.
std::string make_lm(const LmShape& shape, uint64_t seed = 1);
std::string make_codec(const CodecShape& shape, uint64_t seed = 1);
// Both of a shape, made once and kept.
const ModelFolders& model_of(const Shape& shape);

// Registers a test for every shape; the body has a `shape`.
struct ShapeRegistration {
  ShapeRegistration(const char* name, const char* file, void (*body)(const Shape&));
};

}  // namespace sonant::test

#define SHAPE_TEST(name)                                                                                                  \
  static void test_##name(const ::sonant::test::Shape& shape);                                                            \
  static const ::sonant::test::ShapeRegistration SONANT_JOIN(registration_, __LINE__)(#name, __FILE__, test_##name);      \
  static void test_##name([[maybe_unused]] const ::sonant::test::Shape& shape)
