// Configs: what the released and the small models say, both spellings, and every refusal.
#include "model/config.h"

#include "model/json.h"
#include "test/check.h"
#include "test/edit.h"
#include "test/mutate.h"

using namespace sonant;
using test::fixture;
using test::replaced;

namespace {

template <typename Read>
auto read_text(Read read, const std::string& text) {
  static const std::string path = test::temporary_folder() + "/config.json";
  test::write_file(path, text);
  return read(path);
}
LmConfig lm(const std::string& text) { return read_text(read_lm_config, text); }
CodecConfig codec(const std::string& text) { return read_text(read_codec_config, text); }

std::string lm_text() { return test::read_file(fixture("lm-tiny/config.json")); }
std::string codec_text() { return test::read_file(fixture("codec-tiny/config.json")); }

void lm_refused(const std::string& from, const std::string& to, const std::string& part) {
  CHECK_THROWS_SAYING(lm(replaced(lm_text(), from, to)), "model_invalid", part);
}
void codec_refused(const std::string& from, const std::string& to, const std::string& part) {
  CHECK_THROWS_SAYING(codec(replaced(codec_text(), from, to)), "model_invalid", part);
}

}  // namespace

TEST(config_reads_language_model) {
  const LmConfig c = read_lm_config(fixture("lm-tiny/config.json"));
  CHECK_EQUAL(c.n_vq, 4);
  CHECK_EQUAL(c.codebook_sizes.size(), 4u);
  CHECK_EQUAL(c.max_codebook(), 32);
  CHECK_EQUAL(c.vocab_size, 300);
  CHECK_EQUAL(c.d_model, 64);
  CHECK_EQUAL(c.n_layer, 2);
  CHECK_EQUAL(c.local_layers, 1);
  CHECK_EQUAL(c.n_head, 4);
  CHECK_EQUAL(c.head_dim, 16);
  CHECK_EQUAL(c.d_ff, 128);
  CHECK_EQUAL(c.layer_norm_eps, 1e-5f);
  CHECK_EQUAL(c.rope_base, 10000.0f);
  CHECK_EQUAL(c.max_positions, 2048);
  CHECK_EQUAL(c.audio_pad_id, 32);
  CHECK_EQUAL(c.audio_end_id, 7);
  CHECK_EQUAL(c.assistant_slot_id, 9);
  CHECK_EQUAL(c.sample_rate, 48000);
  CHECK_EQUAL(c.row_width(), 5);
  CHECK_EQUAL(read_lm_config(fixture("lm-small/config.json")).n_vq, 16);
}

TEST(config_reads_codec) {
  const CodecConfig c = read_codec_config(fixture("codec-tiny/config.json"));
  CHECK_EQUAL(c.sample_rate, 4800);
  CHECK_EQUAL(c.channels, 2);
  CHECK_EQUAL(c.frame_samples, 192);
  CHECK_EQUAL(c.code_dim, 64);
  CHECK_EQUAL(c.rvq_dim, 24);
  CHECK_EQUAL(c.codebook_dim, 8);
  CHECK_EQUAL(c.n_codebooks, 4);
  CHECK_EQUAL(c.codebook_size, 32);
  CHECK_EQUAL(c.encoder_final_patch, 4);
  CHECK_EQUAL(c.decoder_final_patch, 12);
  REQUIRE(c.encoder.size() == 4 && c.decoder.size() == 4);
  // Rates after interleaving: 9600 / 12 = 800, 400, 200, 100 Hz, and the mirror; 25 frames/s.
  const int windows[] = {160, 120, 80, 50}, decoder_windows[] = {20, 60, 160, 400}, steps[] = {32, 16, 8, 4};
  for (size_t i = 0; i < 4; ++i) {
    CHECK_EQUAL(c.encoder[i].module_index, static_cast<int>(2 * i + 1));
    CHECK_EQUAL(c.encoder[i].steps_per_frame, steps[i]);
    CHECK_EQUAL(c.encoder[i].window, windows[i]);
    CHECK_EQUAL(c.decoder[i].steps_per_frame, steps[3 - i]);
    CHECK_EQUAL(c.decoder[i].window, decoder_windows[i]);
  }
  CHECK_EQUAL(c.encoder[0].patch, 12);
  CHECK_EQUAL(c.encoder[3].patch, 2);
  CHECK_EQUAL(c.decoder[0].patch, 4);
  CHECK_EQUAL(c.decoder[0].in_dim, 16);
  CHECK_EQUAL(c.decoder[3].out_dim, 12);
  CHECK_EQUAL(c.encoder[1].head_dim, 16);
}

TEST(config_accepts_both_spellings) {
  CHECK_EQUAL(codec(replaced(codec_text(), "\"sampling_rate\": 4800,", "")).sample_rate, 4800);
  CHECK_EQUAL(codec(replaced(codec_text(), "\"sample_rate\": 4800,", "")).sample_rate, 4800);
  CHECK_EQUAL(codec(replaced(codec_text(), "input_dimension", "input_dim")).encoder[1].in_dim, 64);
  CHECK_EQUAL(codec(replaced(codec_text(), "\"context_duration\": 0.3,", "")).encoder[1].window, 4000);
  CHECK_EQUAL(lm(replaced(lm_text(), "\"n_inner\": 128", "\"n_inner\": null")).d_ff, 256);
  CHECK_EQUAL(lm(replaced(lm_text(), "\"n_positions\": 2048,", "")).max_positions, 2048);
}

TEST(config_refuses_language_models) {
  CHECK_THROWS_CODE(read_lm_config("/nowhere/config.json"), "model_missing");
  CHECK_THROWS_CODE(lm("[]"), "model_invalid");
  CHECK_THROWS_SAYING(lm("{}"), "model_invalid", "gpt2_config is missing");
  lm_refused("\"n_vq\": 4", "\"n_vq\": 0", "n_vq is 0 but must be a whole number from 1 to 64");
  lm_refused("\"n_vq\": 4", "\"n_vq\": 4.5", "n_vq is 4.5");
  lm_refused("\"n_vq\": 4", "\"n_vq\": \"4\"", "n_vq is \"4\"");
  lm_refused("\"n_vq\": 4", "\"n_vq\": 5", "audio_codebook_sizes");
  lm_refused("\"n_embd\": 64", "\"n_embd\": 1000000000", "gpt2_config.n_embd is 1000000000");
  lm_refused("\"n_embd\": 64", "\"n_embd\": 66", "attention heads");
  lm_refused("\"n_head\": 4", "\"n_head\": 64", "attention heads");
  lm_refused("\"n_layer\": 2", "\"n_layer\": 1e12", "n_layer");
  lm_refused("\"n_positions\": 2048", "\"n_positions\": 99999999", "n_positions");
  lm_refused("\"position_embedding_type\": \"rope\"", "\"position_embedding_type\": \"absolute\"", "must be \"rope\"");
  lm_refused("\"activation_function\": \"gelu_new\"", "\"activation_function\": \"relu\"", "must be \"gelu_new\"");
  lm_refused("\"scale_attn_weights\": true", "\"scale_attn_weights\": false", "must be true");
  lm_refused("\"scale_attn_by_inverse_layer_idx\": false", "\"scale_attn_by_inverse_layer_idx\": true", "must be false");
  lm_refused("\"model_architecture\": \"global_local_transformer\"", "\"model_architecture\": \"delay\"", "global_local_transformer");
  lm_refused("\"layer_norm_epsilon\": 1e-05", "\"layer_norm_epsilon\": 0", "layer_norm_epsilon");
  lm_refused("\"audio_pad_token_id\": 32", "\"audio_pad_token_id\": 31", "inside a codebook");
  lm_refused("\"audio_end_token_id\": 7", "\"audio_end_token_id\": 300", "audio_end_token_id is 300");
  lm_refused("\"audio_end_token_id\": 7", "\"audio_end_token_id\": 9", "both to end and to go on");
  lm_refused("\"hidden_size\": 64", "\"hidden_size\": 65", "different values");
  lm_refused("\"local_transformer_layers\": 1,", "", "local_transformer_layers is missing");
  lm_refused("\"rope_base\": 10000.0", "\"rope_base\": -1", "rope_base");
}

TEST(config_refuses_codecs) {
  CHECK_THROWS_SAYING(codec("{}"), "model_invalid", "quantizer_kwargs is missing");
  codec_refused("\"downsample_rate\": 192", "\"downsample_rate\": 193", "product is 384; downsample_rate x channels is 386");
  codec_refused("\"number_channels\": 2", "\"number_channels\": 1", "product");
  codec_refused("\"enable_channel_interleave\": true", "\"enable_channel_interleave\": false", "interleave");
  codec_refused("\"input_dimension\": 12,", "\"input_dimension\": 13,", "12 values arrive at module 1 but it takes 13");
  codec_refused("\"output_dimension\": 12,", "\"output_dimension\": 24,", "decoder_kwargs");
  codec_refused("\"code_dim\": 64", "\"code_dim\": 60", "code_dim");
  codec_refused("\"d_model\": 32", "\"d_model\": 34567", "d_model is 34567");
  codec_refused("\"num_heads\": 2", "\"num_heads\": 3", "attention heads");
  codec_refused("\"context_duration\": 0.2", "\"context_duration\": 500", "attention window");
  codec_refused("\"context_duration\": 0.2", "\"context_duration\": 1e9", "context_duration");
  codec_refused("\"causal\": true", "\"causal\": false", "must be true");
  codec_refused("\"gating\": \"none\"", "\"gating\": \"silu\"", "must be \"none\"");
  codec_refused("\"norm\": \"layer_norm\"", "\"norm\": \"rms_norm\"", "must be \"layer_norm\"");
  codec_refused("\"positional_embedding\": \"rope\"", "\"positional_embedding\": \"sin\"", "must be \"rope\"");
  codec_refused("\"module_type\": \"Transformer\"", "\"module_type\": \"Convolution\"", "Convolution");
  codec_refused("\"module_type\": \"Transformer\"", "\"module_type\": \"PatchedPretransform\", \"patch_size\": 2", "second patch");
  codec_refused("\"quantizer_type\": \"rlfq\"", "\"quantizer_type\": \"rvq\"", "rlfq");
  codec_refused("\"codebook_size\": 32", "\"codebook_size\": 1", "codebook_size");
  codec_refused("\"patch_size\": 12", "\"patch_size\": 0", "patch_size is 0");
}

TEST(config_survives_mutation) {
  test::Mutator mutator(5);
  const std::string lm_valid = lm_text(), codec_valid = codec_text();
  for (int i = 0; i < 1500; ++i) {
    try {
      if (i % 2) {
        lm(mutator.mutate(lm_valid));
      } else {
        codec(mutator.mutate(codec_valid));
      }
    } catch (const Error& error) {
      CHECK_EQUAL(error.code(), "model_invalid");
    }
  }
}
