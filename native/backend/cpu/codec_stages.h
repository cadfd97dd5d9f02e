// The transformer stages of the codec, shared by its encoder and decoder: stacks of blocks with a
// window of attention, run one frame (several steps) of one or more streams at a time.
#pragma once

#include <vector>

#include "backend/cpu/transformer.h"
#include "model/weights.h"

namespace sonant::cpu {

// Rings of keys and values of one stage for one stream.
struct StageState {
  explicit StageState(const KvShape& shape) : cache(shape) {}
  KvCache cache;
};

class CodecStageRunner {
 public:
  CodecStageRunner(const Context& context, const CodecStage& config, const CodecStageWeights& weights, const Checkpoint& file,
                   float eps, Precision precision, CacheType cache_type, size_t& bytes);

  KvShape kv_shape() const { return kv_; }
  const CodecStage& config() const { return config_; }

  // Before a run: rows for the next frame of each stream, `frame` frames after its start.
  void begin(const std::vector<StageState*>& streams, const std::vector<int64_t>& frames);
  // The stage's input of row i [in_dim]; rows are [stream][step].
  float* input(int i) { return in_.row(i); }
  const float* output(int i) const { return out_.data() + static_cast<size_t>(i) * ld_out_; }
  int rows() const { return rows_.size(); }
  // On every member: from inputs to outputs, in phases.
  void run(Member& me);

 private:
  const Context context_;
  const CodecStage config_;
  BlockShape shape_;
  KvShape kv_;
  int capacity_;  // slots of the ring
  Linear input_proj_, output_proj_;
  std::vector<Block> blocks_;
  RopeTable rope_;
  Workspace ws_;
  RowSet rows_;
  ActivationBuffer in_;
  Buffer<float> out_;
  int ld_out_ = 0;
};

}  // namespace sonant::cpu
