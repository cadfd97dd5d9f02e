#include "engine/audio_jobs.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace sonant {

std::unique_ptr<AudioJob> make_encode_job(const CodecConfig& config, std::vector<float> pcm,
                                          int channels, int sample_rate) {
  if (channels != 1 && channels != 2) {
    throw Error("bad_request", "Audio to encode must have 1 or 2 channels, not " +
                                   std::to_string(channels) + ".");
  }
  if (pcm.size() % static_cast<size_t>(channels) != 0) {
    throw Error("bad_request", std::to_string(pcm.size()) + " samples do not divide into " +
                                   std::to_string(channels) + " channels.");
  }
  if (!std::all_of(pcm.begin(), pcm.end(), [](float sample) { return std::isfinite(sample); })) {
    throw Error("bad_request", "The audio to encode holds samples that are not finite numbers.");
  }
  auto job = std::make_unique<AudioJob>();
  job->encodes = true;
  job->channels = channels;
  job->resampling.emplace(sample_rate, config.sample_rate);
  const size_t n = pcm.size() / channels;
  // The model drops the last, incomplete frame.
  job->frames = static_cast<int>(job->resampling->output_size(static_cast<int64_t>(n)) /
                                 config.frame_samples);
  if (job->frames == 0) {
    const double ms = 1000.0 * config.frame_samples / config.sample_rate;
    throw Error("bad_request", "The audio to encode is shorter than one frame of " +
                                   std::to_string(static_cast<int>(ms)) + " ms.");
  }
  job->pcm.resize(pcm.size());
  for (size_t i = 0; i < pcm.size(); ++i) job->pcm[(i % channels) * n + i / channels] = pcm[i];
  job->codes.resize(static_cast<size_t>(job->frames) * config.n_codebooks);
  return job;
}

std::unique_ptr<AudioJob> make_decode_job(const CodecConfig& config, std::vector<int32_t> codes,
                                          int n_books) {
  if (n_books < 1 || n_books > config.n_codebooks) {
    throw Error("bad_request", "The number of codebooks must be between 1 and " +
                                   std::to_string(config.n_codebooks) + ", not " +
                                   std::to_string(n_books) + ".");
  }
  if (codes.empty() || codes.size() % static_cast<size_t>(n_books) != 0) {
    throw Error("bad_request", std::to_string(codes.size()) +
                                   " codes do not make whole frames of " +
                                   std::to_string(n_books) + ".");
  }
  for (const int32_t code : codes) {
    if (code < 0 || code >= config.codebook_size) {
      throw Error("bad_request", "Codes to decode must be between 0 and " +
                                     std::to_string(config.codebook_size - 1) + ", not " +
                                     std::to_string(code) + ".");
    }
  }
  auto job = std::make_unique<AudioJob>();
  job->n_books = n_books;
  job->frames = static_cast<int>(codes.size()) / n_books;
  job->codes = std::move(codes);
  return job;
}

AudioJobs::AudioJobs(Codec* codec, StatsBook& book, int slice_frames)
    : codec_(codec), book_(book), slice_frames_(slice_frames) {}

void AudioJobs::submit(std::unique_ptr<AudioJob> job) { jobs_.push_back(std::move(job)); }

void AudioJobs::cancel(RequestId id) {
  for (const auto& job : jobs_) {
    if (job->id == id) job->cancelled = true;
  }
}

void AudioJobs::cancel_all(std::vector<Event>& events) {
  for (const auto& job : std::exchange(jobs_, {})) {
    finish(*job, FinishReason::kCancelled, std::nullopt, events);
  }
}

void AudioJobs::advance(std::vector<Event>& events) {
  std::erase_if(jobs_, [&](const auto& job) {
    if (job->cancelled) finish(*job, FinishReason::kCancelled, std::nullopt, events);
    return job->cancelled;
  });
  if (jobs_.empty()) return;
  AudioJob& job = *jobs_.front();
  if (job.done == 0) job.stats.queue_ms = ms_between(job.submitted, Clock::now());
  const auto failure = attempt([&] { work(job); });
  if (!failure && job.done < job.frames) return;
  finish(job, failure ? FinishReason::kError : FinishReason::kStop, failure, events);
  jobs_.pop_front();
}

void AudioJobs::work(AudioJob& job) {
  const Time from = Clock::now();
  if (!job.stream) {
    job.stream = job.encodes ? codec_->create_encoder() : codec_->create_decoder();
    if (!job.encodes) {
      const CodecConfig& config = codec_->config();
      job.pcm.resize(static_cast<size_t>(job.frames) * config.frame_samples * config.channels);
    }
  }
  const int frames = std::min(slice_frames_, job.frames - job.done);
  job.encodes ? encode_slice(job, frames) : decode_slice(job, frames);
  job.done += frames;
  job.stats.codec_ms += ms_between(from, Clock::now());
}

void AudioJobs::encode_slice(AudioJob& job, int frames) {
  const CodecConfig& config = codec_->config();
  const int64_t n = static_cast<int64_t>(job.pcm.size()) / job.channels;
  const int64_t first = static_cast<int64_t>(job.done) * config.frame_samples;
  const int64_t count = static_cast<int64_t>(frames) * config.frame_samples;
  std::vector<float> planes(static_cast<size_t>(count) * job.channels);
  for (int c = 0; c < job.channels; ++c) {
    job.resampling->read(job.pcm.data() + c * n, n, first, count, planes.data() + c * count);
  }
  slice_.resize(static_cast<size_t>(count) * config.channels);
  for (int64_t i = 0; i < count; ++i) {
    for (int c = 0; c < config.channels; ++c) {
      // Mono goes to every channel; two channels into a mono codec become their mean.
      float sample = planes[static_cast<size_t>(std::min(c, job.channels - 1) * count + i)];
      if (config.channels < job.channels) {
        sample = 0.5f * (sample + planes[static_cast<size_t>(count + i)]);
      }
      slice_[static_cast<size_t>(i * config.channels + c)] = sample;
    }
  }
  EncodeItem item{.stream = job.stream.get(),
                  .pcm = slice_.data(),
                  .n_frames = frames,
                  .codes = job.codes.data() + static_cast<size_t>(job.done) * config.n_codebooks};
  codec_->encode({&item, 1});
}

void AudioJobs::decode_slice(AudioJob& job, int frames) {
  const CodecConfig& config = codec_->config();
  const size_t frame_size = static_cast<size_t>(config.frame_samples) * config.channels;
  DecodeItem item{.stream = job.stream.get(),
                  .codes = job.codes.data() + static_cast<size_t>(job.done) * job.n_books,
                  .n_frames = frames,
                  .n_books = job.n_books,
                  .pcm = job.pcm.data() + static_cast<size_t>(job.done) * frame_size};
  codec_->decode({&item, 1});
}

void AudioJobs::finish(AudioJob& job, FinishReason reason, const std::optional<Failure>& failure,
                       std::vector<Event>& events) {
  job.stream.reset();
  job.stats.frames = job.done;
  job.stats.total_ms = ms_between(job.submitted, Clock::now());
  if (reason == FinishReason::kStop) {
    Event result;
    result.kind = job.encodes ? Event::Kind::kEncoded : Event::Kind::kDecoded;
    result.id = job.id;
    result.frames = job.frames;
    job.encodes ? void(result.codes = std::move(job.codes)) : void(result.pcm = std::move(job.pcm));
    events.push_back(std::move(result));
  }
  Event done;
  done.kind = Event::Kind::kDone;
  done.id = job.id;
  done.reason = reason;
  if (failure) {
    done.error_code = failure->code;
    done.error_message = failure->message;
  }
  done.stats = job.stats;
  events.push_back(std::move(done));
  book_.update([&](EngineStats& stats) { count_end(stats, reason); });
}

}  // namespace sonant
