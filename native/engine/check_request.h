// Refuses what a caller must not ask for, on the caller's thread, before the scheduler sees it.
#pragma once

#include "engine/engine.h"

namespace sonant {

// Throws Error("model_invalid") for a language model that draws codes which the codec does not have.
void check_models(const Backend& backend);

// Throw Error("bad_request" | "unsupported") naming the field, its value and what is allowed.
void check_limits(const EngineLimits& limits);
void check_request(const GenerateRequest& request, const Backend& backend);

// The limits with what suits the device in place of 0.
EngineLimits complete(EngineLimits limits, const Backend& backend);

}  // namespace sonant
