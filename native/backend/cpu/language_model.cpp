#include "backend/cpu/language_model.h"

#include <algorithm>
#include <cmath>

#include "backend/contract.h"
#include "backend/cpu/pack.h"
#include "model/error.h"

namespace sonant::cpu {

namespace {

// Rows that go through the global transformer together: enough to reuse every weight well, few
// enough that the activations stay in the second-level cache.
constexpr int kMaxBatchRows = 96;

}  // namespace

class CpuLanguageModel::Prefix final : public LmPrefix {
 public:
  Prefix(KvCache cache, int rows, std::vector<float> hidden) : cache(std::move(cache)), hidden(std::move(hidden)), rows_(rows) {}
  int rows() const override { return rows_; }
  size_t bytes() const override { return cache.bytes() + hidden.size() * 4; }

  const KvCache cache;
  const std::vector<float> hidden;

 private:
  int rows_;
};

class CpuLanguageModel::Sequence final : public LmSequence {
 public:
  Sequence(KvCache kv, const LmConfig& config, int max_rows_wanted) : cache(std::move(kv)), max_rows(max_rows_wanted) {
    for (int size : config.codebook_sizes) history.emplace_back(size);
  }
  int rows() const override { return row_count; }
  int frames() const override { return frame_count; }
  size_t bytes() const override { return cache.bytes(); }

  KvCache cache;
  std::shared_ptr<const LmPrefix> prefix;  // keeps shared blocks alive
  std::vector<float> hidden;               // of the last row, after the final norm; empty before any row
  std::vector<int32_t> pending;            // row of the last frame, not yet in the cache
  std::vector<CodeHistory> history;
  int row_count = 0, frame_count = 0;
  int max_rows;
};

CpuLanguageModel::CpuLanguageModel(const Kernels& kernels, ThreadTeam& team, const LmConfig& config, LmWeights weights, Precision precision)
    : config_(config), context_{kernels, team}, weights_(std::move(weights)), rope_(config.head_dim, config.rope_base) {
  global_ = make_stack(weights_.global_layers, weights_.ln_f_w, weights_.ln_f_b, precision);
  local_ = make_stack(weights_.local_layers, weights_.local_ln_f_w, weights_.local_ln_f_b, precision);
  for (const Tensor& embedding : weights_.audio_embeddings) {
    heads_.emplace_back(kernels, embedding, precision);
    weight_bytes_ += heads_.back().bytes();
    weights_.file->release(embedding);
  }
  continue_row_.resize(config.d_model);
  stop_row_.resize(config.d_model);
  read_rows_f32(weights_.wte, config.assistant_slot_id, 1, continue_row_.data());
  read_rows_f32(weights_.wte, config.audio_end_id, 1, stop_row_.data());
  const int padded = global_.shape.padded_head();
  const CacheType type = precision == Precision::kFp32 ? CacheType::kFp32 : CacheType::kHalf;
  global_kv_ = {config.n_layer, config.n_head, padded, type};
  local_kv_ = {config.local_layers, config.n_head, padded, CacheType::kFp32};
}

CpuLanguageModel::~CpuLanguageModel() = default;

CpuLanguageModel::Stack CpuLanguageModel::make_stack(const std::vector<LmLayerWeights>& layers, const Tensor& norm_w,
                                                     const Tensor& norm_b, Precision precision) {
  Stack stack;
  stack.shape = {config_.d_model, config_.n_head, config_.head_dim, config_.d_ff, config_.layer_norm_eps, false};
  for (const LmLayerWeights& layer : layers) {
    const auto linear = [&](const Tensor& tensor) { return pack_linear(context_.kernels, *weights_.file, tensor, precision, weight_bytes_); };
    Block& block = stack.blocks.emplace_back();
    block.norm1_w = to_vector(layer.ln1_w), block.norm1_b = to_vector(layer.ln1_b);
    block.norm2_w = to_vector(layer.ln2_w), block.norm2_b = to_vector(layer.ln2_b);
    block.qkv = linear(layer.attn_w), block.qkv_bias = to_vector(layer.attn_b);
    block.proj = linear(layer.proj_w), block.proj_bias = to_vector(layer.proj_b);
    block.fc_in = linear(layer.fc_in_w), block.fc_in_bias = to_vector(layer.fc_in_b);
    block.fc_out = linear(layer.fc_out_w), block.fc_out_bias = to_vector(layer.fc_out_b);
  }
  stack.norm_w = to_vector(norm_w), stack.norm_b = to_vector(norm_b);
  return stack;
}

std::unique_ptr<LmSequence> CpuLanguageModel::create_sequence(std::shared_ptr<const LmPrefix> prefix, int max_rows) {
  check_capacity(config_, max_rows);
  const auto* shared = static_cast<const Prefix*>(prefix.get());
  auto sequence = std::make_unique<Sequence>(shared ? shared->cache.fork(shared->rows()) : KvCache(global_kv_), config_, max_rows);
  if (shared) {
    sequence->row_count = shared->rows();
    sequence->hidden = shared->hidden;
    sequence->prefix = std::move(prefix);
  }
  return sequence;
}

std::shared_ptr<const LmPrefix> CpuLanguageModel::freeze(LmSequence& sequence) {
  const auto& own = static_cast<Sequence&>(sequence);
  return std::make_shared<Prefix>(own.cache.fork(own.row_count), own.row_count, own.hidden);
}

void CpuLanguageModel::embed(const int32_t* row, float* out, float* code) const {
  const int d = config_.d_model;
  read_rows_f32(weights_.wte, row[0], 1, out);
  for (int k = 0; k < config_.n_vq; k++) {
    if (row[1 + k] == config_.audio_pad_id) continue;
    read_rows_f32(weights_.audio_embeddings[k], row[1 + k], 1, code);
    for (int i = 0; i < d; i++) out[i] += code[i];
  }
}

// Rows of one sequence stand together and in order. Leaves each sequence's last hidden state in it.
void CpuLanguageModel::run_global(const std::vector<GlobalRow>& batch) {
  const int m = static_cast<int>(batch.size()), d = config_.d_model;
  std::vector<Row> rows;
  int most = 0;
  for (const GlobalRow& item : batch) {
    const int position = item.sequence->row_count++;
    item.sequence->cache.reserve(position + 1);
    rows.push_back({&item.sequence->cache, position, position, 0, position + 1, position + 1});
    most = std::max(most, position + 1);
  }
  rope_.reserve(most);
  global_ws_.reserve(global_.shape, m, most, context_.team.size());
  global_rows_.assign(std::move(rows));
  for (const GlobalRow& item : batch) item.sequence->hidden.resize(d);
  context_.team.run([&](Member& me) {
    context_.team.phase(me, m, [&](int i) { embed(batch[i].row, global_ws_.row(i), global_ws_.own[me.index].norm.row(0)); });
    for (size_t layer = 0; layer < global_.blocks.size(); layer++)
      run_block(context_, me, global_.shape, global_.blocks[layer], static_cast<int>(layer), rope_, global_rows_, global_ws_);
    context_.team.phase(me, m, [&](int i) {
      const bool last = i + 1 == m || batch[i + 1].sequence != batch[i].sequence;
      if (!last && !batch[i].hidden) return;
      float* out = last ? batch[i].sequence->hidden.data() : batch[i].hidden;
      context_.kernels.layer_norm(global_ws_.row(i), global_.norm_w.data(), global_.norm_b.data(), d, config_.layer_norm_eps, out);
      if (last && batch[i].hidden) std::memcpy(batch[i].hidden, out, static_cast<size_t>(d) * 4);
    });
  });
}

void CpuLanguageModel::prefill(std::span<PrefillItem> items) {
  const int width = config_.row_width();
  for (const PrefillItem& item : items) check_prompt(config_, item, static_cast<const Sequence&>(*item.sequence).max_rows);
  std::vector<GlobalRow> batch;
  for (const PrefillItem& item : items) {
    for (int i = 0; i < item.n_rows; i++) {
      float* hidden = item.hidden ? item.hidden + static_cast<size_t>(i) * config_.d_model : nullptr;
      batch.push_back({static_cast<Sequence*>(item.sequence), item.rows + static_cast<size_t>(i) * width, hidden});
      if (batch.size() == kMaxBatchRows) run_global(batch), batch.clear();
    }
  }
  if (!batch.empty()) run_global(batch);
}

void CpuLanguageModel::step(std::span<FrameItem> items) {
  std::vector<GlobalRow> batch;
  for (FrameItem& item : items) {
    auto& sequence = static_cast<Sequence&>(*item.sequence);
    check_step(sequence, !sequence.pending.empty(), sequence.max_rows);
    if (sequence.pending.empty()) continue;
    batch.push_back({&sequence, sequence.pending.data(), nullptr});
    if (batch.size() == kMaxBatchRows) run_global(batch), batch.clear();
  }
  if (!batch.empty()) run_global(batch);
  for (FrameItem& item : items) static_cast<Sequence&>(*item.sequence).pending.clear();
  for (size_t i = 0; i < items.size(); i += kMaxBatchRows / 2)
    run_local(items.subspan(i, std::min<size_t>(kMaxBatchRows / 2, items.size() - i)));
}

void CpuLanguageModel::decide(Frame& frame, const float* hidden) {
  FrameItem& item = *frame.item;
  const int d = config_.d_model;
  const float go = context_.kernels.dot(hidden, continue_row_.data(), d), stop = context_.kernels.dot(hidden, stop_row_.data(), d);
  if (item.text_logits) item.text_logits[0] = go, item.text_logits[1] = stop;
  item.stopped = item.failed = false;
  if (!std::isfinite(go) || !std::isfinite(stop)) {
    item.failed = true;
  } else if (!item.force_continue) {
    const SamplingParams& sampling = *item.sampling;
    const float u = philox_uniform(sampling.seed, static_cast<uint32_t>(frame.sequence->frame_count), 0, sampling.segment);
    item.stopped = !sample_continue(go, stop, sampling, u);
  }
  frame.begun = frame.active = !item.failed && !item.stopped;
}

void CpuLanguageModel::draw(Frame& frame, int book, const float* logits) {
  FrameItem& item = *frame.item;
  Sequence& sequence = *frame.sequence;
  const SamplingParams& sampling = *item.sampling;
  const int size = config_.codebook_sizes[book];
  if (item.audio_logits) std::memcpy(item.audio_logits + static_cast<size_t>(book) * config_.max_codebook(), logits, static_cast<size_t>(size) * 4);
  int code = config_.audio_pad_id;
  if (sampling.n_vq == 0 || book < sampling.n_vq) {
    const float u = philox_uniform(sampling.seed, static_cast<uint32_t>(sequence.frame_count), static_cast<uint32_t>(book + 1), sampling.segment);
    try {
      code = sample_audio(logits, size, sequence.history[book], sampling, u, *frame.scratch);
    } catch (const Error&) {  // not finite
      item.failed = true;
      frame.active = false;
      return;
    }
    sequence.history[book].add(code);
  }
  item.codes[book] = code;
}

void CpuLanguageModel::run_local(std::span<FrameItem> items) {
  const int n = static_cast<int>(items.size()), d = config_.d_model, n_vq = config_.n_vq;
  while (static_cast<int>(local_caches_.size()) < n) {
    local_caches_.push_back(std::make_unique<KvCache>(local_kv_));
    local_caches_.back()->reserve(n_vq + 1);
    scratch_.emplace_back();
  }
  frames_.clear();
  int books = 0;
  for (int i = 0; i < n; i++) {
    auto* sequence = static_cast<Sequence*>(items[i].sequence);
    if (items[i].hidden) std::memcpy(items[i].hidden, sequence->hidden.data(), static_cast<size_t>(d) * 4);
    frames_.push_back({&items[i], sequence, &scratch_[i], true});
    const int wanted = items[i].sampling->n_vq;
    books = std::max(books, wanted == 0 ? n_vq : std::min(wanted, n_vq));
  }
  rope_.reserve(n_vq + 1);
  int widest = 0;
  for (const Linear& head : heads_) widest = std::max(widest, head.padded_n());
  logits_.reserve(static_cast<size_t>(n) * widest);
  head_in_.reserve(n, d);
  Workspace& ws = local_ws_;
  ws.reserve(local_.shape, 2 * n, n_vq + 1, context_.team.size());

  // Positions 0 and 1 go together: position 1 is the chosen text id, the same whenever a frame is
  // made at all, and the work is dropped when the decision is to stop.
  std::vector<Row> first, next;
  for (int i = 0; i < n; i++) {
    for (int position = 0; position < 2; position++)
      first.push_back({local_caches_[i].get(), position, position, 0, position + 1, position + 1});
    next.push_back({local_caches_[i].get(), 0, 0, 0, 0, 0});
  }
  first_rows_.assign(std::move(first));
  next_rows_.assign(std::move(next));

  context_.team.run([&](Member& me) {
    Workspace::Own& own = ws.own[me.index];
    const auto pass = [&](const RowSet& rows) {
      for (size_t layer = 0; layer < local_.blocks.size(); layer++)
        run_block(context_, me, local_.shape, local_.blocks[layer], static_cast<int>(layer), rope_, rows, ws);
    };
    context_.team.phase(me, n, [&](int i) {
      std::memcpy(ws.row(2 * i), frames_[i].sequence->hidden.data(), static_cast<size_t>(d) * 4);
      std::memcpy(ws.row(2 * i + 1), continue_row_.data(), static_cast<size_t>(d) * 4);
    });
    pass(first_rows_);
    context_.team.phase(me, n, [&](int i) {
      float* hidden = own.norm.row(0);
      context_.kernels.layer_norm(ws.row(2 * i), local_.norm_w.data(), local_.norm_b.data(), d, config_.layer_norm_eps, hidden);
      decide(frames_[i], hidden);
    });
    // `stopped` and `failed` are settled for good by the phase above, so every member sees the same.
    if (std::none_of(frames_.begin(), frames_.end(), [](const Frame& frame) { return frame.begun; })) return;
    for (int book = 0; book < books; book++) {
      // The rows whose last position this is: every second one after the first pass.
      const int stride = book == 0 ? 2 : 1;
      const Input input{ws.row(stride - 1), ws.ldx * stride, n, d, &local_.norm_w, &local_.norm_b, config_.layer_norm_eps};
      multiply(context_, me, input, heads_[book], own.norm, head_in_, logits_.data(), widest, [](int, int) {});
      context_.team.phase(me, n, [&](int i) {
        Frame& frame = frames_[i];
        if (frame.active) draw(frame, book, logits_.data() + static_cast<size_t>(i) * widest);
        if (book + 1 == books) return;
        // A frame that is over keeps its place in the batch with some valid input; nobody reads it.
        const int code = frame.active ? frame.item->codes[book] : 0;
        if (code == config_.audio_pad_id) std::memset(ws.row(i), 0, static_cast<size_t>(d) * 4);
        else read_rows_f32(weights_.audio_embeddings[book], code, 1, ws.row(i));
        Row& row = next_rows_.rows[i];
        row.position = row.slot = book + 2;
        row.hi = row.slots = book + 3;
      });
      if (book + 1 < books) pass(next_rows_);
    }
  });

  for (Frame& frame : frames_) {
    if (!frame.active) continue;
    for (int book = books; book < n_vq; book++) frame.item->codes[book] = config_.audio_pad_id;
    Sequence& sequence = *frame.sequence;
    sequence.frame_count++;
    sequence.pending.assign(1, config_.assistant_slot_id);
    sequence.pending.insert(sequence.pending.end(), frame.item->codes, frame.item->codes + n_vq);
  }
}

}  // namespace sonant::cpu
