// Whether bytes are text: strict UTF-8 (RFC 3629), without surrogates and overlong forms.
#pragma once

#include <cstddef>
#include <string_view>

namespace sonant {

// Bytes of the character that `text` begins with; 0 when it begins with none.
inline size_t utf8_character(std::string_view text) {
  if (text.empty()) return 0;
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < length) return 0;
  unsigned code = lead & (0xffu >> (length + 1));
  for (size_t i = 1; i < length; ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    if ((byte & 0xc0) != 0x80) return 0;
    code = (code << 6) | (byte & 0x3f);
  }
  const unsigned least = length == 4 ? 0x10000 : length == 3 ? 0x800 : 0x80;
  return code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ? 0 : length;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_character(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

}  // namespace sonant
