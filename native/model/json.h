// A small strict JSON reader (RFC 8259) for model configs and safetensors headers. Input is
// hostile: size, depth and number of values are bounded, every error carries its position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sonant {

struct JsonMember;

struct JsonLimits {
  size_t max_bytes = 64u << 20;
  int max_depth = 64;
  size_t max_values = 500'000;
};

// One value. Accessors that find another kind than asked for throw Error("model_invalid").
class Json {
 public:
  enum class Kind { kNull, kBool, kNumber, kString, kArray, kObject };

  // Parses one complete document. Throws Error("model_invalid") with "line L, column C" in it;
  // `source` names the document in that sentence. Duplicate keys and invalid UTF-8 are refused.
  static Json parse(std::string_view text, const std::string& source, const JsonLimits& limits = {});
  // Reads and parses a file. Throws Error("model_missing") when it cannot be opened.
  static Json parse_file(const std::string& path, const JsonLimits& limits = {});

  Kind kind() const { return kind_; }
  bool is(Kind kind) const { return kind_ == kind; }
  static const char* kind_name(Kind kind);

  bool as_bool() const;
  double as_number() const;
  // A number without a fraction and exactly representable (|x| <= 2^53).
  int64_t as_integer() const;
  bool is_integer() const;
  const std::string& as_string() const;
  const std::vector<Json>& as_array() const;
  // Members in key order.
  const std::vector<JsonMember>& as_object() const;
  // Member of an object, or null when it has none of that name (or this is no object).
  const Json* find(std::string_view key) const;

 private:
  friend class JsonParser;
  void require(Kind kind) const;

  Kind kind_ = Kind::kNull;
  bool bool_ = false;
  double number_ = 0;
  std::string string_;
  std::vector<Json> array_;
  std::vector<JsonMember> object_;
};

struct JsonMember {
  std::string key;
  Json value;
};

}  // namespace sonant
