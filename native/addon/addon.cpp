#include "addon/addon.h"

#include "addon/workers.h"

namespace sonant::addon {

SonantAddon::SonantAddon(Napi::Env env, Napi::Object exports) {
  const Napi::Function engine_class = EngineObject::define(env);
  engine_class_ = Napi::Persistent(engine_class);
  exports.Set("Engine", engine_class);
  exports.Set("resample", Napi::Function::New(env, resample_async, "resample"));
  exports.Set("version", Napi::String::New(env, SONANT_VERSION));
}

NODE_API_ADDON(SonantAddon)

}  // namespace sonant::addon
