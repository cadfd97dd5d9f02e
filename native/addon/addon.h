// The addon as one environment sees it: the main thread and every worker thread has its own.
#pragma once

#include <napi.h>

#include "addon/engine_object.h"

namespace sonant::addon {

class SonantAddon : public Napi::Addon<SonantAddon> {
 public:
  SonantAddon(Napi::Env env, Napi::Object exports);
  Napi::Function engine_class() const { return engine_class_.Value(); }

 private:
  Napi::FunctionReference engine_class_;
};

}  // namespace sonant::addon
