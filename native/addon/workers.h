// Work that takes too long for the JavaScript thread and belongs to no engine.
#pragma once

#include <napi.h>

#include "addon/requests.h"

namespace sonant::addon {

// Loads a model and settles `deferred` with an Engine object, or with an error that has a `code`.
void start_load(Napi::Env env, LoadOptions options, Napi::Promise::Deferred deferred);
// resample(pcm: Float32Array, fromHz, toHz): Promise<Float32Array>, one channel.
Napi::Value resample_async(const Napi::CallbackInfo& info);

}  // namespace sonant::addon
