#include "addon/js_error.h"

namespace sonant::addon {

Napi::Error js_error(Napi::Env env, const Failure& failure) {
  Napi::Error error = Napi::Error::New(env, failure.message);
  error.Set("code", Napi::String::New(env, failure.code));
  return error;
}

}  // namespace sonant::addon
