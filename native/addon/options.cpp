#include "addon/options.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "model/error.h"

namespace sonant::addon {

namespace {

constexpr double kMaxSafeInteger = 9007199254740991;

const char* type_name(const Napi::Value& value) {
  switch (value.Type()) {
    case napi_undefined: return "undefined";
    case napi_null: return "null";
    case napi_boolean: return "boolean";
    case napi_number: return "number";
    case napi_string: return "string";
    case napi_symbol: return "symbol";
    case napi_object: return "object";
    case napi_function: return "function";
    case napi_external: return "external";
    case napi_bigint: return "bigint";
  }
  return "unknown";
}

std::string print(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  if (value == std::floor(value) && std::fabs(value) < 1e15) {
    return std::to_string(static_cast<int64_t>(value));
  }
  std::string text = std::to_string(value);
  return text.substr(0, text.find_last_not_of('0') + 1);
}

// Never calls a toString of the value's own.
std::string describe(const Napi::Value& value) {
  switch (value.Type()) {
    case napi_undefined: return "undefined";
    case napi_null: return "null";
    case napi_boolean: return value.As<Napi::Boolean>().Value() ? "true" : "false";
    case napi_number: return print(value.As<Napi::Number>().DoubleValue());
    case napi_string: return "'" + value.As<Napi::String>().Utf8Value().substr(0, 80) + "'";
    default: return "a value";
  }
}

bool is_whole(const Napi::Value& value, double low, double high) {
  if (!value.IsNumber()) return false;
  const double number = value.As<Napi::Number>().DoubleValue();
  return number == std::floor(number) && number >= low && number <= high;
}

std::string range(double low, double high) {
  return "integer between " + print(low) + " and " + print(high);
}

template <typename Element>
std::vector<Element> typed_array(const Napi::Value& value, const std::string& name,
                                 napi_typedarray_type type, const char* type_text) {
  if (!value.IsTypedArray() || value.As<Napi::TypedArray>().TypedArrayType() != type) {
    unexpected(type_text, name, value);
  }
  const auto array = value.As<Napi::TypedArrayOf<Element>>();
  return {array.Data(), array.Data() + array.ElementLength()};
}

}  // namespace

void unexpected(const std::string& expected, const std::string& name, const Napi::Value& received) {
  throw Error("bad_request", "Expected " + expected + " for " + name + " but received " +
                                 describe(received) + " of type " + type_name(received));
}

Options::Options(const Napi::Value& value, const std::string& name, bool prefix_fields) {
  if (!value.IsObject() || value.IsFunction() || value.IsArray()) unexpected("object", name, value);
  object_ = value.As<Napi::Object>();
  if (prefix_fields) prefix_ = name + ".";
}

std::string Options::name_of(const char* field) const { return prefix_ + field; }

double Options::whole(const char* field, double low, double high) const {
  const Napi::Value value = get(field);
  if (!is_whole(value, low, high)) unexpected(range(low, high), name_of(field), value);
  return value.As<Napi::Number>().DoubleValue();
}

int Options::integer(const char* field, int fallback, int low, int high) const {
  return has(field) ? static_cast<int>(whole(field, low, high)) : fallback;
}

size_t Options::size(const char* field, size_t fallback) const {
  return has(field) ? static_cast<size_t>(whole(field, 0, kMaxSafeInteger)) : fallback;
}

double Options::number(const char* field, double fallback) const {
  const Napi::Value value = get(field);
  if (value.IsUndefined()) return fallback;
  if (!value.IsNumber() || !std::isfinite(value.As<Napi::Number>().DoubleValue())) {
    unexpected("finite number", name_of(field), value);
  }
  return value.As<Napi::Number>().DoubleValue();
}

bool Options::boolean(const char* field, bool fallback) const {
  const Napi::Value value = get(field);
  if (value.IsUndefined()) return fallback;
  if (!value.IsBoolean()) unexpected("boolean", name_of(field), value);
  return value.As<Napi::Boolean>().Value();
}

std::string Options::text(const char* field) const {
  const Napi::Value value = get(field);
  if (value.IsUndefined()) return "";
  if (!value.IsString()) unexpected("string", name_of(field), value);
  return value.As<Napi::String>().Utf8Value();
}

std::string Options::choice(const char* field, std::initializer_list<const char*> allowed) const {
  if (!has(field)) return *allowed.begin();
  const Napi::Value value = get(field);
  std::string names;
  for (const char* one : allowed) names += (names.empty() ? "one of '" : ", '") + std::string(one) + "'";
  if (!value.IsString()) unexpected(names, name_of(field), value);
  const std::string chosen = value.As<Napi::String>().Utf8Value();
  if (std::find(allowed.begin(), allowed.end(), chosen) == allowed.end()) {
    unexpected(names, name_of(field), value);
  }
  return chosen;
}

uint64_t Options::seed(const char* field) const {
  const Napi::Value value = get(field);
  if (value.IsUndefined()) return 0;
  if (value.IsBigInt()) {
    bool exact = false;
    const uint64_t seed = value.As<Napi::BigInt>().Uint64Value(&exact);
    if (exact) return seed;
    unexpected("bigint between 0 and 18446744073709551615", name_of(field), value);
  }
  return static_cast<uint64_t>(whole(field, 0, kMaxSafeInteger));
}

std::vector<int32_t> Options::int32s(const char* field) const {
  const Napi::Value value = get(field);
  if (value.IsUndefined()) return {};
  return int32_argument(value, name_of(field));
}

int integer_argument(const Napi::Value& value, const std::string& name, int low, int high) {
  if (!is_whole(value, low, high)) unexpected(range(low, high), name, value);
  return value.As<Napi::Number>().Int32Value();
}

Napi::Function function_argument(const Napi::Value& value, const std::string& name) {
  if (!value.IsFunction()) unexpected("function", name, value);
  return value.As<Napi::Function>();
}

std::vector<float> float32_argument(const Napi::Value& value, const std::string& name) {
  return typed_array<float>(value, name, napi_float32_array, "Float32Array");
}

std::vector<int32_t> int32_argument(const Napi::Value& value, const std::string& name) {
  return typed_array<int32_t>(value, name, napi_int32_array, "Int32Array");
}

}  // namespace sonant::addon
