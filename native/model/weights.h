// The tensors of a checkpoint by role: names resolved, shapes checked against the config,
// heads tied to the embeddings, weight norm folded. Backends pack from these views.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/config.h"
#include "model/safetensors.h"

namespace sonant {

struct LmLayerWeights {
  Tensor ln1_w, ln1_b;        // [d]
  Tensor attn_w, attn_b;      // [3d, d], [3d]: q, k, v
  Tensor proj_w, proj_b;      // [d, d], [d]
  Tensor ln2_w, ln2_b;        // [d]
  Tensor fc_in_w, fc_in_b;    // [ff, d], [ff]
  Tensor fc_out_w, fc_out_b;  // [d, ff], [d]
};

struct LmWeights {
  std::shared_ptr<Checkpoint> file;
  Tensor wte;                            // [vocab, d]; also the text head
  std::vector<Tensor> audio_embeddings;  // n_vq x [codebook, d]; also the audio heads
  std::vector<LmLayerWeights> global_layers;
  Tensor ln_f_w, ln_f_b;
  std::vector<LmLayerWeights> local_layers;
  Tensor local_ln_f_w, local_ln_f_b;
};

struct CodecLayerWeights {
  Tensor norm1_w, norm1_b, norm2_w, norm2_b;  // [d]
  Tensor in_proj, out_proj;                   // [3d, d], [d, d], no bias
  Tensor ffn0, ffn2;                          // [ff, d], [d, ff], no bias
  Tensor scale1, scale2;                      // [d]
};

struct CodecStageWeights {
  Tensor input_proj, output_proj;  // [d, in], [out, d]
  std::vector<CodecLayerWeights> layers;
};

// A 1x1 convolution of the quantizer with its weight norm folded, in fp32.
struct FoldedLinear {
  int rows = 0, cols = 0;
  std::vector<float> weight;  // [rows, cols]
  std::vector<float> bias;    // [rows]
};

struct CodecWeights {
  std::shared_ptr<Checkpoint> file;
  std::vector<CodecStageWeights> encoder, decoder;
  FoldedLinear quantizer_in;              // code_dim -> rvq_dim
  FoldedLinear quantizer_out;             // rvq_dim -> code_dim
  std::vector<FoldedLinear> book_in;      // rvq_dim -> codebook_dim
  std::vector<FoldedLinear> book_out;     // codebook_dim -> rvq_dim
  std::vector<std::vector<float>> books;  // n_codebooks x [codebook_size * codebook_dim]
};

// Throw Error("model_invalid") naming the tensor that is absent or has the wrong shape.
LmWeights resolve_lm_weights(std::shared_ptr<Checkpoint> file, const LmConfig& config);
CodecWeights resolve_codec_weights(std::shared_ptr<Checkpoint> file, const CodecConfig& config);

// A codebook's entries [n * dim] at length 1, as the quantiser compares them.
std::vector<float> unit_entries(const std::vector<float>& book, int dim);

}  // namespace sonant
