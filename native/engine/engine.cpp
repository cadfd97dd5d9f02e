#include "engine/engine.h"

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>
#include <variant>

#include "engine/check_request.h"
#include "engine/scheduler.h"

namespace sonant {

namespace {

struct CancelCommand {
  RequestId id;
  Time called;
};
struct ConsumedCommand {
  RequestId id;
  int frames;
};
using Command = std::variant<std::unique_ptr<Sequence>, std::unique_ptr<AudioJob>, CancelCommand,
                             ConsumedCommand>;

}  // namespace

struct Engine::Impl {
  Impl(std::unique_ptr<Backend> given, const EngineLimits& given_limits, Sink given_sink)
      : backend(std::move(given)), limits(complete(given_limits, *backend)), sink(std::move(given_sink)),
        scheduler(*backend, limits, book) {
    book.update([&](EngineStats& stats) { stats.weight_bytes = backend->weight_bytes; });
    thread = std::thread([this] { run(); });
  }

  // Requests that have been accepted and have not ended; `kept` of them are the scheduler's.
  struct Line {
    int kept = 0, in_inbox = 0;
    int count() const { return kept + in_inbox; }
  };

  template <typename Request>
  RequestId submit(std::unique_ptr<Request> request, Line& line, int room) {
    request->submitted = Clock::now();
    const std::lock_guard lock(mutex);
    if (closing) throw Error("closed", "The engine has been closed.");
    if (line.count() >= room + limits.max_waiting) {
      book.update([](EngineStats& stats) { ++stats.refused; });
      throw Error("overloaded", std::to_string(line.count() - room) +
                                    " requests are waiting and at most " +
                                    std::to_string(limits.max_waiting) + " may.");
    }
    const RequestId id = last_id + 1;
    request->id = id;
    inbox.push_back(std::move(request));
    last_id = id;
    ++line.in_inbox;
    book.update([](EngineStats& stats) { ++stats.submitted; });
    wake.notify_one();
    return id;
  }

  void send(Command command) {
    const std::lock_guard lock(mutex);
    if (closing) return;
    inbox.push_back(std::move(command));
    wake.notify_one();
  }

  // Waits for something to do, takes what has come in; false when closing.
  bool receive(std::vector<Command>& commands) {
    const bool busy = scheduler.busy();
    std::unique_lock lock(mutex);
    wake.wait(lock, [&] { return busy || closing || !inbox.empty(); });
    take(commands);
    return !closing;
  }

  // Takes what has come in. The caller holds the mutex.
  void take(std::vector<Command>& commands) {
    std::swap(commands, inbox);
    for (Line* line : {&sequences, &jobs}) line->kept += std::exchange(line->in_inbox, 0);
  }

  void apply(std::vector<Command>& commands) {
    for (Command& command : commands) {
      if (auto* sequence = std::get_if<std::unique_ptr<Sequence>>(&command)) {
        scheduler.submit(std::move(*sequence));
      } else if (auto* job = std::get_if<std::unique_ptr<AudioJob>>(&command)) {
        scheduler.submit(std::move(*job));
      } else if (const auto* cancel = std::get_if<CancelCommand>(&command)) {
        scheduler.cancel(cancel->id, cancel->called);
      } else if (const auto* consumed = std::get_if<ConsumedCommand>(&command)) {
        scheduler.consumed(consumed->id, consumed->frames);
      }
    }
    commands.clear();
  }

  // Totals first, so that whoever hears of an end also sees the room it left.
  void publish(std::vector<Event>& events) {
    book.update([&](EngineStats& stats) { scheduler.report(stats); });
    {
      const std::lock_guard lock(mutex);
      sequences.kept = scheduler.sequences();
      jobs.kept = scheduler.jobs();
    }
    if (events.empty()) return;
    // A sink that throws has lost its events; the other requests go on.
    attempt([&] { sink(std::exchange(events, {})); });
  }

  void run() {
    std::vector<Command> commands;
    std::vector<Event> events;
    const Scheduler::Hooks hooks{
        .take_in =
            [&] {
              {
                const std::lock_guard lock(mutex);
                take(commands);
              }
              apply(commands);
            },
        .give_out = [&](std::vector<Event>& given) { publish(given); },
    };
    while (receive(commands)) {
      apply(commands);
      const auto failure = attempt([&] { scheduler.tick(events, hooks); });
      if (failure) scheduler.fail_all(*failure, events);
      publish(events);
    }
    apply(commands);
    scheduler.cancel_all(events);
    publish(events);
  }

  void close() {
    {
      const std::lock_guard lock(mutex);
      closing = true;
      wake.notify_one();
    }
    const std::lock_guard lock(join_mutex);  // a second caller returns when the first has joined
    if (thread.joinable()) thread.join();
  }

  const std::unique_ptr<Backend> backend;
  const EngineLimits limits;
  const Sink sink;
  StatsBook book;
  Scheduler scheduler;  // the thread's own

  mutable std::mutex mutex;  // guards what follows
  std::condition_variable wake;
  std::vector<Command> inbox;
  Line sequences, jobs;
  RequestId last_id = 0;
  bool closing = false;

  std::mutex join_mutex;
  std::thread thread;
};

Engine::Engine(std::unique_ptr<Backend> backend, const EngineLimits& limits, Sink sink) {
  check_limits(limits);
  check_models(*backend);
  impl_ = std::make_unique<Impl>(std::move(backend), limits, std::move(sink));
}

Engine::~Engine() {
  if (impl_) close();
}

RequestId Engine::generate(GenerateRequest request) {
  check_request(request, *impl_->backend);
  const int row_width = impl_->backend->lm->config().row_width();
  auto sequence = std::make_unique<Sequence>();
  if (request.prefix_rows.empty()) request.prefix_key.clear();
  if (request.prefix_key.empty()) {
    sequence->prompt = std::exchange(request.prefix_rows, {});
    sequence->prompt.insert(sequence->prompt.end(), request.text_rows.begin(),
                            request.text_rows.end());
    request.text_rows = {};
  } else {
    sequence->prompt = std::exchange(request.text_rows, {});
    sequence->prefix = identify_prefix(request.prefix_rows, row_width);
  }
  sequence->stats.prompt_rows =
      sequence->prefix.rows + static_cast<int>(sequence->prompt.size()) / row_width;
  sequence->request = std::move(request);
  return impl_->submit(std::move(sequence), impl_->sequences, impl_->limits.places());
}

RequestId Engine::encode(std::vector<float> pcm, int channels, int sample_rate) {
  if (!impl_->backend->codec) throw Error("unsupported", "No codec has been loaded.");
  auto job = make_encode_job(impl_->backend->codec->config(), std::move(pcm), channels, sample_rate);
  return impl_->submit(std::move(job), impl_->jobs, 1);
}

RequestId Engine::decode(std::vector<int32_t> codes, int n_books) {
  if (!impl_->backend->codec) throw Error("unsupported", "No codec has been loaded.");
  auto job = make_decode_job(impl_->backend->codec->config(), std::move(codes), n_books);
  return impl_->submit(std::move(job), impl_->jobs, 1);
}

void Engine::cancel(RequestId id) { impl_->send(CancelCommand{id, Clock::now()}); }

void Engine::consumed(RequestId id, int frames) { impl_->send(ConsumedCommand{id, frames}); }

EngineStats Engine::stats() const {
  EngineStats stats = impl_->book.read();
  const std::lock_guard lock(impl_->mutex);
  stats.waiting += impl_->sequences.in_inbox;
  return stats;
}

const Backend& Engine::backend() const { return *impl_->backend; }

const EngineLimits& Engine::limits() const { return impl_->limits; }

void Engine::close() { impl_->close(); }

}  // namespace sonant
