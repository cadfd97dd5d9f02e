// The audio codec on the CPU: codes to audio and audio to codes, a frame at a time for any number
// of streams. Every frame takes the same path however many are asked for at once, so chunk sizes
// and company never change a sample. Model specification, section 6.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/codec_stages.h"
#include "model/weights.h"

namespace sonant::cpu {

class CpuCodec final : public Codec {
 public:
  CpuCodec(const Kernels& kernels, ThreadTeam& team, const CodecConfig& config, CodecWeights weights, Precision precision);

  const CodecConfig& config() const override { return config_; }
  std::unique_ptr<CodecStream> create_decoder() override;
  std::unique_ptr<CodecStream> create_encoder() override;
  void decode(std::span<DecodeItem> items) override;
  void encode(std::span<EncodeItem> items) override;
  void dequantize(const int32_t* codes, int n_frames, int n_books, float* latent) override;
  size_t weight_bytes() const { return weight_bytes_; }

 private:
  class Stream;
  void prepare_encoder();
  void sum_codes(const int32_t* codes, int n_books, float* out) const;
  void decode_frame(const std::vector<DecodeItem*>& items, int frame);
  void encode_frame(const std::vector<EncodeItem*>& items, int frame);
  void quantise(int32_t* codes, float* residual) const;

  const CodecConfig config_;
  const Context context_;
  CodecWeights weights_;
  Precision precision_;
  std::vector<std::unique_ptr<CodecStageRunner>> decoder_, encoder_;  // the encoder is packed when first used
  Linear quantizer_in_, quantizer_out_;
  std::vector<Vector> book_out_;      // [codebook_dim][rvq_dim]: out_proj transposed
  std::vector<Vector> unit_books_;    // [codebook_size][codebook_dim], rows of length 1
  ActivationBuffer sum_, latent_in_;
  Buffer<float> latent_, residual_;
  size_t weight_bytes_ = 0;
};

}  // namespace sonant::cpu
