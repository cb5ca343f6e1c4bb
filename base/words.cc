// Characters have the categories of Unicode, as utf8proc knows them.
#include "base/words.h"

#include <utf8proc.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>

#include "base/utf8.h"

namespace cascade {
namespace {

bool is_of_word(uint32_t c) {
  if (c < 0x80) return std::isalnum(static_cast<int>(c)) != 0;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
    case UTF8PROC_CATEGORY_CO: return true;
    default: return false;
  }
}

}  // namespace

std::optional<WordSpan> next_word(std::string_view text, size_t from) {
  std::optional<size_t> begin;
  while (from < text.size()) {
    const CodePoint c = utf8_decode(text, from);
    if (is_of_word(c.value)) {
      if (!begin) begin = from;
    } else if (begin) {
      return WordSpan{*begin, from};
    }
    from += c.size;
  }
  if (!begin) return std::nullopt;
  return WordSpan{*begin, text.size()};
}

std::string folded_word(std::string_view word) {
  std::string lower(word);
  if (std::ranges::all_of(word, [](char c) { return static_cast<uint8_t>(c) < 0x80; })) {
    for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return lower;
  }
  utf8proc_uint8_t* out = nullptr;
  const auto size =
      utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(word.data()),
                   static_cast<utf8proc_ssize_t>(word.size()), &out,
                   static_cast<utf8proc_option_t>(UTF8PROC_STABLE | UTF8PROC_DECOMPOSE |
                                                  UTF8PROC_STRIPMARK | UTF8PROC_CASEFOLD));
  if (size < 0) return lower;
  std::string result(reinterpret_cast<const char*>(out), static_cast<size_t>(size));
  std::free(out);
  return result;
}

}  // namespace cascade
