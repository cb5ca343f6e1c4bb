// Case mappings: utf8proc's simple ones, and those of Unicode's SpecialCasing.txt.
#include "model/jinja/case.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "model/jinja/unicode.h"

namespace cascade::jinja {
namespace {

// Characters whose upper or title case is more than one character. U+1F80..U+1FAF follow a rule
// instead (greek_with_iota).
struct SpecialCase {
  uint32_t code_point;
  std::u16string_view upper;
  std::u16string_view title;
};
constexpr SpecialCase kSpecialCases[] = {
    {0x00DF, u"SS", u"Ss"},
    {0x0149, u"\u02BCN", u"\u02BCN"},
    {0x01F0, u"J\u030C", u"J\u030C"},
    {0x0390, u"\u0399\u0308\u0301", u"\u0399\u0308\u0301"},
    {0x03B0, u"\u03A5\u0308\u0301", u"\u03A5\u0308\u0301"},
    {0x0587, u"\u0535\u0552", u"\u0535\u0582"},
    {0x1E96, u"H\u0331", u"H\u0331"},
    {0x1E97, u"T\u0308", u"T\u0308"},
    {0x1E98, u"W\u030A", u"W\u030A"},
    {0x1E99, u"Y\u030A", u"Y\u030A"},
    {0x1E9A, u"A\u02BE", u"A\u02BE"},
    {0x1F50, u"\u03A5\u0313", u"\u03A5\u0313"},
    {0x1F52, u"\u03A5\u0313\u0300", u"\u03A5\u0313\u0300"},
    {0x1F54, u"\u03A5\u0313\u0301", u"\u03A5\u0313\u0301"},
    {0x1F56, u"\u03A5\u0313\u0342", u"\u03A5\u0313\u0342"},
    {0x1FB2, u"\u1FBA\u0399", u"\u1FBA\u0345"},
    {0x1FB3, u"\u0391\u0399", u"\u1FBC"},
    {0x1FB4, u"\u0386\u0399", u"\u0386\u0345"},
    {0x1FB6, u"\u0391\u0342", u"\u0391\u0342"},
    {0x1FB7, u"\u0391\u0342\u0399", u"\u0391\u0342\u0345"},
    {0x1FBC, u"\u0391\u0399", u"\u1FBC"},
    {0x1FC2, u"\u1FCA\u0399", u"\u1FCA\u0345"},
    {0x1FC3, u"\u0397\u0399", u"\u1FCC"},
    {0x1FC4, u"\u0389\u0399", u"\u0389\u0345"},
    {0x1FC6, u"\u0397\u0342", u"\u0397\u0342"},
    {0x1FC7, u"\u0397\u0342\u0399", u"\u0397\u0342\u0345"},
    {0x1FCC, u"\u0397\u0399", u"\u1FCC"},
    {0x1FD2, u"\u0399\u0308\u0300", u"\u0399\u0308\u0300"},
    {0x1FD3, u"\u0399\u0308\u0301", u"\u0399\u0308\u0301"},
    {0x1FD6, u"\u0399\u0342", u"\u0399\u0342"},
    {0x1FD7, u"\u0399\u0308\u0342", u"\u0399\u0308\u0342"},
    {0x1FE2, u"\u03A5\u0308\u0300", u"\u03A5\u0308\u0300"},
    {0x1FE3, u"\u03A5\u0308\u0301", u"\u03A5\u0308\u0301"},
    {0x1FE4, u"\u03A1\u0313", u"\u03A1\u0313"},
    {0x1FE6, u"\u03A5\u0342", u"\u03A5\u0342"},
    {0x1FE7, u"\u03A5\u0308\u0342", u"\u03A5\u0308\u0342"},
    {0x1FF2, u"\u1FFA\u0399", u"\u1FFA\u0345"},
    {0x1FF3, u"\u03A9\u0399", u"\u1FFC"},
    {0x1FF4, u"\u038F\u0399", u"\u038F\u0345"},
    {0x1FF6, u"\u03A9\u0342", u"\u03A9\u0342"},
    {0x1FF7, u"\u03A9\u0342\u0399", u"\u03A9\u0342\u0345"},
    {0x1FFC, u"\u03A9\u0399", u"\u1FFC"},
    {0xFB00, u"FF", u"Ff"},
    {0xFB01, u"FI", u"Fi"},
    {0xFB02, u"FL", u"Fl"},
    {0xFB03, u"FFI", u"Ffi"},
    {0xFB04, u"FFL", u"Ffl"},
    {0xFB05, u"ST", u"St"},
    {0xFB06, u"ST", u"St"},
    {0xFB13, u"\u0544\u0546", u"\u0544\u0576"},
    {0xFB14, u"\u0544\u0535", u"\u0544\u0565"},
    {0xFB15, u"\u0544\u053B", u"\u0544\u056B"},
    {0xFB16, u"\u054E\u0546", u"\u054E\u0576"},
    {0xFB17, u"\u0544\u053D", u"\u0544\u056D"},
};

constexpr uint32_t kDottedCapitalI = 0x130;
constexpr uint32_t kCapitalSigma = 0x3A3;
constexpr uint32_t kSmallSigma = 0x3C3;
constexpr uint32_t kFinalSigma = 0x3C2;

const SpecialCase* find_special(uint32_t code_point) {
  if (code_point < kSpecialCases[0].code_point) return nullptr;
  const auto found =
      std::ranges::lower_bound(kSpecialCases, code_point, {}, &SpecialCase::code_point);
  if (found == std::end(kSpecialCases) || found->code_point != code_point) return nullptr;
  return found;
}

void append_all(std::string& out, std::u16string_view code_points) {
  for (const char16_t code_point : code_points) utf8_append(out, code_point);
}

// Greek vowels with iota subscript: in upper case the iota becomes a letter of its own.
bool is_greek_with_iota(uint32_t c) {
  return c >= 0x1F80 && c <= 0x1FAF;
}

uint32_t greek_without_iota(uint32_t c) {
  const uint32_t vowel = c < 0x1F90 ? 0x1F08 : c < 0x1FA0 ? 0x1F28 : 0x1F68;
  return vowel + (c & 7);
}

void append_upper(std::string& out, uint32_t c) {
  if (is_greek_with_iota(c)) {
    utf8_append(out, greek_without_iota(c));
    utf8_append(out, 0x399);
  } else if (const SpecialCase* special = find_special(c)) {
    append_all(out, special->upper);
  } else {
    utf8_append(out, static_cast<uint32_t>(utf8proc_toupper(static_cast<int32_t>(c))));
  }
}

void append_title(std::string& out, uint32_t c) {
  if (is_greek_with_iota(c)) {
    utf8_append(out, c | 8);
  } else if (const SpecialCase* special = find_special(c)) {
    append_all(out, special->title);
  } else {
    utf8_append(out, static_cast<uint32_t>(utf8proc_totitle(static_cast<int32_t>(c))));
  }
}

// Whether the sigma at `offset` ends a word: it follows a cased letter, and no cased letter follows
// it. Characters without influence on case do not count.
bool is_final_sigma(std::string_view text, size_t offset) {
  const auto cased_at = [&](size_t at) { return is_cased(utf8_decode(text, at).value); };
  const auto ignored_at = [&](size_t at) { return is_case_ignorable(utf8_decode(text, at).value); };
  size_t before = offset;
  do {
    if (before == 0) return false;
    before = previous_offset(text, before);
  } while (ignored_at(before));
  if (!cased_at(before)) return false;
  size_t behind = offset + utf8_decode(text, offset).size;
  while (behind < text.size() && ignored_at(behind)) behind += utf8_decode(text, behind).size;
  return behind == text.size() || !cased_at(behind);
}

// Appends the lower case of `c`, which is at `offset` in `text`: the form of a sigma depends on the
// characters around it.
void append_lower(std::string& out, uint32_t c, std::string_view text, size_t offset) {
  if (c == kCapitalSigma) {
    utf8_append(out, is_final_sigma(text, offset) ? kFinalSigma : kSmallSigma);
  } else if (c == kDottedCapitalI) {
    append_all(out, u"i\u0307");
  } else {
    utf8_append(out, static_cast<uint32_t>(utf8proc_tolower(static_cast<int32_t>(c))));
  }
}

// Maps `text` by calling append(out, code_point, offset) for each code point, in order.
template <class Append>
MarkedText map_characters(const MarkedText& text, Append append) {
  MarkedText mapped;
  mapped.reserve(text.size());
  std::string character;
  text.for_each_run(0, text.size(), [&](size_t begin, size_t end, bool trusted) {
    for (size_t offset = begin; offset < end;) {
      const CodePoint code_point = utf8_decode(text.view(), offset);
      character.clear();
      append(character, code_point.value, offset);
      mapped.append(character, trusted);
      offset += code_point.size;
    }
  });
  return mapped;
}

bool separates_words(uint32_t c) {
  constexpr std::string_view kPunctuation = "-({[<";
  return is_space(c) ||
         (c < 0x80 && kPunctuation.find(static_cast<char>(c)) != std::string_view::npos);
}

}  // namespace

MarkedText to_lower(const MarkedText& text) {
  return map_characters(text, [&](std::string& out, uint32_t c, size_t offset) {
    append_lower(out, c, text.view(), offset);
  });
}

MarkedText to_upper(const MarkedText& text) {
  return map_characters(text, [](std::string& out, uint32_t c, size_t) { append_upper(out, c); });
}

MarkedText capitalized(const MarkedText& text) {
  return map_characters(text, [&](std::string& out, uint32_t c, size_t offset) {
    if (offset == 0) {
      append_title(out, c);
    } else {
      append_lower(out, c, text.view(), offset);
    }
  });
}

MarkedText title_cased(const MarkedText& text) {
  bool behind_cased = false;
  return map_characters(text, [&](std::string& out, uint32_t c, size_t offset) {
    if (behind_cased) {
      append_lower(out, c, text.view(), offset);
    } else {
      append_title(out, c);
    }
    behind_cased = is_cased(c);
  });
}

MarkedText words_capitalized(const MarkedText& text) {
  bool begins_word = true;
  size_t rest_begin = 0;  // after the word's first character: lower() is applied from here
  return map_characters(text, [&](std::string& out, uint32_t c, size_t offset) {
    const bool separator = separates_words(c);
    if (begins_word || separator) {
      append_upper(out, c);
      rest_begin = offset + utf8_decode(text.view(), offset).size;
    } else {
      append_lower(out, c, text.view().substr(rest_begin), offset - rest_begin);
    }
    begins_word = separator;
  });
}

}  // namespace cascade::jinja
