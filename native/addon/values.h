// The engine's results as JavaScript values. JavaScript thread only.
#pragma once

#include <napi.h>

#include "backend/devices.h"
#include "engine/engine.h"

namespace sonant::addon {

// Takes the samples over without copying them, where the runtime allows that.
Napi::Float32Array to_js(Napi::Env env, std::vector<float>&& samples);
Napi::Object to_js(Napi::Env env, Event&& event);
Napi::Object to_js(Napi::Env env, const EngineStats& stats);
Napi::Object to_js(Napi::Env env, const EngineLimits& limits);
// What was loaded: device, precision and the sizes that callers build their prompts from.
Napi::Object describe_backend(Napi::Env env, const OpenedBackend& opened);

}  // namespace sonant::addon
