// The JavaScript class Engine: parses, calls the engine, and hands each event to the function
// given with its request. Owns the engine; whichever comes first of close(), the collector and
// the end of the environment joins its thread. Must never let a native thread see a JavaScript
// value.
#pragma once

#include <memory>
#include <unordered_map>
#include <vector>

#include <napi.h>

#include "addon/channel.h"
#include "backend/devices.h"
#include "engine/engine.h"

namespace sonant::addon {

// What load() hands to the constructor.
struct LoadedBackend {
  OpenedBackend opened;
  EngineLimits limits;
};

class EngineObject : public Napi::ObjectWrap<EngineObject> {
 public:
  static Napi::Function define(Napi::Env env);
  // Makes the JavaScript object. Throws Error or Napi::Error.
  static Napi::Object create(Napi::Env env, const Napi::Function& constructor, LoadedBackend& loaded);

  explicit EngineObject(const Napi::CallbackInfo& info);
  ~EngineObject() override;

 private:
  // static load(options): Promise<Engine>
  static Napi::Value load(const Napi::CallbackInfo& info);
  // Each returns the id under which events come to `onEvent`, the last of them of kind "done".
  Napi::Value generate(const Napi::CallbackInfo& info);  // (options, onEvent)
  Napi::Value encode(const Napi::CallbackInfo& info);    // (pcm, channels, sampleRate, onEvent)
  Napi::Value decode(const Napi::CallbackInfo& info);    // (codes, nBooks, onEvent)
  void cancel(const Napi::CallbackInfo& info);           // (id)
  void consumed(const Napi::CallbackInfo& info);         // (id, frames)
  Napi::Value stats(const Napi::CallbackInfo& info);
  Napi::Value info(const Napi::CallbackInfo& info);
  Napi::Value close(const Napi::CallbackInfo& info);  // Promise<void>

  class CloseWorker;

  Engine& open_engine() const;  // throws Error("closed")
  Napi::Value listen(Napi::Env env, RequestId id, const Napi::Function& listener);
  void receive(Napi::Env env, std::vector<Event>&& events);
  void forget(RequestId id);
  void finish_close(Napi::Env env);
  void abandon();  // at once and for good; JavaScript hears nothing more
  static void abandon_hook(void* self);

  napi_env env_;
  std::shared_ptr<Engine> engine_;  // null once close() has been called
  std::shared_ptr<Channel> channel_;
  Napi::ObjectReference description_;
  std::unordered_map<RequestId, Napi::FunctionReference> listeners_;
  std::vector<Napi::Promise::Deferred> closers_;
  bool closing_ = false;
};

}  // namespace sonant::addon
