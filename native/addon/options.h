// Reads an options object into plain C++ on the JavaScript thread. What does not fit throws
// Error("bad_request") of one form: "Expected X for Y but received Z of type T".
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <vector>

#include <napi.h>

namespace sonant::addon {

[[noreturn]] void unexpected(const std::string& expected, const std::string& name,
                             const Napi::Value& received);

class Options {
 public:
  // `value` must be an object; `name` is what messages call it, and prefixes the names of fields
  // unless it is empty.
  Options(const Napi::Value& value, const std::string& name, bool prefix_fields = false);

  // Fields that are undefined give the fallback.
  int integer(const char* field, int fallback, int low, int high) const;
  double number(const char* field, double fallback) const;  // finite
  bool boolean(const char* field, bool fallback) const;
  std::string text(const char* field) const;  // "" when undefined
  std::string choice(const char* field, std::initializer_list<const char*> allowed) const;  // default: the first
  uint64_t seed(const char* field) const;  // number or bigint; 0 when undefined
  size_t size(const char* field, size_t fallback) const;
  std::vector<int32_t> int32s(const char* field) const;  // Int32Array; empty when undefined
  Napi::Value get(const char* field) const { return object_.Get(field); }
  bool has(const char* field) const { return !get(field).IsUndefined(); }

 private:
  std::string name_of(const char* field) const;
  double whole(const char* field, double low, double high) const;

  Napi::Object object_;
  std::string prefix_;
};

// Arguments by position.
int integer_argument(const Napi::Value& value, const std::string& name, int low, int high);
Napi::Function function_argument(const Napi::Value& value, const std::string& name);
std::vector<float> float32_argument(const Napi::Value& value, const std::string& name);
std::vector<int32_t> int32_argument(const Napi::Value& value, const std::string& name);

}  // namespace sonant::addon
