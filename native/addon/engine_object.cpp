#include "addon/engine_object.h"

#include <limits>
#include <utility>

#include "addon/js_error.h"
#include "addon/options.h"
#include "addon/requests.h"
#include "addon/values.h"
#include "addon/workers.h"

namespace sonant::addon {

namespace {

constexpr int kMost = std::numeric_limits<int>::max();

RequestId id_argument(const Napi::Value& value) {
  if (!value.IsNumber()) unexpected("request id", "id", value);
  const double number = value.As<Napi::Number>().DoubleValue();
  if (!(number >= 0 && number <= 9007199254740991)) unexpected("request id", "id", value);
  return static_cast<RequestId>(number);
}

// Hands one event to JavaScript. What a listener throws is an uncaught exception of the
// process, as from any callback, and keeps no other event from its listener.
void call(Napi::Env env, const Napi::Function& listener, Event&& event) {
  const Napi::HandleScope scope(env);
  try {
    listener.Call({to_js(env, std::move(event))});
  } catch (const Napi::Error& error) {
    napi_fatal_exception(env, error.Value());
  }
}

}  // namespace

// Joins the scheduler's thread without holding up JavaScript.
class EngineObject::CloseWorker final : public Napi::AsyncWorker {
 public:
  CloseWorker(Napi::Env env, EngineObject& owner, std::shared_ptr<Engine> engine)
      : AsyncWorker(env, "sonant:close"), owner_(owner), engine_(std::move(engine)) {
    owner_.Ref();
  }
  void Execute() override {
    engine_->close();
    engine_.reset();
  }
  void OnOK() override {
    owner_.finish_close(Env());
    owner_.Unref();
  }

 private:
  EngineObject& owner_;
  std::shared_ptr<Engine> engine_;
};

Napi::Function EngineObject::define(Napi::Env env) {
  return DefineClass(env, "Engine",
                     {
                         StaticMethod<&EngineObject::load>("load"),
                         InstanceMethod<&EngineObject::generate>("generate"),
                         InstanceMethod<&EngineObject::encode>("encode"),
                         InstanceMethod<&EngineObject::decode>("decode"),
                         InstanceMethod<&EngineObject::cancel>("cancel"),
                         InstanceMethod<&EngineObject::consumed>("consumed"),
                         InstanceMethod<&EngineObject::stats>("stats"),
                         InstanceMethod<&EngineObject::info>("info"),
                         InstanceMethod<&EngineObject::close>("close"),
                     });
}

Napi::Object EngineObject::create(Napi::Env env, const Napi::Function& constructor,
                                  LoadedBackend& loaded) {
  return constructor.New({Napi::External<LoadedBackend>::New(env, &loaded)});
}

EngineObject::EngineObject(const Napi::CallbackInfo& info)
    : ObjectWrap(info), env_(info.Env()) {
  const Napi::Env env = info.Env();
  if (!info[0].IsExternal()) {
    throw Napi::TypeError::New(env, "An Engine is made by Engine.load()");
  }
  auto& loaded = *info[0].As<Napi::External<LoadedBackend>>().Data();
  description_ = Napi::Persistent(describe_backend(env, loaded.opened));
  channel_ = Channel::open(env, [this](Napi::Env current, std::vector<Event>&& events) {
    receive(current, std::move(events));
  });
  const auto failure = attempt([&] {
    engine_ = std::make_shared<Engine>(
        std::move(loaded.opened.backend), loaded.limits,
        [channel = channel_](std::vector<Event>&& events) { channel->push(std::move(events)); });
  });
  if (failure) {
    channel_->close();
    throw js_error(env, *failure);
  }
  description_.Set("limits", to_js(env, engine_->limits()));
  // Hooks run in reverse order of registration: this one before the channel's own.
  napi_add_env_cleanup_hook(env, abandon_hook, this);
}

EngineObject::~EngineObject() {
  napi_remove_env_cleanup_hook(env_, abandon_hook, this);
  abandon();
}

Napi::Value EngineObject::load(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  const auto deferred = Napi::Promise::Deferred::New(env);
  LoadOptions options;
  if (const auto failure = attempt([&] { options = read_load_options(info[0]); })) {
    deferred.Reject(js_error(env, *failure).Value());
  } else {
    start_load(env, std::move(options), deferred);
  }
  return deferred.Promise();
}

Engine& EngineObject::open_engine() const {
  if (!engine_) throw Error("closed", "The engine has been closed.");
  return *engine_;
}

Napi::Value EngineObject::listen(Napi::Env env, RequestId id, const Napi::Function& listener) {
  if (listeners_.empty()) channel_->keep_loop_alive(true);
  listeners_[id] = Napi::Persistent(listener);
  return Napi::Number::New(env, static_cast<double>(id));
}

Napi::Value EngineObject::generate(const Napi::CallbackInfo& info) {
  return throwing_to_js(info.Env(), [&] {
    Engine& engine = open_engine();
    GenerateRequest request = read_generate_options(info[0]);
    const Napi::Function listener = function_argument(info[1], "onEvent");
    return listen(info.Env(), engine.generate(std::move(request)), listener);
  });
}

Napi::Value EngineObject::encode(const Napi::CallbackInfo& info) {
  return throwing_to_js(info.Env(), [&] {
    Engine& engine = open_engine();
    std::vector<float> pcm = float32_argument(info[0], "pcm");
    const int channels = integer_argument(info[1], "channels", 1, 2);
    const int sample_rate = integer_argument(info[2], "sampleRate", 1, kMost);
    const Napi::Function listener = function_argument(info[3], "onEvent");
    return listen(info.Env(), engine.encode(std::move(pcm), channels, sample_rate), listener);
  });
}

Napi::Value EngineObject::decode(const Napi::CallbackInfo& info) {
  return throwing_to_js(info.Env(), [&] {
    Engine& engine = open_engine();
    std::vector<int32_t> codes = int32_argument(info[0], "codes");
    const int books = integer_argument(info[1], "nBooks", 1, 4096);
    const Napi::Function listener = function_argument(info[2], "onEvent");
    return listen(info.Env(), engine.decode(std::move(codes), books), listener);
  });
}

void EngineObject::cancel(const Napi::CallbackInfo& info) {
  throwing_to_js(info.Env(), [&] {
    const RequestId id = id_argument(info[0]);
    if (engine_) engine_->cancel(id);
  });
}

void EngineObject::consumed(const Napi::CallbackInfo& info) {
  throwing_to_js(info.Env(), [&] {
    const RequestId id = id_argument(info[0]);
    const int frames = integer_argument(info[1], "frames", 0, kMost);
    if (engine_) engine_->consumed(id, frames);
  });
}

Napi::Value EngineObject::stats(const Napi::CallbackInfo& info) {
  return throwing_to_js(info.Env(), [&]() -> Napi::Value {
    return to_js(info.Env(), open_engine().stats());
  });
}

Napi::Value EngineObject::info(const Napi::CallbackInfo&) { return description_.Value(); }

void EngineObject::receive(Napi::Env env, std::vector<Event>&& events) {
  for (Event& event : events) {
    const RequestId id = event.id;
    const auto found = listeners_.find(id);
    if (found == listeners_.end()) continue;
    const Napi::Function listener = found->second.Value();
    // Forgotten first: whatever the listener does, the request is over for this object.
    if (event.kind == Event::Kind::kDone) forget(id);
    call(env, listener, std::move(event));
  }
}

void EngineObject::forget(RequestId id) {
  listeners_.erase(id);
  if (listeners_.empty()) channel_->keep_loop_alive(false);
}

Napi::Value EngineObject::close(const Napi::CallbackInfo& info) {
  const auto deferred = Napi::Promise::Deferred::New(info.Env());
  if (engine_) {
    closing_ = true;
    closers_.push_back(deferred);
    (new CloseWorker(info.Env(), *this, std::exchange(engine_, nullptr)))->Queue();
  } else if (closing_) {
    closers_.push_back(deferred);
  } else {
    deferred.Resolve(info.Env().Undefined());
  }
  return deferred.Promise();
}

void EngineObject::finish_close(Napi::Env env) {
  channel_->drain();  // the last word of every request that was still running
  channel_->close();
  closing_ = false;
  for (const Napi::Promise::Deferred& deferred : std::exchange(closers_, {})) {
    deferred.Resolve(env.Undefined());
  }
}

void EngineObject::abandon_hook(void* self) { static_cast<EngineObject*>(self)->abandon(); }

void EngineObject::abandon() {
  channel_->close();
  if (engine_) engine_->close();
  engine_.reset();
}

}  // namespace sonant::addon
