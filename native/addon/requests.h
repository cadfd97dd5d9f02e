// The options of the addon's methods as the engine's own structs.
#pragma once

#include <optional>

#include <napi.h>

#include "engine/engine.h"

namespace sonant::addon {

struct LoadOptions {
  std::string device;  // "cpu", "cuda", "cuda:N" or "auto"
  BackendOptions backend;
  std::optional<Precision> precision;  // nothing: what suits the device that is taken
  EngineLimits limits;
};

// Throw Error("bad_request").
LoadOptions read_load_options(const Napi::Value& value);
GenerateRequest read_generate_options(const Napi::Value& value);

const char* precision_name(Precision precision);

}  // namespace sonant::addon
