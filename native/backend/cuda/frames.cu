// Frames of the CUDA language model: the last frames' rows through the global transformer, then decisions and codes.
#include <algorithm>

#include "backend/contract.h"
#include "backend/cuda/language_model_state.h"

namespace sonant::cuda {

template <class T>
void CudaLanguageModel<T>::step(std::span<FrameItem> items) {
  use_device(device_);
  for (const FrameItem& item : items) {
    const auto& sequence = static_cast<const Sequence&>(*item.sequence);
    check_step(sequence, !sequence.pending.empty(), sequence.max_rows);
  }
  for (size_t at = 0; at < items.size(); at += kMaxRows) {
    const auto part = items.subspan(at, std::min<size_t>(kMaxRows, items.size() - at));
    run_frames(part);
  }
}

template <class T>
FrameRef CudaLanguageModel<T>::describe(const FrameItem& item) const {
  const SamplingParams& sampling = *item.sampling;
  const auto& sequence = static_cast<const Sequence&>(*item.sequence);
  FrameRef ref{};
  ref.slot = sequence.slot;
  ref.frame = static_cast<uint32_t>(sequence.frame_count);
  ref.segment = sampling.segment;
  ref.seed_low = static_cast<uint32_t>(sampling.seed), ref.seed_high = static_cast<uint32_t>(sampling.seed >> 32);
  ref.n_vq = sampling.n_vq == 0 ? config_.n_vq : std::min(sampling.n_vq, config_.n_vq);
  ref.do_sample = sampling.do_sample, ref.force_continue = item.force_continue;
  ref.text_temperature = sampling.text_temperature, ref.text_top_p = sampling.text_top_p, ref.text_top_k = sampling.text_top_k;
  ref.audio_temperature = sampling.audio_temperature, ref.audio_top_p = sampling.audio_top_p, ref.audio_top_k = sampling.audio_top_k;
  ref.repetition_penalty = sampling.repetition_penalty;
  return ref;
}

// Decisions and codes of `n` items, the deepest of which draws `books` codebooks.
template <class T>
void CudaLanguageModel<T>::queue_local(int n, int books) {
  const int d = config_.d_model, n_vq = config_.n_vq, ldx = local_.ldx(), widest = config_.max_codebook();
  const Norm norm{local_norm_w_.data(), local_norm_b_.data(), config_.layer_norm_eps};
  const auto pass_at = [&](int position, int steps) {
    const Rows rows(local_streams_.data() + static_cast<size_t>(position) * kMaxRows, steps);
    return Pass{rows, n * steps, true, position > 0 && !local_qkv_.empty(), {}, 0};
  };
  const DecideArgs decision{local_.x(), ldx, 2, n, d, norm, continue_row_.data(), stop_row_.data(), items_.device.data(), states_.device.data(),
                            text_logits_.device.data(), codes_.device.data(), n_vq, config_.audio_pad_id};
  const auto draw_of = [&](int book) {
    const auto at = static_cast<size_t>(book);
    const bool last = book + 1 == books;
    return DrawArgs{logits_.data() + at * kMaxRows * widest, widest, config_.codebook_sizes[at], book, n_vq, config_.audio_pad_id, items_.device.data(),
                    states_.device.data(), history_.data(), history_words_, codes_.device.data(), audio_embeddings_[at].data(), last ? nullptr : local_.x(), ldx, d,
                    last || local_qkv_.empty() ? nullptr : local_qkv_[at].data(), local_.q(), local_pages_.data(), local_.shape().cache(), book + 2};
  };
  const auto places = static_cast<size_t>(n);
  copy_words(stream_, {{items_.up(places), {}, {}, {}}});
  begin_local(stream_, items_.device.data(), n, hidden_.data(), continue_row_.data(), d, local_.x(), ldx);
  // Positions 0 and 1 go together: position 1 is the chosen text id, the same whenever a frame is made at
  // all, and the work is dropped when the decision is to stop.
  local_.run(pass_at(0, 2), stream_);
  decide(stream_, decision);
  for (int book = 0; book < books; book++) {
    const int stride = book == 0 ? 2 : 1;  // after the first pass, every second row is a last position
    const DrawArgs args = draw_of(book);
    multiply_normed<T>(stream_, heads_[static_cast<size_t>(book)].packed(), local_.x() + (stride - 1) * ldx, stride * ldx, n, norm, local_.scratch(),
                       StoreFloat{args.logits, widest, nullptr});
    draw<T>(stream_, args, n);
    if (args.x) local_.run(pass_at(book + 2, 1), stream_);
  }
  copy_words(stream_, {{states_.down(places), codes_.down(places * static_cast<size_t>(n_vq)), text_logits_.down(2 * places), {}}});
}

template <class T>
void CudaLanguageModel<T>::run_frames(std::span<FrameItem> items) {
  const int count = static_cast<int>(items.size()), n = bucket_of(count, kMaxRows), n_vq = config_.n_vq, d = config_.d_model;
  std::vector<GlobalRow> batch;
  for (FrameItem& item : items) {
    auto& sequence = static_cast<Sequence&>(*item.sequence);
    if (!sequence.pending.empty()) batch.push_back({&sequence, sequence.pending.data(), nullptr});
  }
  const int m = batch.empty() ? 0 : bucket_of(static_cast<int>(batch.size()), kMaxRows);
  if (m > 0) describe_rows(batch, m);
  for (FrameItem& item : items) static_cast<Sequence&>(*item.sequence).pending.clear();
  int books = 0;
  for (int i = 0; i < count; i++) {
    items_.host[i] = describe(items[static_cast<size_t>(i)]);
    books = std::max(books, items_.host[i].n_vq);
  }
  for (int i = count; i < n; i++) {
    items_.host[i] = FrameRef{};
    items_.host[i].force_continue = 1;
  }
  if (m == n) {
    frame_graphs_.run(local_key(n, books), stream_, [&] { queue_frame_rows(n), queue_local(n, books); });
  } else {
    if (m > 0) global_graphs_.run(m, stream_, [&] { queue_frame_rows(m); });
    local_graphs_.run(local_key(n, books), stream_, [&] { queue_local(n, books); });
  }
  stream_.wait();

  for (int i = 0; i < count; i++) {
    FrameItem& item = items[static_cast<size_t>(i)];
    auto& sequence = static_cast<Sequence&>(*item.sequence);
    const FrameState& state = states_.host[i];
    const int widest = config_.max_codebook();
    if (item.hidden) check(cudaMemcpyAsync(item.hidden, hidden_.data() + static_cast<size_t>(sequence.slot) * d, static_cast<size_t>(d) * 4, cudaMemcpyDeviceToHost, stream_), "a copy from the GPU");
    if (item.text_logits) std::copy_n(&text_logits_.host[2 * static_cast<size_t>(i)], 2, item.text_logits);
    if (item.audio_logits)
      for (int book = 0; book < books; book++)
        check(cudaMemcpyAsync(item.audio_logits + static_cast<size_t>(book) * widest, logits_.data() + (static_cast<size_t>(book) * kMaxRows + static_cast<size_t>(i)) * widest,
                              static_cast<size_t>(config_.codebook_sizes[static_cast<size_t>(book)]) * 4, cudaMemcpyDeviceToHost, stream_), "a copy from the GPU");
    if (item.hidden || item.audio_logits) stream_.wait();
    item.stopped = state.stopped, item.failed = state.failed;
    if (!state.active) continue;
    std::copy_n(&codes_.host[static_cast<size_t>(i) * n_vq], n_vq, item.codes);
    sequence.frame_count++;
    sequence.pending.assign(1, config_.assistant_slot_id);
    sequence.pending.insert(sequence.pending.end(), item.codes, item.codes + n_vq);
  }
}

template void CudaLanguageModel<float>::step(std::span<FrameItem>);
template void CudaLanguageModel<bf16>::step(std::span<FrameItem>);

}  // namespace sonant::cuda
