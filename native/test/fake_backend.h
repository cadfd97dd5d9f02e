// A backend whose results are hashes of everything that may influence them, for tests of the
// engine. What a sequence does is written into its prompt: the text id of the last row is the
// frame at which it stops, or one of the faults below. FakeState counts what is alive.
#pragma once

#include <algorithm>
#include <atomic>
#include <bit>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "backend/backend.h"
#include "model/error.h"
#include "test/check.h"

namespace sonant::test {

enum FakeText : int32_t {
  kEndless = 500,      // from here to kFailPrefill: never stops
  kFailPrefill = 900,  // the call throws before anything has changed
  kNoMemory,           // the same with bad_alloc
  kFailStep,           // the step of frame 2 throws before anything has changed
  kTearStep,           // the step of frame 2 throws after all its sequences have moved on
  kNotFinite,          // frame 2 reports that its numbers are not finite
  kFailDecode,         // the codec refuses frame 2
  kBreakDecode,        // the codec fails at frame 2 after its streams have moved on
};

struct FakeState {
  std::atomic<int> sequences{0}, streams{0}, prefixes{0};
  std::function<void(int batch)> on_step;        // before each step, on the scheduler's thread
  std::function<void(int rows)> on_prefill;      // before each prefill
  bool beside = false;                           // the codec decodes beside the language model
  std::function<void()> on_begin, on_finish;     // of a decode beside
  std::mutex mutex;
  std::string calls;                             // one letter a call: prefill, step, decode, begin, finish, encode
  std::vector<int> prefill_rows;                 // rows of each prefill call
  void note(char call) {
    const std::lock_guard lock(mutex);
    calls += call;
  }
};

inline uint64_t mix(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9e3779b97f4a7c15u;
  return hash ^ (hash >> 29);
}

template <typename Interface>
struct Counted : Interface {
  explicit Counted(std::atomic<int>& given) : count(given) { ++count; }
  ~Counted() override { --count; }
  std::atomic<int>& count;
};

struct FakePrefix : Counted<LmPrefix> {
  using Counted::Counted;
  int rows() const override { return row_count; }
  size_t bytes() const override { return static_cast<size_t>(row_count) * 100; }
  uint64_t hash = 0;
  int row_count = 0;
};

struct FakeSequence : Counted<LmSequence> {
  using Counted::Counted;
  int rows() const override { return row_count; }
  int frames() const override { return frame_count; }
  size_t bytes() const override { return 1000; }
  uint64_t hash = 1;
  int row_count = 0, frame_count = 0, max_rows = 0;
  int32_t last_text = 0;
};

struct FakeStream : Counted<CodecStream> {
  using Counted::Counted;
  ~FakeStream() override { CHECK(!in_use); }
  size_t bytes() const override { return 500; }
  uint64_t hash = 1;
  bool in_use = false;  // a decode beside is under way
};

class FakeLm final : public LanguageModel {
 public:
  explicit FakeLm(std::shared_ptr<FakeState> state) : state_(std::move(state)) {
    config_.n_vq = 4;
    config_.vocab_size = 1000;
    config_.codebook_sizes = {64, 64, 64, 64};
    config_.audio_pad_id = 64;
    config_.max_positions = 5000;
  }
  const LmConfig& config() const override { return config_; }

  std::unique_ptr<LmSequence> create_sequence(std::shared_ptr<const LmPrefix> prefix, int max_rows) override {
    auto sequence = std::make_unique<FakeSequence>(state_->sequences);
    sequence->max_rows = max_rows;
    if (prefix) {
      sequence->hash = static_cast<const FakePrefix&>(*prefix).hash;
      sequence->row_count = prefix->rows();
    }
    return sequence;
  }

  void prefill(std::span<PrefillItem> items) override {
    int total = 0;
    for (const PrefillItem& item : items) total += item.n_rows;
    if (state_->on_prefill) state_->on_prefill(total);
    state_->note('p');
    for (const PrefillItem& item : items) {
      const auto& sequence = static_cast<const FakeSequence&>(*item.sequence);
      if (sequence.row_count + item.n_rows > sequence.max_rows) throw Error("bad_request", "full");
      for (int i = 0; i < item.n_rows; ++i) {
        const int32_t text = item.rows[i * 5];
        if (text == kFailPrefill) throw Error("engine_failed", "scripted prefill failure");
        if (text == kNoMemory) throw std::bad_alloc();
      }
    }
    for (const PrefillItem& item : items) {
      auto& sequence = static_cast<FakeSequence&>(*item.sequence);
      for (int i = 0; i < item.n_rows * 5; ++i) {
        sequence.hash = mix(sequence.hash, static_cast<uint64_t>(item.rows[i]));
      }
      sequence.row_count += item.n_rows;
      sequence.last_text = item.rows[(item.n_rows - 1) * 5];
    }
    const std::lock_guard lock(state_->mutex);
    state_->prefill_rows.push_back(total);
  }

  std::shared_ptr<const LmPrefix> freeze(LmSequence& sequence) override {
    auto prefix = std::make_shared<FakePrefix>(state_->prefixes);
    prefix->hash = static_cast<FakeSequence&>(sequence).hash;
    prefix->row_count = sequence.rows();
    return prefix;
  }

  void step(std::span<FrameItem> items) override {
    if (state_->on_step) state_->on_step(static_cast<int>(items.size()));
    state_->note('s');
    const auto fault = [](const FrameItem& item, int32_t text) {
      const auto& sequence = static_cast<const FakeSequence&>(*item.sequence);
      return sequence.last_text == text && sequence.frame_count == 2;
    };
    bool torn = false;
    for (const FrameItem& item : items) {
      if (fault(item, kFailStep)) throw Error("engine_failed", "scripted step failure");
      torn = torn || fault(item, kTearStep);
    }
    for (FrameItem& item : items) {
      auto& sequence = static_cast<FakeSequence&>(*item.sequence);
      item.failed = fault(item, kNotFinite);
      item.stopped = sequence.last_text < kEndless && sequence.frame_count >= sequence.last_text;
      if (item.failed || item.stopped) continue;
      const int books = item.sampling->n_vq > 0 ? item.sampling->n_vq : 4;
      for (int book = 0; book < 4; ++book) {
        uint64_t hash = mix(mix(sequence.hash, item.sampling->seed), item.sampling->segment);
        hash = mix(mix(hash, static_cast<uint64_t>(sequence.frame_count)), static_cast<uint64_t>(book));
        item.codes[book] = book < books ? static_cast<int32_t>(hash % 63) : 64;
      }
      if (fault(item, kFailDecode)) item.codes[0] = 63;
      if (fault(item, kBreakDecode)) item.codes[1] = 63;
      for (int book = 0; book < 4; ++book) sequence.hash = mix(sequence.hash, static_cast<uint64_t>(item.codes[book]));
      ++sequence.frame_count;
      ++sequence.row_count;
    }
    if (torn) throw Error("engine_failed", "scripted torn step");
  }


 private:
  std::shared_ptr<FakeState> state_;
  LmConfig config_;
};

class FakeCodec final : public Codec {
 public:
  explicit FakeCodec(std::shared_ptr<FakeState> state) : state_(std::move(state)) {
    config_.sample_rate = 1000;
    config_.channels = 2;
    config_.frame_samples = 80;
    config_.n_codebooks = 4;
    config_.codebook_size = 64;
  }
  const CodecConfig& config() const override { return config_; }
  std::unique_ptr<CodecStream> create_decoder() override { return std::make_unique<FakeStream>(state_->streams); }
  std::unique_ptr<CodecStream> create_encoder() override { return std::make_unique<FakeStream>(state_->streams); }

  void decode(std::span<DecodeItem> items) override {
    CHECK(begun_.empty());
    state_->note('d');
    refuse(items);
    make(items);
  }

  // Beside, all is done at the end, so that whatever was moved, freed or handed out too early shows.
  bool decodes_beside() const override { return state_->beside; }
  void begin_decode(std::span<DecodeItem> items) override {
    CHECK(begun_.empty());
    state_->note('b');
    if (state_->on_begin) state_->on_begin();
    refuse(items);
    for (const DecodeItem& item : items) {
      static_cast<FakeStream&>(*item.stream).in_use = true;
      std::fill_n(item.pcm, item.n_frames * 160, kNotMadeYet);
      begun_.push_back({item, {item.codes, item.codes + item.n_frames * item.n_books}});
    }
  }
  void finish_decode() override {
    CHECK(!begun_.empty());
    state_->note('f');
    if (state_->on_finish) state_->on_finish();
    std::vector<DecodeItem> items;
    const std::vector<Begun> begun = std::exchange(begun_, {});
    for (const Begun& one : begun) {
      static_cast<FakeStream&>(*one.item.stream).in_use = false;
      CHECK_EQUAL(one.item.pcm[0], kNotMadeYet);
      items.push_back(one.item);
      items.back().codes = one.codes.data();
    }
    make(items);
  }

  void encode(std::span<EncodeItem> items) override {
    CHECK(begun_.empty());
    state_->note('e');
    for (const EncodeItem& item : items) {
      auto& stream = static_cast<FakeStream&>(*item.stream);
      for (int frame = 0; frame < item.n_frames; ++frame) {
        for (int i = 0; i < 160; ++i) stream.hash = mix(stream.hash, std::bit_cast<uint32_t>(item.pcm[frame * 160 + i]));
        for (int book = 0; book < 4; ++book) {
          item.codes[frame * 4 + book] = static_cast<int32_t>(mix(stream.hash, static_cast<uint64_t>(book)) % 64);
        }
      }
    }
  }

  void dequantize(const int32_t*, int, int, float*) override {}

 private:
  static constexpr float kNotMadeYet = 77;
  struct Begun {
    DecodeItem item;
    std::vector<int32_t> codes;
  };

  static void refuse(std::span<DecodeItem> items) {
    for (const DecodeItem& item : items) {
      if (item.codes[0] == 63) throw Error("bad_request", "scripted decode failure");
    }
  }
  static void make(std::span<DecodeItem> items) {
    bool broken = false;
    for (const DecodeItem& item : items) {
      auto& stream = static_cast<FakeStream&>(*item.stream);
      for (int frame = 0; frame < item.n_frames; ++frame) {
        const int32_t* codes = item.codes + frame * item.n_books;
        broken = broken || (item.n_books > 1 && codes[1] == 63);
        for (int book = 0; book < item.n_books; ++book) stream.hash = mix(stream.hash, static_cast<uint64_t>(codes[book]));
        for (int i = 0; i < 160; ++i) {
          item.pcm[frame * 160 + i] = static_cast<float>(mix(stream.hash, static_cast<uint64_t>(i)) % 2001) / 1000 - 1;
        }
      }
    }
    if (broken) throw Error("engine_failed", "scripted break of a decode");
  }

  std::vector<Begun> begun_;
  std::shared_ptr<FakeState> state_;
  CodecConfig config_;
};

inline std::unique_ptr<Backend> fake_backend(const std::shared_ptr<FakeState>& state) {
  auto backend = std::make_unique<Backend>();
  backend->device = "fake";
  backend->lm = std::make_unique<FakeLm>(state);
  backend->codec = std::make_unique<FakeCodec>(state);
  backend->weight_bytes = 77;
  backend->sequences = 16;
  backend->prefill_rows = 64;
  backend->encode_frames = 8;
  return backend;
}

}  // namespace sonant::test
