// Shapes of a checkpoint, read from the two config.json files in the official layout.
// Everything downstream takes sizes from here; nothing is fixed to one model's numbers.
#pragma once

#include <string>
#include <vector>

namespace sonant {

// Language model: a global transformer over rows and a local one over the codes of a frame.
struct LmConfig {
  int n_vq = 0;                     // codebooks in a row (16)
  int vocab_size = 0;               // text pieces
  std::vector<int> codebook_sizes;  // entries of each codebook, n_vq of them
  int d_model = 0;
  int n_layer = 0;        // global layers
  int local_layers = 0;   // local layers (1 in the released model)
  int n_head = 0;
  int head_dim = 0;       // d_model / n_head, even
  int d_ff = 0;
  float layer_norm_eps = 1e-5f;
  float rope_base = 10000.0f;
  int max_positions = 0;  // rows a prompt plus its frames may take
  int audio_pad_id = 0;   // code that adds nothing to a row (1024)
  int pad_id = 3;
  int im_start_id = 4, im_end_id = 5;
  int audio_start_id = 6, audio_end_id = 7;
  int user_slot_id = 8, assistant_slot_id = 9;
  int sample_rate = 48000;

  int row_width() const { return 1 + n_vq; }
  int max_codebook() const;  // largest entry of codebook_sizes
};

// One transformer stage of the codec, with the patching that precedes it.
struct CodecStage {
  int patch = 1;          // encoder: join `patch` steps before it; decoder: split into `patch` steps before it
  int in_dim = 0, d_model = 0, out_dim = 0;
  int n_head = 0, head_dim = 0, n_layer = 0, d_ff = 0;
  int window = 0;         // keys a position sees, itself included
  int steps_per_frame = 0;
  float rope_base = 10000.0f;
  int module_index = 0;   // index in the checkpoint's module list (1, 3, 5, 7)
};

struct CodecConfig {
  int sample_rate = 0;
  int channels = 0;        // interleaved into one stream before the first patch
  int frame_samples = 0;   // samples per channel in a frame (3840)
  std::vector<CodecStage> encoder;
  int encoder_final_patch = 1;  // joins the last stage's steps into one latent a frame
  std::vector<CodecStage> decoder;
  int decoder_final_patch = 1;  // splits the last stage's outputs into samples (240)
  int code_dim = 0;        // latent size (768)
  int rvq_dim = 0;         // quantizer's inner size (512)
  int codebook_dim = 0;    // 8
  int n_codebooks = 0;     // 16
  int codebook_size = 0;   // 1024
  float layer_norm_eps = 1e-5f;
};

// Parse and validate; `path` names a config.json. Throws Error("model_missing"|"model_invalid")
// whose sentence names the key, its value and what is allowed.
LmConfig read_lm_config(const std::string& path);
CodecConfig read_codec_config(const std::string& path);

}  // namespace sonant
