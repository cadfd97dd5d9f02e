// Turns what a backend throws into a value, so that one failing call ends the requests it was
// made for and nothing else. Must never let an exception pass.
#pragma once

#include <exception>
#include <new>
#include <optional>
#include <span>
#include <string>

#include "model/error.h"

namespace sonant {

struct Failure {
  std::string code, message;
};

// Runs `call`; the failure if it threw.
template <typename Call>
std::optional<Failure> attempt(Call&& call) {
  try {
    call();
    return std::nullopt;
  } catch (const Error& error) {
    return Failure{error.code(), error.what()};
  } catch (const std::bad_alloc&) {
    return Failure{"out_of_memory", "There was not enough memory for this request."};
  } catch (const std::exception& error) {
    return Failure{"engine_failed", error.what()};
  } catch (...) {
    return Failure{"engine_failed", "The backend failed without saying why."};
  }
}

// Runs `call(span)` over all items at once and, if that throws, over each alone, so that only the
// item at fault fails. Items that the failed batch may have moved on (`untouched(i, failure)` is
// false) cannot be run again and fail with it. `failed(i, failure)` hears of each.
template <typename Item, typename Call, typename Untouched, typename Failed>
void attempt_batch(std::span<Item> items, Call&& call, Untouched&& untouched, Failed&& failed) {
  const auto failure = attempt([&] { call(items); });
  if (!failure) return;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items.size() == 1 || !untouched(i, *failure)) {
      failed(i, *failure);
    } else if (const auto alone = attempt([&] { call(items.subspan(i, 1)); })) {
      failed(i, *alone);
    }
  }
}

}  // namespace sonant
