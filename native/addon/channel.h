// The one way from the engine's thread to the JavaScript thread: batches of events, gathered
// until JavaScript gets round to them, with at most one wake-up under way. The queue behind it
// therefore never fills and push() never blocks. Must never touch the environment after close(),
// which comes before the environment's end.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include <napi.h>

#include "engine/engine.h"

namespace sonant::addon {

class Channel {
 public:
  // Called on the JavaScript thread, inside a handle scope.
  using Receive = std::function<void(Napi::Env, std::vector<Event>&&)>;

  static std::shared_ptr<Channel> open(Napi::Env env, Receive receive);

  // Any thread.
  void push(std::vector<Event>&& events);

  // JavaScript thread only, all of these.
  void keep_loop_alive(bool alive);
  void drain();  // receives what is pending, now
  void close();  // drops what is pending; nothing is received any more

 private:
  Channel(Napi::Env env, Receive receive) : env_(env), receive_(std::move(receive)) {}
  static void wake(napi_env env, napi_value, void* context, void*);

  const napi_env env_;
  const Receive receive_;
  napi_threadsafe_function function_ = nullptr;

  std::mutex mutex_;  // guards what follows
  std::vector<Event> pending_;
  bool waking_ = false;
  bool closed_ = false;
};

}  // namespace sonant::addon
