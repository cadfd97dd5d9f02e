#include "backend/cpu/codec_stages.h"

#include <algorithm>

#include "backend/cpu/pack.h"

namespace sonant::cpu {

CodecStageRunner::CodecStageRunner(const Context& context, const CodecStage& config, const CodecStageWeights& weights,
                                   const Checkpoint& file, float eps, Precision precision, CacheType cache_type, size_t& bytes)
    : context_(context), config_(config), rope_(config.head_dim, config.rope_base) {
  shape_ = {config.d_model, config.n_head, config.head_dim, config.d_ff, eps, true};
  kv_ = {config.n_layer, config.n_head, shape_.padded_head(), cache_type};
  // One slot more than the window and a frame's steps need, so that a full window never looks empty.
  capacity_ = (config.window + config.steps_per_frame + kBlockSlots - 1) / kBlockSlots * kBlockSlots;
  // What int8 leaves alone. The projections at a stage's borders are small, and the last one's outputs
  // are the samples themselves. The first feed-forward matrix is the most sensitive one: in bf16 the
  // starter's audio keeps 40 dB to fp32 instead of 36, for a tenth more time.
  const bool coarse = precision == Precision::kInt8;
  const Precision border = coarse ? Precision::kFp32 : precision, widening = coarse ? Precision::kBf16 : precision;
  input_proj_ = pack_linear(context.kernels, file, weights.input_proj, border, bytes);
  output_proj_ = pack_linear(context.kernels, file, weights.output_proj, border, bytes);
  for (const CodecLayerWeights& layer : weights.layers) {
    const auto linear = [&](const Tensor& tensor, Precision at) { return pack_linear(context.kernels, file, tensor, at, bytes); };
    Block& block = blocks_.emplace_back();
    block.norm1_w = to_vector(layer.norm1_w), block.norm1_b = to_vector(layer.norm1_b);
    block.norm2_w = to_vector(layer.norm2_w), block.norm2_b = to_vector(layer.norm2_b);
    block.qkv = linear(layer.in_proj, precision), block.proj = linear(layer.out_proj, precision);
    block.fc_in = linear(layer.ffn0, widening), block.fc_out = linear(layer.ffn2, precision);
    block.scale1 = to_vector(layer.scale1), block.scale2 = to_vector(layer.scale2);
  }
}

void CodecStageRunner::begin(const std::vector<StageState*>& streams, const std::vector<int64_t>& frames) {
  const int steps = config_.steps_per_frame;
  rows_.clear();
  int64_t most = 0;
  int most_slots = 0;
  for (size_t s = 0; s < streams.size(); s++) {
    const int64_t start = frames[s] * steps, end = start + steps;
    const int slots = static_cast<int>(std::min<int64_t>(end, capacity_));
    streams[s]->cache.reserve(slots);
    for (int64_t position = start; position < end; position++) {
      const int64_t first = std::max<int64_t>(0, position - config_.window + 1);
      rows_.push_back({&streams[s]->cache, static_cast<int>(position), static_cast<int>(position % capacity_),
                       static_cast<int>(first % capacity_), static_cast<int>(position % capacity_) + 1, slots});
    }
    most = std::max(most, end);
    most_slots = std::max(most_slots, slots);
  }
  const int m = rows();
  rope_.reserve(static_cast<int>(most));
  ws_.reserve(shape_, m, most_slots, context_.team.size());
  ws_.set_rows(rows_.data(), m);
  in_.reserve(m, config_.in_dim);
  ld_out_ = output_proj_.padded_n();
  out_.reserve(static_cast<size_t>(m) * ld_out_);
}

void CodecStageRunner::run(int member) {
  const int m = rows(), members = context_.team.size();
  const Share in = share(input_proj_.panels(), member, members, 2);
  input_proj_.apply(in_.view(), m, in.begin, in.end, ws_.x.data(), ws_.ldx);
  context_.team.barrier();
  for (size_t layer = 0; layer < blocks_.size(); layer++)
    run_block(context_, member, shape_, blocks_[layer], static_cast<int>(layer), rope_, ws_);
  const Share out = share(output_proj_.panels(), member, members, 2);
  output_proj_.apply({ws_.x.data(), ws_.ldx, {}}, m, out.begin, out.end, out_.data(), ld_out_);
  context_.team.barrier();
}

}  // namespace sonant::cpu
