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
  std::vector<Row> batch;
  int64_t most = 0;
  int most_slots = 0;
  for (size_t s = 0; s < streams.size(); s++) {
    const int64_t start = frames[s] * steps, end = start + steps;
    const int slots = static_cast<int>(std::min<int64_t>(end, capacity_));
    streams[s]->cache.reserve(slots);
    for (int64_t position = start; position < end; position++) {
      const int64_t first = std::max<int64_t>(0, position - config_.window + 1);
      batch.push_back({&streams[s]->cache, static_cast<int>(position), static_cast<int>(position % capacity_),
                       static_cast<int>(first % capacity_), static_cast<int>(position % capacity_) + 1, slots});
    }
    most = std::max(most, end);
    most_slots = std::max(most_slots, slots);
  }
  rows_.assign(std::move(batch));
  const int m = rows();
  rope_.reserve(static_cast<int>(most));
  ws_.reserve(shape_, m, most_slots, context_.team.size());
  in_.reserve(m, config_.in_dim);
  ld_out_ = output_proj_.padded_n();
  out_.reserve(static_cast<size_t>(m) * ld_out_);
}

void CodecStageRunner::run(Member& me) {
  const int m = rows();
  Workspace::Own& own = ws_.own[me.index];
  const auto nothing_more = [](int, int) {};
  multiply(context_, me, {in_.row(0), in_.ld(), m, config_.in_dim}, input_proj_, own.norm, in_, ws_.x.data(), ws_.ldx, nothing_more);
  for (size_t layer = 0; layer < blocks_.size(); layer++)
    run_block(context_, me, shape_, blocks_[layer], static_cast<int>(layer), rope_, rows_, ws_);
  multiply(context_, me, {ws_.x.data(), ws_.ldx, m, config_.d_model}, output_proj_, own.norm, ws_.norm, out_.data(), ld_out_, nothing_more);
}

}  // namespace sonant::cpu
