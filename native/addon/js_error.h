// Errors as JavaScript sees them: an Error with a sentence and a stable `code`.
#pragma once

#include <exception>
#include <string>

#include <napi.h>

#include "engine/attempt.h"

namespace sonant::addon {

Napi::Error js_error(Napi::Env env, const Failure& failure);

// Runs `call` for a method of the addon: what the engine throws becomes a JavaScript error, what
// JavaScript threw passes through.
template <typename Call>
auto throwing_to_js(Napi::Env env, Call&& call) {
  try {
    return call();
  } catch (const Napi::Error&) {
    throw;
  } catch (...) {
    const std::exception_ptr thrown = std::current_exception();
    throw js_error(env, *attempt([&] { std::rethrow_exception(thrown); }));
  }
}

}  // namespace sonant::addon
