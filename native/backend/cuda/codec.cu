#include "backend/cuda/codec.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "backend/contract.h"

namespace sonant::cuda {

namespace {

constexpr int kMaxStreams = 512;        // of a decoding pass
constexpr int kMaxEncoders = 16;        // of an encoding pass
constexpr int kDecoderSlots = 4096, kEncoderSlots = 64;

std::vector<BlockTensors> tensors_of(const std::vector<CodecLayerWeights>& layers) {
  std::vector<BlockTensors> blocks;
  for (const CodecLayerWeights& layer : layers)
    blocks.push_back({layer.norm1_w, layer.norm1_b, layer.norm2_w, layer.norm2_b, layer.in_proj, layer.out_proj, layer.ffn0, layer.ffn2, {}, {}, {}, {}, layer.scale1, layer.scale2});
  return blocks;
}

// Rows of a stream's frame that share a tile.
template <class T>
int largest_tile(int steps) {
  for (int size = kTileSize<T>; size > 1; size--)
    if (steps % size == 0) return size;
  return 1;
}

}  // namespace

template <class T>
CodecStageRunner<T>::CodecStageRunner(const CodecStage& config, const CodecStageWeights& weights, float eps, cudaStream_t stream, size_t& bytes)
    : config_(config), ring_((config.window + config.steps_per_frame + kPageRows - 1) / kPageRows), input_proj_(weights.input_proj, stream, bytes),
      output_proj_(weights.output_proj, stream, bytes),
      stack_({config.d_model, config.n_head, config.head_dim, config.d_ff, eps, config.rope_base, true}, tensors_of(weights.layers), stream, bytes) {}

template <class T>
void CodecStageRunner<T>::reserve(int streams, cudaStream_t stream) {
  const int rows = streams * config_.steps_per_frame;
  stack_.reserve(rows, stream);
  in_.reserve(static_cast<size_t>(rows) * ld_in(), stream);
  out_.reserve(static_cast<size_t>(rows) * config_.out_dim, stream);
}

template <class T>
void CodecStageRunner<T>::run_joined(const StreamRef* streams, int count, cudaStream_t stream) const {
  multiply<T>(stream, input_proj_.packed(), in_.data(), ld_in(), count * config_.steps_per_frame, StoreFloat{stack_.x(), stack_.ldx(), nullptr});
  run(streams, count, stream);
}

template <class T>
void CodecStageRunner<T>::run_split(const float* from, int ld, const StreamRef* streams, int count, cudaStream_t stream) const {
  multiply_gathered<T>(stream, input_proj_.packed(), from, ld, count * config_.steps_per_frame, config_.patch, {in_.data(), ld_in()}, StoreFloat{stack_.x(), stack_.ldx(), nullptr});
  run(streams, count, stream);
}

template <class T>
void CodecStageRunner<T>::run(const StreamRef* streams, int count, cudaStream_t stream) const {
  const int m = count * config_.steps_per_frame, tile = largest_tile<T>(config_.steps_per_frame);
  stack_.run({Rows(streams, config_.steps_per_frame, config_.window, ring_), m, false, false, {nullptr, tile}, m / tile}, stream);
  multiply_gathered<T>(stream, output_proj_.packed(), stack_.x(), stack_.ldx(), m, 1, stack_.scratch(), StoreFloat{out_.data(), config_.out_dim, nullptr});
}

template <class T>
class CodecHalf<T>::State final : public CodecStream {
 public:
  State(CodecHalf& half, int given_slot) : half_(half), slot(given_slot) {
    std::vector<void*> table;
    for (size_t s = 0; s < half.stages_.size(); s++)
      for (int i = 0; i < half.stages_[s]->ring(); i++) {
        pages.push_back(half.pools_[s]->take());
        table.push_back(pages.back()->data());
        size += half.pools_[s]->page_bytes();
      }
    check(cudaMemcpyAsync(half.page_table_.data() + static_cast<size_t>(slot) * half.table_pages_, table.data(), table.size() * sizeof(void*),
                          cudaMemcpyHostToDevice, half.stream_), "a copy to the GPU");
    check(cudaStreamSynchronize(half.stream_), "a copy to the GPU");
  }
  ~State() override {
    if (slot > 0) half_.slots_.give_back(slot);
  }
  size_t bytes() const override { return size; }

 private:
  CodecHalf& half_;

 public:
  const int slot;
  std::vector<std::shared_ptr<PagePool::Page>> pages;
  size_t size = 0;
  int64_t frames = 0;  // done so far
};

template <class T>
CodecHalf<T>::CodecHalf(const std::vector<CodecStage>& stages, const std::vector<CodecStageWeights>& weights, float eps, int slots, cudaStream_t stream, size_t& bytes)
    : slots_(slots), stream_(stream) {
  for (size_t s = 0; s < stages.size(); s++) {
    stages_.push_back(std::make_unique<CodecStageRunner<T>>(stages[s], weights[s], eps, stream, bytes));
    pools_.push_back(std::make_unique<PagePool>(stages_[s]->page_bytes(), stream));
    table_pages_ += stages_[s]->ring();
  }
  page_table_ = DeviceBuffer<void*>(static_cast<size_t>(slots) * table_pages_);
  nobody_ = std::make_unique<State>(*this, 0);
}

template <class T>
std::unique_ptr<CodecStream> CodecHalf<T>::create() {
  const int slot = slots_.take();
  try {
    return std::make_unique<State>(*this, slot);
  } catch (...) {
    slots_.give_back(slot);
    throw;
  }
}

template <class T>
void CodecHalf<T>::reserve(int streams, cudaStream_t stream) {
  if (streams <= room_) return;
  for (const auto& stage : stages_) stage->reserve(streams, stream);
  refs_ = Mirror<StreamRef>(stages_.size() * static_cast<size_t>(streams));
  room_ = streams;
}

template <class T>
void CodecHalf<T>::begin(const std::vector<CodecStream*>& streams, int count) {
  size_t offset = 0;
  for (size_t s = 0; s < stages_.size(); s++) {
    for (int i = 0; i < count; i++) {
      const State& state = i < static_cast<int>(streams.size()) ? static_cast<const State&>(*streams[static_cast<size_t>(i)]) : *nobody_;
      refs_.host[s * static_cast<size_t>(room_) + static_cast<size_t>(i)] = {page_table_.data() + static_cast<size_t>(state.slot) * table_pages_ + offset, state.frames};
    }
    offset += static_cast<size_t>(stages_[s]->ring());
  }
}

template <class T>
void CodecHalf<T>::advance(CodecStream& stream) {
  static_cast<State&>(stream).frames++;
}

template <class T>
CudaCodec<T>::CudaCodec(int device, const CodecConfig& config, const CodecWeights& weights)
    : device_(device), config_(config), weights_(weights), stream_(device), decoder_(config.decoder, weights.decoder, config.layer_norm_eps, kDecoderSlots, stream_, weight_bytes_) {
  decoder_.reserve(kMaxStreams, stream_);
  codes_ = Mirror<int>(static_cast<size_t>(kMaxStreams) * config.n_codebooks);
  books_ = Mirror<int>(kMaxStreams);
  latent_ = DeviceBuffer<float>(static_cast<size_t>(kMaxStreams) * config.code_dim);
  pcm_.host = PinnedBuffer<float>(static_cast<size_t>(kMaxStreams) * config.frame_samples * config.channels);
  latent_bias_ = to_device(weights.quantizer_out.bias, stream_);
  make_tables();
  each_bucket(kMaxStreams, [&](int n) { graphs_.prepare(n, stream_, [&] { queue_decode(n); }); });
  stream_.wait();
}

template <class T>
CudaCodec<T>::~CudaCodec() = default;

// Each code's entry through its codebook's projection and the quantiser's: a frame's latent is a sum of rows.
template <class T>
void CudaCodec<T>::make_tables() {
  const int size = config_.codebook_size, rvq = config_.rvq_dim, dim = config_.codebook_dim;
  const FoldedLinear& out = weights_.quantizer_out;
  size_t unused = 0;
  const Matrix<float> projection(out.weight.data(), out.rows, out.cols, stream_, unused);
  tables_ = DeviceBuffer<float>(static_cast<size_t>(config_.n_codebooks) * size * config_.code_dim);
  weight_bytes_ += tables_.bytes();
  std::vector<float> rows(static_cast<size_t>(size) * rvq);
  for (int book = 0; book < config_.n_codebooks; book++) {
    const FoldedLinear& linear = weights_.book_out[static_cast<size_t>(book)];
    for (int code = 0; code < size; code++) {
      const float* entry = weights_.books[static_cast<size_t>(book)].data() + static_cast<size_t>(code) * dim;
      for (int i = 0; i < rvq; i++) {
        float sum = linear.bias[static_cast<size_t>(i)];
        for (int j = 0; j < dim; j++) sum += entry[j] * linear.weight[static_cast<size_t>(i) * dim + j];
        rows[static_cast<size_t>(code) * rvq + i] = sum;
      }
    }
    const DeviceBuffer<float> entries = to_device(rows, stream_);
    multiply<float>(stream_, projection.packed(), entries.data(), rvq, size,
                    StoreFloat{tables_.data() + static_cast<size_t>(book) * size * config_.code_dim, config_.code_dim, nullptr});
    stream_.wait();
  }
}

template <class T>
std::unique_ptr<CodecStream> CudaCodec<T>::create_decoder() {
  use_device(device_);
  return decoder_.create();
}

template <class T>
std::unique_ptr<CodecStream> CudaCodec<T>::create_encoder() {
  use_device(device_);
  prepare_encoder();
  return encoder_->create();
}

template <class T>
void CudaCodec<T>::prepare_encoder() {
  if (encoder_) return;
  size_t bytes = 0;
  auto quantiser = std::make_unique<Quantiser>();
  const FoldedLinear& in = weights_.quantizer_in;
  quantiser->in = Matrix<float>(in.weight.data(), in.rows, in.cols, stream_, bytes);
  quantiser->in_bias = to_device(in.bias, stream_);
  for (size_t b = 0; b < weights_.books.size(); b++) {
    const std::vector<float> unit = unit_entries(weights_.books[b], config_.codebook_dim);
    const FoldedLinear &book_in = weights_.book_in[b], &book_out = weights_.book_out[b];
    quantiser->books.push_back({to_device(book_in.weight, stream_), to_device(book_in.bias, stream_), to_device(unit, stream_),
                                to_device(weights_.books[b], stream_), to_device(book_out.weight, stream_), to_device(book_out.bias, stream_)});
  }
  quantiser->latent = DeviceBuffer<float>(static_cast<size_t>(kMaxEncoders) * config_.code_dim);
  quantiser->residual = DeviceBuffer<float>(static_cast<size_t>(kMaxEncoders) * config_.rvq_dim);
  quantiser->pcm = Mirror<float>(static_cast<size_t>(kMaxEncoders) * config_.frame_samples * config_.channels);
  quantiser->hidden.host = PinnedBuffer<float>(static_cast<size_t>(kMaxEncoders) * config_.code_dim);
  quantiser->codes = Mirror<int>(static_cast<size_t>(kMaxEncoders) * config_.n_codebooks);
  auto encoder = std::make_unique<CodecHalf<float>>(config_.encoder, weights_.encoder, config_.layer_norm_eps, kEncoderSlots, stream_, bytes);
  encoder->reserve(kMaxEncoders, stream_);
  quantiser_ = std::move(quantiser);
  encoder_ = std::move(encoder);
  weight_bytes_ += bytes;
}

template <class T>
void CudaCodec<T>::dequantize(const int32_t* codes, int n_frames, int n_books, float* latent) {
  use_device(device_);
  check_codes(config_, codes, n_frames, n_books);
  for (int at = 0; at < n_frames; at += kMaxStreams) {
    const int m = std::min(kMaxStreams, n_frames - at);
    for (int i = 0; i < m; i++) {
      books_.host[static_cast<size_t>(i)] = n_books;
      std::copy_n(codes + static_cast<size_t>(at + i) * n_books, n_books, &codes_.host[static_cast<size_t>(i) * config_.n_codebooks]);
    }
    codes_.upload(static_cast<size_t>(m) * config_.n_codebooks, stream_);
    books_.upload(static_cast<size_t>(m), stream_);
    sum_codes(stream_, codes_.device.data(), config_.n_codebooks, books_.device.data(), m, tables_.data(), config_.codebook_size, config_.code_dim, latent_bias_.data(), latent_.data(), config_.code_dim);
    check(cudaMemcpyAsync(latent + static_cast<size_t>(at) * config_.code_dim, latent_.data(), static_cast<size_t>(m) * config_.code_dim * 4, cudaMemcpyDeviceToHost, stream_), "a copy from the GPU");
    stream_.wait();
  }
}

template <class T>
void CudaCodec<T>::check_items(std::span<DecodeItem> items) const {
  for (const DecodeItem& item : items) check_codes(config_, item.codes, item.n_frames, item.n_books);
}

template <class T>
void CudaCodec<T>::decode(std::span<DecodeItem> items) {
  use_device(device_);
  check_items(items);
  by_frames(items, kMaxStreams, [&](const std::vector<DecodeItem*>& batch, int frame) {
    begin_frame(batch, frame);
    finish_frame(batch, frame);
  });
}

// What goes beside is the usual case, a frame of each stream; the rest is done at once.
template <class T>
void CudaCodec<T>::begin_decode(std::span<DecodeItem> items) {
  if (items.size() > kMaxStreams || std::any_of(items.begin(), items.end(), [](const DecodeItem& item) { return item.n_frames != 1; })) return decode(items);
  use_device(device_);
  check_items(items);
  std::vector<DecodeItem*> batch;
  for (DecodeItem& item : items) batch.push_back(&item);
  try {
    begin_frame(batch, 0);
  } catch (...) {
    cudaStreamSynchronize(stream_);  // part of it may be queued, and the streams may go
    throw;
  }
  under_way_.assign(items.begin(), items.end());
}

template <class T>
void CudaCodec<T>::finish_decode() {
  if (under_way_.empty()) return;
  use_device(device_);
  std::vector<DecodeItem> items = std::exchange(under_way_, {});
  std::vector<DecodeItem*> batch;
  for (DecodeItem& item : items) batch.push_back(&item);
  finish_frame(batch, 0);
}

template <class T>
void CudaCodec<T>::queue_decode(int n) {
  const auto places = static_cast<size_t>(n);
  copy_words(stream_, {{decoder_.refs(), codes_.up(places * static_cast<size_t>(config_.n_codebooks)), books_.up(places), {}}});
  sum_codes(stream_, codes_.device.data(), config_.n_codebooks, books_.device.data(), n, tables_.data(), config_.codebook_size, config_.code_dim, latent_bias_.data(), latent_.data(), config_.code_dim);
  const float* from = latent_.data();
  int ld = config_.code_dim;
  for (size_t s = 0; s < decoder_.stages().size(); s++) {
    const CodecStageRunner<T>& stage = *decoder_.stages()[s];
    stage.run_split(from, ld, decoder_.streams(s), n, stream_);
    from = stage.output();
    ld = stage.config().out_dim;
  }
}

template <class T>
void CudaCodec<T>::begin_frame(const std::vector<DecodeItem*>& items, int frame) {
  const int count = static_cast<int>(items.size()), n = bucket_of(count, kMaxStreams), books = config_.n_codebooks;
  std::vector<CodecStream*> streams;
  for (const DecodeItem* item : items) streams.push_back(item->stream);
  decoder_.begin(streams, n);
  for (int i = 0; i < n; i++) {
    const bool real = i < count;
    books_.host[static_cast<size_t>(i)] = real ? items[static_cast<size_t>(i)]->n_books : 0;
    if (real) std::copy_n(items[static_cast<size_t>(i)]->codes + static_cast<size_t>(frame) * items[static_cast<size_t>(i)]->n_books, items[static_cast<size_t>(i)]->n_books, &codes_.host[static_cast<size_t>(i) * books]);
  }
  graphs_.run(n, stream_, [&] { queue_decode(n); });
  const size_t samples = static_cast<size_t>(config_.frame_samples) * config_.channels;
  check(cudaMemcpyAsync(pcm_.host.data(), decoder_.stages().back()->output(), static_cast<size_t>(count) * samples * 4, cudaMemcpyDeviceToHost, stream_), "a copy from the GPU");
}

template <class T>
void CudaCodec<T>::finish_frame(const std::vector<DecodeItem*>& items, int frame) {
  stream_.wait();
  const size_t samples = static_cast<size_t>(config_.frame_samples) * config_.channels;
  for (size_t i = 0; i < items.size(); i++) {
    std::memcpy(items[i]->pcm + static_cast<size_t>(frame) * samples, pcm_.host.data() + i * samples, samples * 4);
    CodecHalf<T>::advance(*items[i]->stream);
  }
}

template <class T>
void CudaCodec<T>::encode(std::span<EncodeItem> items) {
  use_device(device_);
  prepare_encoder();
  by_frames(items, kMaxEncoders, [&](const std::vector<EncodeItem*>& batch, int frame) { encode_frame(batch, frame); });
}

template <class T>
void CudaCodec<T>::encode_frame(const std::vector<EncodeItem*>& items, int frame) {
  const int n = static_cast<int>(items.size());
  Quantiser& quantiser = *quantiser_;
  const size_t samples = static_cast<size_t>(config_.frame_samples) * config_.channels;
  std::vector<CodecStream*> streams;
  for (int i = 0; i < n; i++) {
    streams.push_back(items[static_cast<size_t>(i)]->stream);
    std::memcpy(quantiser.pcm.host.data() + static_cast<size_t>(i) * samples, items[static_cast<size_t>(i)]->pcm + static_cast<size_t>(frame) * samples, samples * 4);
  }
  encoder_->begin(streams, n);
  copy_words(stream_, {{encoder_->refs(), {}, {}, {}}});
  quantiser.pcm.upload(static_cast<size_t>(n) * samples, stream_);
  const float* from = quantiser.pcm.device.data();
  int ld = 1;  // samples, patched like the rows of later stages
  for (size_t s = 0; s < encoder_->stages().size(); s++) {
    const CodecStageRunner<float>& stage = *encoder_->stages()[s];
    const int patch = stage.config().patch;
    join_rows(stream_, from, ld, n * stage.config().steps_per_frame, stage.config().in_dim / patch, patch, stage.input(), stage.ld_in());
    stage.run_joined(encoder_->streams(s), n, stream_);
    from = stage.output();
    ld = stage.config().out_dim;
  }
  join_rows(stream_, from, ld, n, config_.code_dim / config_.encoder_final_patch, config_.encoder_final_patch, quantiser.latent.data(), config_.code_dim);
  multiply<float>(stream_, quantiser.in.packed(), quantiser.latent.data(), config_.code_dim, n, StoreFloat{quantiser.residual.data(), config_.rvq_dim, quantiser.in_bias.data()});
  for (int book = 0; book < config_.n_codebooks; book++) {
    const auto& tables = quantiser.books[static_cast<size_t>(book)];
    quantise(stream_, {quantiser.residual.data(), config_.rvq_dim, config_.rvq_dim, config_.codebook_dim, config_.codebook_size, book, config_.n_codebooks,
                       tables.in_weight.data(), tables.in_bias.data(), tables.unit.data(), tables.entries.data(), tables.out_weight.data(), tables.out_bias.data(),
                       quantiser.codes.device.data()}, n);
  }
  quantiser.codes.download(static_cast<size_t>(n) * config_.n_codebooks, stream_);
  check(cudaMemcpyAsync(quantiser.hidden.host.data(), quantiser.latent.data(), static_cast<size_t>(n) * config_.code_dim * 4, cudaMemcpyDeviceToHost, stream_), "a copy from the GPU");
  stream_.wait();
  for (int i = 0; i < n; i++) {
    EncodeItem& item = *items[static_cast<size_t>(i)];
    std::copy_n(quantiser.codes.host.data() + static_cast<size_t>(i) * config_.n_codebooks, config_.n_codebooks, item.codes + static_cast<size_t>(frame) * config_.n_codebooks);
    if (item.hidden) std::memcpy(item.hidden + static_cast<size_t>(frame) * config_.code_dim, quantiser.hidden.host.data() + static_cast<size_t>(i) * config_.code_dim, static_cast<size_t>(config_.code_dim) * 4);
    CodecHalf<float>::advance(*item.stream);
  }
}

template class CodecStageRunner<float>;
template class CodecStageRunner<bf16>;
template class CodecHalf<float>;
template class CodecHalf<bf16>;
template class CudaCodec<float>;
template class CudaCodec<bf16>;

}  // namespace sonant::cuda
