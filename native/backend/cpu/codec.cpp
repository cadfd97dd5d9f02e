#include "backend/cpu/codec.h"

#include <algorithm>
#include <cmath>

#include "backend/contract.h"

namespace sonant::cpu {

namespace {

constexpr size_t kMaxStreams = 16;  // streams that share a pass; bounds the activations' memory

}  // namespace

class CpuCodec::Stream final : public CodecStream {
 public:
  Stream(const std::vector<std::unique_ptr<CodecStageRunner>>& runners, bool is_encoder) : encoder(is_encoder) {
    for (const auto& runner : runners) stages.push_back(std::make_unique<StageState>(runner->kv_shape()));
  }
  size_t bytes() const override {
    size_t total = 0;
    for (const auto& stage : stages) total += stage->cache.bytes();
    return total;
  }
  const bool encoder;
  std::vector<std::unique_ptr<StageState>> stages;
  int64_t frames = 0;  // done so far
};

CpuCodec::CpuCodec(const Kernels& kernels, ThreadTeam& team, const CodecConfig& config, CodecWeights weights, Precision precision)
    : config_(config), context_{kernels, team}, weights_(std::move(weights)), precision_(precision) {
  const CacheType cache = precision == Precision::kFp32 ? CacheType::kFp32 : CacheType::kHalf;
  for (size_t i = 0; i < config.decoder.size(); i++)
    decoder_.push_back(std::make_unique<CodecStageRunner>(context_, config.decoder[i], weights_.decoder[i], *weights_.file,
                                                          config.layer_norm_eps, precision, cache, weight_bytes_));
  const FoldedLinear& out = weights_.quantizer_out;
  quantizer_out_ = Linear(kernels, out.weight.data(), out.rows, out.cols, Precision::kFp32);
  for (const FoldedLinear& book : weights_.book_out) {
    Vector& transposed = book_out_.emplace_back(book.weight.size());
    for (int r = 0; r < book.rows; r++)
      for (int c = 0; c < book.cols; c++) transposed[static_cast<size_t>(c) * book.rows + r] = book.weight[static_cast<size_t>(r) * book.cols + c];
  }
}

std::unique_ptr<CodecStream> CpuCodec::create_decoder() { return std::make_unique<Stream>(decoder_, false); }

std::unique_ptr<CodecStream> CpuCodec::create_encoder() {
  prepare_encoder();
  return std::make_unique<Stream>(encoder_, true);
}

// Always fp32: the deep codebooks follow the smallest differences.
void CpuCodec::prepare_encoder() {
  if (!encoder_.empty()) return;
  const FoldedLinear& in = weights_.quantizer_in;
  quantizer_in_ = Linear(context_.kernels, in.weight.data(), in.rows, in.cols, Precision::kFp32);
  for (const std::vector<float>& book : weights_.books) unit_books_.push_back(unit_entries(book, config_.codebook_dim));
  std::vector<std::unique_ptr<CodecStageRunner>> stages;
  for (size_t i = 0; i < config_.encoder.size(); i++)
    stages.push_back(std::make_unique<CodecStageRunner>(context_, config_.encoder[i], weights_.encoder[i], *weights_.file,
                                                        config_.layer_norm_eps, Precision::kFp32, CacheType::kFp32, weight_bytes_));
  encoder_ = std::move(stages);
}

// Sum of the projected codebook entries [rvq_dim], books in order.
void CpuCodec::sum_codes(const int32_t* codes, int n_books, float* out) const {
  std::fill(out, out + config_.rvq_dim, 0.0f);
  std::vector<float> projected(config_.rvq_dim);
  for (int book = 0; book < n_books; book++) {
    const float* entry = weights_.books[book].data() + static_cast<size_t>(codes[book]) * config_.codebook_dim;
    std::copy(weights_.book_out[book].bias.begin(), weights_.book_out[book].bias.end(), projected.begin());
    for (int j = 0; j < config_.codebook_dim; j++) {
      const float* column = book_out_[book].data() + static_cast<size_t>(j) * config_.rvq_dim;
      for (int i = 0; i < config_.rvq_dim; i++) projected[i] += entry[j] * column[i];
    }
    for (int i = 0; i < config_.rvq_dim; i++) out[i] += projected[i];
  }
}

void CpuCodec::dequantize(const int32_t* codes, int n_frames, int n_books, float* latent) {
  check_codes(config_, codes, n_frames, n_books);
  sum_.reserve(1, config_.rvq_dim);
  latent_.reserve(quantizer_out_.padded_n());
  for (int t = 0; t < n_frames; t++) {
    sum_codes(codes + static_cast<size_t>(t) * n_books, n_books, sum_.row(0));
    quantizer_out_.apply(sum_.view(), 1, 0, quantizer_out_.panels(), latent_.data(), quantizer_out_.padded_n());
    for (int i = 0; i < config_.code_dim; i++)
      latent[static_cast<size_t>(t) * config_.code_dim + i] = latent_[i] + weights_.quantizer_out.bias[i];
  }
}

void CpuCodec::decode(std::span<DecodeItem> items) {
  for (const DecodeItem& item : items) check_codes(config_, item.codes, item.n_frames, item.n_books);
  by_frames(items, kMaxStreams, [&](const std::vector<DecodeItem*>& batch, int frame) { decode_frame(batch, frame); });
}

void CpuCodec::decode_frame(const std::vector<DecodeItem*>& items, int frame) {
  const int n = static_cast<int>(items.size());
  std::vector<int64_t> positions;
  for (const DecodeItem* item : items) positions.push_back(static_cast<Stream*>(item->stream)->frames);
  for (size_t s = 0; s < decoder_.size(); s++) {
    std::vector<StageState*> states;
    for (const DecodeItem* item : items) states.push_back(static_cast<Stream*>(item->stream)->stages[s].get());
    decoder_[s]->begin(states, positions);
  }
  sum_.reserve(n, config_.rvq_dim);
  const int ld_latent = quantizer_out_.padded_n();
  latent_.reserve(static_cast<size_t>(n) * ld_latent);
  for (int i = 0; i < n; i++) sum_codes(items[i]->codes + static_cast<size_t>(frame) * items[i]->n_books, items[i]->n_books, sum_.row(i));

  ActivationBuffer unused;  // fp32 input is multiplied where it lies
  context_.team.run([&](Member& me) {
    multiply(context_, me, {sum_.row(0), sum_.ld(), n, config_.rvq_dim}, quantizer_out_, unused, unused, latent_.data(), ld_latent,
             [&](int begin, int end) {
               for (int i = 0; i < n; i++)
                 context_.kernels.add_bias(latent_.data() + static_cast<size_t>(i) * ld_latent + begin, &weights_.quantizer_out.bias[begin],
                                           end - begin);
             });
    for (size_t s = 0; s < decoder_.size(); s++) {
      CodecStageRunner& stage = *decoder_[s];
      const int patch = stage.config().patch, size = stage.config().in_dim;
      context_.team.phase(me, stage.rows(), [&](int r) {  // one vector [size][patch] becomes `patch` steps of [size]
        const float* from = s == 0 ? latent_.data() + static_cast<size_t>(r / patch) * ld_latent : decoder_[s - 1]->output(r / patch);
        for (int c = 0; c < size; c++) stage.input(r)[c] = from[static_cast<size_t>(c) * patch + r % patch];
      });
      stage.run(me);
    }
    const CodecStageRunner& last = *decoder_.back();
    const int steps = last.config().steps_per_frame, patch = config_.decoder_final_patch;
    context_.team.phase(me, last.rows(), [&](int r) {
      float* out = items[r / steps]->pcm + static_cast<size_t>(frame) * config_.frame_samples * config_.channels;
      std::memcpy(out + static_cast<size_t>(r % steps) * patch, last.output(r), static_cast<size_t>(patch) * 4);
    });
  });
  for (const DecodeItem* item : items) static_cast<Stream*>(item->stream)->frames++;
}

void CpuCodec::encode(std::span<EncodeItem> items) {
  prepare_encoder();
  by_frames(items, kMaxStreams, [&](const std::vector<EncodeItem*>& batch, int frame) { encode_frame(batch, frame); });
}

void CpuCodec::encode_frame(const std::vector<EncodeItem*>& items, int frame) {
  const int n = static_cast<int>(items.size());
  std::vector<int64_t> positions;
  for (const EncodeItem* item : items) positions.push_back(static_cast<Stream*>(item->stream)->frames);
  for (size_t s = 0; s < encoder_.size(); s++) {
    std::vector<StageState*> states;
    for (const EncodeItem* item : items) states.push_back(static_cast<Stream*>(item->stream)->stages[s].get());
    encoder_[s]->begin(states, positions);
  }
  latent_in_.reserve(n, config_.code_dim);
  const int ld_residual = quantizer_in_.padded_n();
  residual_.reserve(static_cast<size_t>(n) * ld_residual);

  ActivationBuffer unused;  // fp32 input is multiplied where it lies
  context_.team.run([&](Member& me) {
    // Joins `patch` steps into one vector [size][patch].
    const auto join = [](const CodecStageRunner& from, int first, int patch, int size, float* to) {
      for (int j = 0; j < patch; j++)
        for (int c = 0; c < size; c++) to[static_cast<size_t>(c) * patch + j] = from.output(first + j)[c];
    };
    for (size_t s = 0; s < encoder_.size(); s++) {
      CodecStageRunner& stage = *encoder_[s];
      const int patch = stage.config().patch, steps = stage.config().steps_per_frame;
      context_.team.phase(me, stage.rows(), [&](int r) {
        if (s > 0) return join(*encoder_[s - 1], r * patch, patch, stage.config().in_dim / patch, stage.input(r));
        const float* pcm = items[r / steps]->pcm + static_cast<size_t>(frame) * config_.frame_samples * config_.channels;
        std::memcpy(stage.input(r), pcm + static_cast<size_t>(r % steps) * patch, static_cast<size_t>(patch) * 4);
      });
      stage.run(me);
    }
    const int patch = config_.encoder_final_patch;
    context_.team.phase(me, n, [&](int i) {
      join(*encoder_.back(), i * patch, patch, config_.code_dim / patch, latent_in_.row(i));
      if (items[i]->hidden)
        std::memcpy(items[i]->hidden + static_cast<size_t>(frame) * config_.code_dim, latent_in_.row(i), static_cast<size_t>(config_.code_dim) * 4);
    });
    multiply(context_, me, {latent_in_.row(0), latent_in_.ld(), n, config_.code_dim}, quantizer_in_, unused, unused, residual_.data(), ld_residual,
             [](int, int) {});
    context_.team.phase(me, n, [&](int i) {
      quantise(items[i]->codes + static_cast<size_t>(frame) * config_.n_codebooks, residual_.data() + static_cast<size_t>(i) * ld_residual);
    });
  });
  for (const EncodeItem* item : items) static_cast<Stream*>(item->stream)->frames++;
}

// Residual quantisation of one frame; `residual` [rvq_dim] still lacks the projection's bias.
void CpuCodec::quantise(int32_t* codes, float* residual) const {
  const int rvq = config_.rvq_dim, dim = config_.codebook_dim;
  for (int i = 0; i < rvq; i++) residual[i] += weights_.quantizer_in.bias[i];
  float e[64];  // codebook_dim is at most 64 (checked when the config is read)
  for (int book = 0; book < config_.n_codebooks; book++) {
    const FoldedLinear& in = weights_.book_in[book];
    for (int j = 0; j < dim; j++) e[j] = context_.kernels.dot(residual, in.weight.data() + static_cast<size_t>(j) * rvq, rvq) + in.bias[j];
    // The length of e scales all similarities alike, so it does not change which one is the largest.
    const float* unit = unit_books_[book].data();
    int best = 0;
    float best_similarity = -INFINITY;
    for (int row = 0; row < config_.codebook_size; row++) {
      float similarity = 0;
      for (int j = 0; j < dim; j++) similarity += e[j] * unit[static_cast<size_t>(row) * dim + j];
      if (similarity > best_similarity) best_similarity = similarity, best = row;
    }
    codes[book] = best;
    const float* entry = weights_.books[book].data() + static_cast<size_t>(best) * dim;
    const float* bias = weights_.book_out[book].bias.data();
    for (int i = 0; i < rvq; i++) {
      float projected = bias[i];
      for (int j = 0; j < dim; j++) projected += entry[j] * book_out_[book][static_cast<size_t>(j) * rvq + i];
      residual[i] -= projected;
    }
  }
}

}  // namespace sonant::cpu
