#include "addon/workers.h"

#include <optional>
#include <utility>
#include <vector>

#include "addon/addon.h"
#include "addon/js_error.h"
#include "addon/options.h"
#include "addon/values.h"
#include "backend/devices.h"
#include "model/resampler.h"

namespace sonant::addon {

namespace {

// A worker that settles a promise. `compute` runs off the JavaScript thread, `result` on it.
class PromiseWorker : public Napi::AsyncWorker {
 public:
  PromiseWorker(Napi::Env env, const char* name, Napi::Promise::Deferred deferred)
      : AsyncWorker(env, name), deferred_(deferred) {}

 protected:
  virtual void compute() = 0;
  virtual Napi::Value result(Napi::Env env) = 0;

 private:
  void Execute() final {
    failure_ = attempt([&] { compute(); });
  }
  void OnOK() final {
    if (failure_) return deferred_.Reject(js_error(Env(), *failure_).Value());
    try {
      deferred_.Resolve(result(Env()));
    } catch (const Napi::Error& error) {
      deferred_.Reject(error.Value());
    }
  }

  Napi::Promise::Deferred deferred_;
  std::optional<Failure> failure_;
};

class LoadWorker final : public PromiseWorker {
 public:
  LoadWorker(Napi::Env env, LoadOptions options, Napi::Promise::Deferred deferred)
      : PromiseWorker(env, "sonant:load", deferred), options_(std::move(options)) {}

 private:
  void compute() override {
    loaded_.limits = options_.limits;
    loaded_.opened = open_backend(options_.device, options_.backend, options_.precision);
  }
  Napi::Value result(Napi::Env env) override {
    const Napi::Function constructor = env.GetInstanceData<SonantAddon>()->engine_class();
    return EngineObject::create(env, constructor, loaded_);
  }

  LoadOptions options_;
  LoadedBackend loaded_;
};

class ResampleWorker final : public PromiseWorker {
 public:
  ResampleWorker(Napi::Env env, std::vector<float> pcm, int from_hz, int to_hz,
                 Napi::Promise::Deferred deferred)
      : PromiseWorker(env, "sonant:resample", deferred), pcm_(std::move(pcm)), from_hz_(from_hz),
        to_hz_(to_hz) {}

 private:
  void compute() override { pcm_ = resample(pcm_.data(), pcm_.size(), from_hz_, to_hz_); }
  Napi::Value result(Napi::Env env) override { return to_js(env, std::move(pcm_)); }

  std::vector<float> pcm_;
  int from_hz_, to_hz_;
};

}  // namespace

void start_load(Napi::Env env, LoadOptions options, Napi::Promise::Deferred deferred) {
  (new LoadWorker(env, std::move(options), deferred))->Queue();
}

Napi::Value resample_async(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto deferred = Napi::Promise::Deferred::New(env);
  const auto failure = attempt([&] {
    std::vector<float> pcm = float32_argument(info[0], "pcm");
    const int from_hz = integer_argument(info[1], "fromHz", 1000, 768000);
    const int to_hz = integer_argument(info[2], "toHz", 1000, 768000);
    (new ResampleWorker(env, std::move(pcm), from_hz, to_hz, deferred))->Queue();
  });
  if (failure) deferred.Reject(js_error(env, *failure).Value());
  return deferred.Promise();
}

}  // namespace sonant::addon
