#include "addon/channel.h"

#include <iterator>
#include <utility>

namespace sonant::addon {

std::shared_ptr<Channel> Channel::open(Napi::Env env, Receive receive) {
  std::shared_ptr<Channel> channel(new Channel(env, std::move(receive)));
  // The function holds its own share: a wake-up that is already queued finds the channel alive.
  auto share = std::make_unique<std::shared_ptr<Channel>>(channel);
  const napi_status status = napi_create_threadsafe_function(
      env, nullptr, nullptr, Napi::String::New(env, "sonant:events"), 2, 1, share.get(),
      [](napi_env, void* data, void*) { delete static_cast<std::shared_ptr<Channel>*>(data); },
      share.get(), wake, &channel->function_);
  if (status != napi_ok) throw Napi::Error::New(env);
  share.release();
  napi_unref_threadsafe_function(env, channel->function_);
  return channel;
}

void Channel::push(std::vector<Event>&& events) {
  const std::lock_guard lock(mutex_);
  if (closed_) return;
  pending_.insert(pending_.end(), std::make_move_iterator(events.begin()),
                  std::make_move_iterator(events.end()));
  if (waking_) return;
  waking_ = napi_call_threadsafe_function(function_, nullptr, napi_tsfn_nonblocking) == napi_ok;
}

void Channel::wake(napi_env env, napi_value, void* context, void*) {
  if (env == nullptr) return;  // the environment is going away
  const std::shared_ptr<Channel> channel = *static_cast<std::shared_ptr<Channel>*>(context);
  try {
    channel->drain();
  } catch (const Napi::Error&) {
    // What listeners throw is dealt with where they are called. This is an environment that can run
    // no more JavaScript, such as a worker being terminated: there is nobody left to tell.
  }
}

void Channel::drain() {
  std::vector<Event> events;
  {
    const std::lock_guard lock(mutex_);
    waking_ = false;
    if (closed_) return;
    events.swap(pending_);
  }
  if (events.empty()) return;
  const Napi::HandleScope scope(env_);
  receive_(env_, std::move(events));
}

void Channel::keep_loop_alive(bool alive) {
  if (closed_) return;
  alive ? napi_ref_threadsafe_function(env_, function_)
        : napi_unref_threadsafe_function(env_, function_);
}

void Channel::close() {
  const std::lock_guard lock(mutex_);
  if (std::exchange(closed_, true)) return;
  pending_ = {};
  napi_release_threadsafe_function(function_, napi_tsfn_abort);
}

}  // namespace sonant::addon
