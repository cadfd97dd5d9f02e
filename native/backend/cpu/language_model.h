// The language model on the CPU: a global transformer over rows with a key/value cache, and a
// local one that draws the codes of a frame. Model specification, sections 3 and 5.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cpu/transformer.h"
#include "model/weights.h"

namespace sonant::cpu {

class CpuLanguageModel final : public LanguageModel {
 public:
  CpuLanguageModel(const Kernels& kernels, ThreadTeam& team, const LmConfig& config, LmWeights weights, Precision precision);
  ~CpuLanguageModel() override;

  const LmConfig& config() const override { return config_; }
  std::unique_ptr<LmSequence> create_sequence(std::shared_ptr<const LmPrefix> prefix, int max_rows) override;
  void prefill(std::span<PrefillItem> items) override;
  std::shared_ptr<const LmPrefix> freeze(LmSequence& sequence) override;
  void step(std::span<FrameItem> items) override;
  size_t weight_bytes() const { return weight_bytes_; }

 private:
  class Sequence;
  class Prefix;
  struct Stack {  // a transformer with its final norm
    BlockShape shape;
    std::vector<Block> blocks;
    Vector norm_w, norm_b;
  };
  struct GlobalRow {  // a row on its way through the global transformer
    Sequence* sequence;
    const int32_t* row;  // [1 + n_vq]
    float* hidden;       // optional out
  };
  struct Frame {  // an item of step() while the local transformer works on it
    FrameItem* item;
    Sequence* sequence;
    SamplerScratch* scratch;
    bool active;         // still drawing
    bool begun = false;  // the decision was to make a frame
  };

  Stack make_stack(const std::vector<LmLayerWeights>& layers, const Tensor& norm_w, const Tensor& norm_b, Precision precision);
  void embed(const int32_t* row, float* out, float* scratch) const;
  void run_global(const std::vector<GlobalRow>& batch);
  void run_local(std::span<FrameItem> items);
  void decide(Frame& frame, const float* hidden);
  void draw(Frame& frame, int book, const float* logits);

  const LmConfig config_;
  const Context context_;
  LmWeights weights_;  // embeddings are gathered from the mapped file
  Stack global_, local_;
  std::vector<Linear> heads_;
  Vector continue_row_, stop_row_;  // the two rows of the text head that are ever needed
  RopeTable rope_;
  KvShape global_kv_, local_kv_;
  Workspace global_ws_, local_ws_;
  RowSet global_rows_;
  RowSet first_rows_, next_rows_;  // of the local transformer: positions 0 and 1, then one position at a time
  std::vector<Frame> frames_;
  std::vector<std::unique_ptr<KvCache>> local_caches_;  // one for each place in a batch, rewritten for every frame
  std::vector<SamplerScratch> scratch_;
  Buffer<float> logits_;
  ActivationBuffer head_in_;
  size_t weight_bytes_ = 0;
};

}  // namespace sonant::cpu
