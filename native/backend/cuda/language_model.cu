#include "backend/cuda/language_model.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "backend/contract.h"
#include "backend/cuda/language_model_state.h"
#include "model/error.h"

namespace sonant::cuda {

namespace {

constexpr int kSlots = 4096;    // sequences that may exist, and one for nobody

std::vector<BlockTensors> tensors_of(const std::vector<LmLayerWeights>& layers) {
  std::vector<BlockTensors> blocks;
  for (const LmLayerWeights& layer : layers)
    blocks.push_back({layer.ln1_w, layer.ln1_b, layer.ln2_w, layer.ln2_b, layer.attn_w, layer.proj_w, layer.fc_in_w, layer.fc_out_w, layer.attn_b,
                      layer.proj_b, layer.fc_in_b, layer.fc_out_b, {}, {}});
  return blocks;
}

StackShape shape_of(const LmConfig& config) {
  return {config.d_model, config.n_head, config.head_dim, config.d_ff, config.layer_norm_eps, config.rope_base, false};
}

DeviceBuffer<float> upload_row(const Tensor& table, int row, cudaStream_t stream) {
  std::vector<float> values(static_cast<size_t>(table.cols()));
  read_rows_f32(table, row, 1, values.data());
  return to_device(values, stream);
}

}  // namespace

template <class T>
CudaLanguageModel<T>::CudaLanguageModel(int device, const LmConfig& config, const LmWeights& weights)
    : device_(device), config_(config), stream_(device), global_(shape_of(config), tensors_of(weights.global_layers), stream_, weight_bytes_),
      local_(shape_of(config), tensors_of(weights.local_layers), stream_, weight_bytes_), slots_(kSlots), pages_(global_.page_bytes(), stream_),
      max_pages_((config.max_positions + kPageRows - 1) / kPageRows), history_words_((config.max_codebook() + 31) / 32) {
  text_embedding_ = upload_table<T>(weights.wte, stream_, weight_bytes_);
  std::vector<const T*> tables;
  for (const Tensor& embedding : weights.audio_embeddings) {
    audio_embeddings_.push_back(upload_table<T>(embedding, stream_, weight_bytes_));
    tables.push_back(audio_embeddings_.back().data());
    heads_.emplace_back(embedding, stream_, weight_bytes_);
  }
  audio_tables_ = to_device(tables, stream_);
  norm_w_ = upload_vector(weights.ln_f_w, stream_, weight_bytes_), norm_b_ = upload_vector(weights.ln_f_b, stream_, weight_bytes_);
  local_norm_w_ = upload_vector(weights.local_ln_f_w, stream_, weight_bytes_), local_norm_b_ = upload_vector(weights.local_ln_f_b, stream_, weight_bytes_);
  continue_row_ = upload_row(weights.wte, config.assistant_slot_id, stream_), stop_row_ = upload_row(weights.wte, config.audio_end_id, stream_);

  const int d = config.d_model, n_vq = config.n_vq;
  page_table_ = DeviceBuffer<void*>(static_cast<size_t>(kSlots) * max_pages_);
  hidden_ = DeviceBuffer<float>(static_cast<size_t>(kSlots) * d);
  history_ = DeviceBuffer<uint32_t>(static_cast<size_t>(kSlots) * n_vq * history_words_);
  hidden_.zero(stream_), history_.zero(stream_);
  nobody_ = pages_.take();
  set_page(0, 0, nobody_);
  streams_ = Mirror<StreamRef>(kMaxRows);
  ids_ = Mirror<int>(static_cast<size_t>(kMaxRows) * config.row_width());
  places_ = Mirror<int>(kMaxRows);
  tiles_ = Mirror<int2>(kMaxRows);
  items_ = Mirror<FrameRef>(kMaxRows);
  states_ = Mirror<FrameState>(kMaxRows);
  codes_ = Mirror<int>(static_cast<size_t>(kMaxRows) * n_vq);
  text_logits_ = Mirror<float>(2 * kMaxRows);
  logits_ = DeviceBuffer<float>(static_cast<size_t>(n_vq) * kMaxRows * config.max_codebook());
  global_.reserve(kMaxRows, stream_), local_.reserve(2 * kMaxRows, stream_);

  local_cache_ = DeviceBuffer<std::byte>(kMaxRows * local_.page_bytes());
  local_cache_.zero(stream_);
  if (n_vq + 1 > kPageRows) throw Error("unsupported", "The CUDA backend takes up to 31 codebooks, not " + std::to_string(n_vq) + ".");
  std::vector<void*> pages;
  for (int place = 0; place < kMaxRows; place++) pages.push_back(local_cache_.data() + place * local_.page_bytes());
  local_pages_ = to_device(pages, stream_);
  std::vector<StreamRef> streams;
  for (int position = 0; position <= n_vq; position++)
    for (int place = 0; place < kMaxRows; place++) streams.push_back({local_pages_.data() + place, position});
  local_streams_ = to_device(streams, stream_);
  if (config.local_layers == 1) make_tables();
  // Nobody who comes with company waits for it to be recorded.
  each_bucket(kMaxRows, [&](int n) {
    global_graphs_.prepare(n, stream_, [&] { queue_frame_rows(n); });
    local_graphs_.prepare(local_key(n, config.n_vq), stream_, [&] { queue_local(n, config.n_vq); });
    frame_graphs_.prepare(local_key(n, config.n_vq), stream_, [&] { queue_frame_rows(n), queue_local(n, config.n_vq); });
  });
  stream_.wait();
}

// With one local layer, what its projection makes of a code at its place in the frame is always the same. One matrix less
// for 15 of 16 codes, for 3 d floats an entry.
template <class T>
void CudaLanguageModel<T>::make_tables() {
  const int d = config_.d_model;
  for (int book = 0; book + 1 < config_.n_vq; book++) {
    const int size = config_.codebook_sizes[static_cast<size_t>(book)];
    DeviceBuffer<float> table(static_cast<size_t>(size) * 3 * d);
    for (int at = 0; at < size; at += kMaxRows) {
      const int m = std::min(kMaxRows, size - at);
      expand_rows<T>(stream_, audio_embeddings_[static_cast<size_t>(book)].data() + static_cast<size_t>(at) * d, m, d, local_.x(), d);
      local_.project(m, book + 2, table.data() + static_cast<size_t>(at) * 3 * d, stream_);
    }
    weight_bytes_ += table.bytes();
    local_qkv_.push_back(std::move(table));
  }
  stream_.wait();
}

template <class T>
CudaLanguageModel<T>::~CudaLanguageModel() = default;

template <class T>
void CudaLanguageModel<T>::set_page(int slot, int index, const Page& page) {
  void* data = page->data();
  check(cudaMemcpyAsync(page_table_.data() + static_cast<size_t>(slot) * max_pages_ + index, &data, sizeof data, cudaMemcpyHostToDevice, stream_), "a copy to the GPU");
}

template <class T>
void CudaLanguageModel<T>::reserve_rows(Sequence& sequence, int rows) {
  while (static_cast<int>(sequence.pages.size()) * kPageRows < rows) {
    sequence.pages.push_back(pages_.take());
    set_page(sequence.slot, static_cast<int>(sequence.pages.size()) - 1, sequence.pages.back());
  }
}

template <class T>
std::unique_ptr<LmSequence> CudaLanguageModel<T>::create_sequence(std::shared_ptr<const LmPrefix> prefix, int max_rows) {
  use_device(device_);
  check_capacity(config_, max_rows);
  auto sequence = std::make_unique<Sequence>(*this, max_rows);
  const auto words = static_cast<size_t>(config_.n_vq) * history_words_;
  check(cudaMemsetAsync(history_.data() + sequence->slot * words, 0, words * sizeof(uint32_t), stream_), "clearing memory");
  const auto* shared = static_cast<const Prefix*>(prefix.get());
  if (!shared) return sequence;
  const int full = shared->row_count / kPageRows;
  for (int i = 0; i < static_cast<int>(shared->pages.size()); i++) {
    Page page = shared->pages[static_cast<size_t>(i)];
    if (i >= full) {
      const Page own = pages_.take();
      check(cudaMemcpyAsync(own->data(), page->data(), pages_.page_bytes(), cudaMemcpyDeviceToDevice, stream_), "a copy on the GPU");
      page = own;
    }
    set_page(sequence->slot, i, page);
    sequence->pages.push_back(std::move(page));
  }
  check(cudaMemcpyAsync(hidden_.data() + static_cast<size_t>(sequence->slot) * config_.d_model, shared->hidden.data(), shared->hidden.bytes(),
                        cudaMemcpyDeviceToDevice, stream_), "a copy on the GPU");
  sequence->row_count = shared->row_count;
  return sequence;
}

template <class T>
std::shared_ptr<const LmPrefix> CudaLanguageModel<T>::freeze(LmSequence& sequence) {
  use_device(device_);
  const auto& own = static_cast<Sequence&>(sequence);
  auto prefix = std::make_shared<Prefix>();
  prefix->row_count = own.row_count;
  prefix->hidden = DeviceBuffer<float>(static_cast<size_t>(config_.d_model));
  const size_t used = (static_cast<size_t>(own.row_count) + kPageRows - 1) / kPageRows;
  prefix->pages.assign(own.pages.begin(), own.pages.begin() + static_cast<std::ptrdiff_t>(used));
  if (own.row_count % kPageRows) {  // the sequence goes on writing into its last page
    const Page copy = pages_.take();
    check(cudaMemcpyAsync(copy->data(), prefix->pages.back()->data(), pages_.page_bytes(), cudaMemcpyDeviceToDevice, stream_), "a copy on the GPU");
    prefix->pages.back() = copy;
  }
  check(cudaMemcpyAsync(prefix->hidden.data(), hidden_.data() + static_cast<size_t>(own.slot) * config_.d_model, prefix->hidden.bytes(),
                        cudaMemcpyDeviceToDevice, stream_), "a copy on the GPU");
  prefix->size = prefix->pages.size() * pages_.page_bytes() + prefix->hidden.bytes();
  return prefix;
}

// The embeddings of `m` rows through all blocks, and the last hidden states into their slots.
template <class T>
void CudaLanguageModel<T>::queue_global(int m, const Pass& pass) {
  const int d = config_.d_model;
  const Norm norm{norm_w_.data(), norm_b_.data(), config_.layer_norm_eps};
  embed_rows<T>(stream_, ids_.device.data(), m, embedding(), global_.x(), d);
  global_.run(pass, stream_);
  norm_rows<float>(stream_, global_.x(), d, m, d, norm, hidden_.data(), d, places_.device.data());
}

// Rows on their way: what the host sends of `m` places, those behind the batch's filled up. Rows of one sequence stand together
// and in order. Returns the number of tiles.
template <class T>
int CudaLanguageModel<T>::describe_rows(const std::vector<GlobalRow>& batch, int m) {
  const int count = static_cast<int>(batch.size()), width = config_.row_width();
  int n_tiles = 0;
  for (int i = 0; i < count; i++) {
    Sequence& sequence = *batch[static_cast<size_t>(i)].sequence;
    const bool last = i + 1 == count || batch[static_cast<size_t>(i) + 1].sequence != &sequence;
    reserve_rows(sequence, sequence.row_count + 1);
    streams_.host[i] = {page_table_.data() + static_cast<size_t>(sequence.slot) * max_pages_, sequence.row_count++};
    places_.host[i] = last ? sequence.slot : -1;
    std::memcpy(&ids_.host[static_cast<size_t>(i) * width], batch[static_cast<size_t>(i)].ids, static_cast<size_t>(width) * 4);
    const bool joins = n_tiles > 0 && i > 0 && batch[static_cast<size_t>(i) - 1].sequence == &sequence && tiles_.host[n_tiles - 1].y < kTileSize<T>;
    if (joins) tiles_.host[n_tiles - 1].y++;
    else tiles_.host[n_tiles++] = {i, 1};
  }
  for (int i = count; i < m; i++) {
    streams_.host[i] = {page_table_.data(), 0};
    places_.host[i] = -1;
    int* ids = &ids_.host[static_cast<size_t>(i) * width];
    ids[0] = config_.pad_id;
    std::fill(ids + 1, ids + width, config_.audio_pad_id);
  }
  return n_tiles;
}

template <class T>
void CudaLanguageModel<T>::run_prompt(const std::vector<GlobalRow>& batch) {
  const int m = static_cast<int>(batch.size()), d = config_.d_model, n_tiles = describe_rows(batch, m);
  const auto rows = static_cast<size_t>(m);
  copy_words(stream_, {{streams_.up(rows), places_.up(rows), ids_.up(rows * static_cast<size_t>(config_.row_width())), tiles_.up(static_cast<size_t>(n_tiles))}});
  queue_global(m, {Rows(streams_.device.data(), 1), m, false, false, {tiles_.device.data(), kTileSize<T>}, n_tiles});
  bool wants_hidden = false;
  for (const GlobalRow& row : batch) wants_hidden |= row.hidden != nullptr;
  if (wants_hidden) {
    if (row_hidden_.device.size() == 0) row_hidden_ = Mirror<float>(static_cast<size_t>(kMaxRows) * d);
    norm_rows<float>(stream_, global_.x(), d, m, d, {norm_w_.data(), norm_b_.data(), config_.layer_norm_eps}, row_hidden_.device.data(), d, nullptr);
    row_hidden_.download(rows * d, stream_);
  }
  stream_.wait();  // the host's buffers are written again for the next pass
  for (int i = 0; i < m; i++)
    if (float* hidden = batch[static_cast<size_t>(i)].hidden) std::memcpy(hidden, &row_hidden_.host[static_cast<size_t>(i) * d], static_cast<size_t>(d) * 4);
}

// One row a sequence, as after a frame.
template <class T>
void CudaLanguageModel<T>::queue_frame_rows(int m) {
  const auto rows = static_cast<size_t>(m);
  copy_words(stream_, {{streams_.up(rows), places_.up(rows), ids_.up(rows * static_cast<size_t>(config_.row_width())), {}}});
  queue_global(m, {Rows(streams_.device.data(), 1), m, false, false, {}, m});
}

template <class T>
void CudaLanguageModel<T>::prefill(std::span<PrefillItem> items) {
  use_device(device_);
  const int width = config_.row_width();
  for (const PrefillItem& item : items) check_prompt(config_, item, static_cast<const Sequence&>(*item.sequence).max_rows);
  std::vector<GlobalRow> batch;
  for (const PrefillItem& item : items)
    for (int i = 0; i < item.n_rows; i++) {
      float* hidden = item.hidden ? item.hidden + static_cast<size_t>(i) * config_.d_model : nullptr;
      batch.push_back({static_cast<Sequence*>(item.sequence), item.rows + static_cast<size_t>(i) * width, hidden});
      if (batch.size() == kMaxRows) run_prompt(batch), batch.clear();
    }
  if (!batch.empty()) run_prompt(batch);
}

template class CudaLanguageModel<float>;
template class CudaLanguageModel<bf16>;

}  // namespace sonant::cuda
