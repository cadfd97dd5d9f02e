// Recursive-descent parser behind Json. Never reads past the text, never recurses past the
// depth limit, and allocates no more than the number of values it was allowed.
#include "model/json.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <locale>
#include <sstream>

#include "model/error.h"
#include "model/utf8.h"

namespace sonant {

class JsonParser {
 public:
  JsonParser(std::string_view text, const std::string& source, const JsonLimits& limits)
      : text_(text), source_(source), limits_(limits) {}

  Json document() {
    if (text_.size() > limits_.max_bytes) {
      throw Error("model_invalid", source_ + " is " + std::to_string(text_.size()) +
                                       " bytes of JSON; at most " + std::to_string(limits_.max_bytes) +
                                       " are allowed.");
    }
    Json result;
    value(result, 1);
    space();
    if (at_ != text_.size()) fail("more text after the document");
    return result;
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    size_t line = 1, column = 1;
    for (size_t i = 0; i < at_ && i < text_.size(); ++i) {
      if (text_[i] == '\n') {
        ++line;
        column = 1;
      } else {
        ++column;
      }
    }
    throw Error("model_invalid", source_ + " is not valid JSON: " + what + " at line " +
                                     std::to_string(line) + ", column " + std::to_string(column) + ".");
  }

  bool done() const { return at_ >= text_.size(); }
  char peek() const { return done() ? '\0' : text_[at_]; }
  void space() {
    while (!done() && (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r')) ++at_;
  }
  bool take(char c) {
    if (done() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void word(std::string_view expected) {
    if (text_.substr(at_, expected.size()) != expected) fail("an unknown word");
    at_ += expected.size();
  }

  void value(Json& out, int depth) {
    if (depth > limits_.max_depth) fail("more than " + std::to_string(limits_.max_depth) + " nested levels");
    if (++values_ > limits_.max_values) fail("more than " + std::to_string(limits_.max_values) + " values");
    space();
    if (done()) fail("the text ends where a value should be");
    switch (peek()) {
      case '{': return object(out, depth);
      case '[': return array(out, depth);
      case '"':
        out.kind_ = Json::Kind::kString;
        return string(out.string_);
      case 't':
        word("true");
        out.kind_ = Json::Kind::kBool;
        out.bool_ = true;
        return;
      case 'f':
        word("false");
        out.kind_ = Json::Kind::kBool;
        return;
      case 'n': return word("null");
      default: return number(out);
    }
  }

  void object(Json& out, int depth) {
    out.kind_ = Json::Kind::kObject;
    take('{');
    space();
    if (take('}')) return;
    do {
      space();
      if (peek() != '"') fail("a member name is missing");
      JsonMember member;
      string(member.key);
      space();
      if (!take(':')) fail("a colon is missing");
      value(member.value, depth + 1);
      out.object_.push_back(std::move(member));
      space();
    } while (take(','));
    if (!take('}')) fail("an object is not closed");
    std::sort(out.object_.begin(), out.object_.end(),
              [](const JsonMember& a, const JsonMember& b) { return a.key < b.key; });
    const auto twin = std::adjacent_find(out.object_.begin(), out.object_.end(),
                                         [](const JsonMember& a, const JsonMember& b) { return a.key == b.key; });
    if (twin != out.object_.end()) fail("the name \"" + twin->key + "\" appears twice in an object that ends");
  }

  void array(Json& out, int depth) {
    out.kind_ = Json::Kind::kArray;
    take('[');
    space();
    if (take(']')) return;
    do {
      out.array_.emplace_back();
      value(out.array_.back(), depth + 1);
      space();
    } while (take(','));
    if (!take(']')) fail("an array is not closed");
  }

  static bool digit(char c) { return c >= '0' && c <= '9'; }

  void number(Json& out) {
    const size_t start = at_;
    const bool negative = take('-');
    if (!digit(peek())) fail("a character that starts no value");
    bool plain = true;
    uint64_t integer = 0;
    if (!take('0')) {
      while (digit(peek())) {
        if (at_ - start < 16) integer = integer * 10 + static_cast<uint64_t>(peek() - '0');
        ++at_;
      }
    }
    if (digit(peek())) fail("a number with a leading zero");
    if (at_ - start > 15) plain = false;  // 15 digits are exact in a double
    if (take('.')) {
      plain = false;
      if (!digit(peek())) fail("a number without digits after its point");
      while (digit(peek())) ++at_;
    }
    if (peek() == 'e' || peek() == 'E') {
      plain = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      if (!digit(peek())) fail("a number without digits in its exponent");
      while (digit(peek())) ++at_;
    }
    out.kind_ = Json::Kind::kNumber;
    if (plain) {
      out.number_ = negative ? -static_cast<double>(integer) : static_cast<double>(integer);
      return;
    }
    // The stream rather than strtod: it does not depend on the process's locale.
    std::istringstream in{std::string(text_.substr(start, at_ - start))};
    in.imbue(std::locale::classic());
    in >> out.number_;
    if (!in || !std::isfinite(out.number_)) fail("a number out of range that ends");
  }

  unsigned hex4() {
    unsigned code = 0;
    for (int i = 0; i < 4; ++i) {
      const char c = peek();
      unsigned nibble = 0;
      if (digit(c)) nibble = static_cast<unsigned>(c - '0');
      else if (c >= 'a' && c <= 'f') nibble = static_cast<unsigned>(c - 'a' + 10);
      else if (c >= 'A' && c <= 'F') nibble = static_cast<unsigned>(c - 'A' + 10);
      else fail("an escape without four hexadecimal digits");
      code = code * 16 + nibble;
      ++at_;
    }
    return code;
  }

  static void append_utf8(std::string& out, unsigned code) {
    const auto put = [&out](unsigned byte) { out.push_back(static_cast<char>(byte)); };
    if (code < 0x80) {
      put(code);
    } else if (code < 0x800) {
      put(0xc0 | (code >> 6));
      put(0x80 | (code & 0x3f));
    } else if (code < 0x10000) {
      put(0xe0 | (code >> 12));
      put(0x80 | ((code >> 6) & 0x3f));
      put(0x80 | (code & 0x3f));
    } else {
      put(0xf0 | (code >> 18));
      put(0x80 | ((code >> 12) & 0x3f));
      put(0x80 | ((code >> 6) & 0x3f));
      put(0x80 | (code & 0x3f));
    }
  }

  void escape(std::string& out) {
    if (done()) fail("a string is not closed");
    switch (text_[at_++]) {
      case '"': out.push_back('"'); return;
      case '\\': out.push_back('\\'); return;
      case '/': out.push_back('/'); return;
      case 'b': out.push_back('\b'); return;
      case 'f': out.push_back('\f'); return;
      case 'n': out.push_back('\n'); return;
      case 'r': out.push_back('\r'); return;
      case 't': out.push_back('\t'); return;
      case 'u': break;
      default: fail("an unknown escape");
    }
    unsigned code = hex4();
    if (code >= 0xdc00 && code < 0xe000) fail("half of a surrogate pair");
    if (code >= 0xd800 && code < 0xdc00) {
      if (!take('\\') || !take('u')) fail("half of a surrogate pair");
      const unsigned low = hex4();
      if (low < 0xdc00 || low >= 0xe000) fail("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    append_utf8(out, code);
  }

  // One multi-byte character, checked to be the shortest form of a valid code point.
  void utf8(std::string& out) {
    const size_t length = utf8_character(text_.substr(at_));
    if (length == 0) fail("bytes that are not UTF-8");
    out.append(text_.substr(at_, length));
    at_ += length;
  }

  void string(std::string& out) {
    take('"');
    for (;;) {
      if (done()) fail("a string is not closed");
      const auto c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') {
        ++at_;
        return;
      }
      if (c < 0x20) fail("a control character inside a string");
      if (c == '\\') {
        ++at_;
        escape(out);
      } else if (c < 0x80) {
        out.push_back(static_cast<char>(c));
        ++at_;
      } else {
        utf8(out);
      }
    }
  }

  std::string_view text_;
  const std::string& source_;
  const JsonLimits& limits_;
  size_t at_ = 0;
  size_t values_ = 0;
};

Json Json::parse(std::string_view text, const std::string& source, const JsonLimits& limits) {
  return JsonParser(text, source, limits).document();
}

Json Json::parse_file(const std::string& path, const JsonLimits& limits) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error("model_missing", "The file " + path + " is not there or cannot be read.");
  std::string text;
  char buffer[16384];
  while (file.read(buffer, sizeof buffer) || file.gcount() > 0) {
    text.append(buffer, static_cast<size_t>(file.gcount()));
    if (text.size() > limits.max_bytes) break;  // refused by the parser
  }
  if (file.bad()) throw Error("model_missing", "The file " + path + " cannot be read.");
  return parse(text, path, limits);
}

const char* Json::kind_name(Kind kind) {
  switch (kind) {
    case Kind::kNull: return "null";
    case Kind::kBool: return "a boolean";
    case Kind::kNumber: return "a number";
    case Kind::kString: return "a string";
    case Kind::kArray: return "an array";
    case Kind::kObject: return "an object";
  }
  return "unknown";
}

void Json::require(Kind kind) const {
  if (kind_ != kind) {
    throw Error("model_invalid", std::string("Expected ") + kind_name(kind) + " but found " + kind_name(kind_) + ".");
  }
}

bool Json::as_bool() const {
  require(Kind::kBool);
  return bool_;
}

double Json::as_number() const {
  require(Kind::kNumber);
  return number_;
}

bool Json::is_integer() const {
  return kind_ == Kind::kNumber && std::fabs(number_) <= 9007199254740992.0 && std::trunc(number_) == number_;
}

int64_t Json::as_integer() const {
  require(Kind::kNumber);
  if (!is_integer()) throw Error("model_invalid", "Expected a whole number.");
  return static_cast<int64_t>(number_);
}

const std::string& Json::as_string() const {
  require(Kind::kString);
  return string_;
}

const std::vector<Json>& Json::as_array() const {
  require(Kind::kArray);
  return array_;
}

const std::vector<JsonMember>& Json::as_object() const {
  require(Kind::kObject);
  return object_;
}

const Json* Json::find(std::string_view key) const {
  const auto at = std::lower_bound(object_.begin(), object_.end(), key,
                                   [](const JsonMember& member, std::string_view k) { return member.key < k; });
  return at != object_.end() && at->key == key ? &at->value : nullptr;
}

}  // namespace sonant
