// The language model on a GPU. A frame is a recorded piece of work: the rows of the frames before
// through the global transformer, then the local one with every decision and draw; the host only hands in
// what to do and takes the codes. When some of a batch have no frame before this one, the two halves are separate. Sequences keep their state in tables by slot, so that nothing depends
// on the place in a batch. Model specification, sections 3 to 5.
#pragma once

#include <memory>
#include <vector>

#include "backend/backend.h"
#include "backend/cuda/graphs.h"
#include "backend/cuda/slots.h"
#include "backend/cuda/stack.h"
#include "model/weights.h"

namespace sonant::cuda {

// Rows of a pass of the global transformer, and items of a step.
constexpr int kMaxRows = 512;

template <class T>
class CudaLanguageModel final : public LanguageModel {
 public:
  // On the GPU of that index.
  CudaLanguageModel(int device, const LmConfig& config, const LmWeights& weights);
  ~CudaLanguageModel() override;

  const LmConfig& config() const override { return config_; }
  std::unique_ptr<LmSequence> create_sequence(std::shared_ptr<const LmPrefix> prefix, int max_rows) override;
  void prefill(std::span<PrefillItem> items) override;
  std::shared_ptr<const LmPrefix> freeze(LmSequence& sequence) override;
  void step(std::span<FrameItem> items) override;
  size_t weight_bytes() const { return weight_bytes_; }

 private:
  using Page = std::shared_ptr<PagePool::Page>;
  class Sequence;
  class Prefix;
  struct GlobalRow {  // a row on its way through the global transformer
    Sequence* sequence;
    const int32_t* ids;  // [1 + n_vq]
    float* hidden;       // optional out, host memory
  };

  void make_tables();
  void reserve_rows(Sequence& sequence, int rows);
  void set_page(int slot, int index, const Page& page);
  int describe_rows(const std::vector<GlobalRow>& batch, int m);
  void run_prompt(const std::vector<GlobalRow>& batch);
  void run_frames(std::span<FrameItem> items);
  void queue_global(int m, const Pass& pass);
  void queue_frame_rows(int m);
  void queue_local(int n, int books);
  FrameRef describe(const FrameItem& item) const;
  Embedding<T> embedding() const { return {text_embedding_.data(), audio_tables_.data(), config_.n_vq, config_.audio_pad_id, config_.d_model}; }
  static int local_key(int n, int books) { return n * 64 + books; }

  const int device_;
  const LmConfig config_;
  Stream stream_;
  size_t weight_bytes_ = 0;
  Stack<T> global_, local_;
  DeviceBuffer<T> text_embedding_;
  std::vector<DeviceBuffer<T>> audio_embeddings_;
  DeviceBuffer<const T*> audio_tables_;  // of all codebooks
  std::vector<Matrix<T>> heads_;
  std::vector<DeviceBuffer<float>> local_qkv_;  // of each codebook's entries; empty when the local transformer has several layers
  DeviceBuffer<float> norm_w_, norm_b_, local_norm_w_, local_norm_b_, continue_row_, stop_row_;

  // What sequences own, by slot.
  Slots slots_;
  PagePool pages_;
  Page nobody_;  // of slot 0
  const int max_pages_, history_words_;
  DeviceBuffer<void*> page_table_;     // [slot][max_pages]
  DeviceBuffer<float> hidden_;         // [slot][d]: of the last row, after the final norm
  DeviceBuffer<uint32_t> history_;     // [slot][n_vq][words]

  // A pass's rows.
  Mirror<StreamRef> streams_;
  Mirror<int> ids_, places_;
  Mirror<int2> tiles_;
  Mirror<float> row_hidden_;  // made when asked for

  // A step's items.
  Mirror<FrameRef> items_;
  Mirror<FrameState> states_;
  Mirror<int> codes_;
  Mirror<float> text_logits_;
  DeviceBuffer<float> logits_;                  // [book][n][widest]
  DeviceBuffer<std::byte> local_cache_;         // a page for each place
  DeviceBuffer<void*> local_pages_;             // [place]
  DeviceBuffer<StreamRef> local_streams_;       // [position][place]
  Graphs global_graphs_, local_graphs_, frame_graphs_;  // rows of frames; their decisions and codes; both, one behind the other
};

}  // namespace sonant::cuda
