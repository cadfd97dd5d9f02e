// The audio codec on a GPU: a frame at a time for any number of streams, each with its rings of keys
// and values. The decoder computes in T; the encoder always in fp32, because the deep codebooks follow
// the smallest differences. Model specification, section 6.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/graphs.h"
#include "backend/cuda/slots.h"
#include "backend/cuda/stack.h"
#include "model/weights.h"

namespace sonant::cuda {

// One transformer stage with the projections at its borders.
template <class T>
class CodecStageRunner {
 public:
  CodecStageRunner(const CodecStage& config, const CodecStageWeights& weights, float eps, cudaStream_t stream, size_t& bytes);

  const CodecStage& config() const { return config_; }
  int ring() const { return ring_; }  // pages of a stream
  size_t page_bytes() const { return stack_.page_bytes(); }
  void reserve(int streams, cudaStream_t stream);
  // Where the stage's input may be put [streams * steps][ld_in()], and its output [streams * steps][out_dim].
  T* input() const { return in_.data(); }
  int ld_in() const { return (config_.in_dim + kBlockK - 1) / kBlockK * kBlockK; }
  const float* output() const { return out_.data(); }
  // Runs `count` streams: from input(),
  void run_joined(const StreamRef* streams, int count, cudaStream_t stream) const;
  // or from vectors [ld], each of which has the values of `patch` rows.
  void run_split(const float* from, int ld, const StreamRef* streams, int count, cudaStream_t stream) const;

 private:
  void run(const StreamRef* streams, int count, cudaStream_t stream) const;

  const CodecStage config_;
  const int ring_;
  Matrix<T> input_proj_, output_proj_;
  Stack<T> stack_;
  DeviceBuffer<T> in_;
  DeviceBuffer<float> out_;
};

// Stages, and the state of the streams that run through them.
template <class T>
class CodecHalf {
 public:
  CodecHalf(const std::vector<CodecStage>& stages, const std::vector<CodecStageWeights>& weights, float eps, int slots, cudaStream_t stream, size_t& bytes);

  class State;  // a stream's rings
  std::unique_ptr<CodecStream> create();
  const std::vector<std::unique_ptr<CodecStageRunner<T>>>& stages() const { return stages_; }
  // Room for `streams` streams in a pass.
  void reserve(int streams, cudaStream_t stream);
  // Says which streams take part; places up to `count` that are not given go to nobody.
  void begin(const std::vector<CodecStream*>& streams, int count);
  // Tells the device.
  Copy refs() const { return refs_.up(refs_.host.size()); }
  const StreamRef* streams(size_t stage) const { return refs_.device.data() + stage * static_cast<size_t>(room_); }
  static void advance(CodecStream& stream);

 private:
  std::vector<std::unique_ptr<CodecStageRunner<T>>> stages_;
  std::vector<std::unique_ptr<PagePool>> pools_;  // one a stage
  Slots slots_;
  int table_pages_ = 0;              // of all stages
  DeviceBuffer<void*> page_table_;   // [slot][table_pages]
  Mirror<StreamRef> refs_;           // [stage][place]
  int room_ = 0;
  cudaStream_t stream_;
  std::unique_ptr<State> nobody_;
};

template <class T>
class CudaCodec final : public Codec {
 public:
  // On the GPU of that index.
  CudaCodec(int device, const CodecConfig& config, const CodecWeights& weights);
  ~CudaCodec() override;

  const CodecConfig& config() const override { return config_; }
  std::unique_ptr<CodecStream> create_decoder() override;
  std::unique_ptr<CodecStream> create_encoder() override;
  void decode(std::span<DecodeItem> items) override;
  bool decodes_beside() const override { return true; }
  void begin_decode(std::span<DecodeItem> items) override;
  void finish_decode() override;
  void encode(std::span<EncodeItem> items) override;
  void dequantize(const int32_t* codes, int n_frames, int n_books, float* latent) override;
  size_t weight_bytes() const { return weight_bytes_; }

 private:
  void make_tables();
  void prepare_encoder();
  void check_items(std::span<DecodeItem> items) const;
  void begin_frame(const std::vector<DecodeItem*>& items, int frame);
  void finish_frame(const std::vector<DecodeItem*>& items, int frame);
  void queue_decode(int n);
  void encode_frame(const std::vector<EncodeItem*>& items, int frame);

  const int device_;
  const CodecConfig config_;
  const CodecWeights weights_;
  Stream stream_;
  size_t weight_bytes_ = 0;
  CodecHalf<T> decoder_;
  std::unique_ptr<CodecHalf<float>> encoder_;  // made when first used
  DeviceBuffer<float> tables_, latent_bias_;   // [book][code][code_dim]: what each code adds to the latent
  Mirror<int> codes_, books_;
  DeviceBuffer<float> latent_;
  Mirror<float> pcm_;
  Graphs graphs_;
  std::vector<DecodeItem> under_way_;  // between begin_decode and finish_decode

  struct Quantiser {
    Matrix<float> in;
    DeviceBuffer<float> in_bias;
    struct Book {
      DeviceBuffer<float> in_weight, in_bias, unit, entries, out_weight, out_bias;
    };
    std::vector<Book> books;
    DeviceBuffer<float> latent, residual;
    Mirror<float> pcm, hidden;
    Mirror<int> codes;
  };
  std::unique_ptr<Quantiser> quantiser_;
};

}  // namespace sonant::cuda
