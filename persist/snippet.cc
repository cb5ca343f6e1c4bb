// A few words of a text around what was searched for.
#include "persist/snippet.h"

#include <utf8proc.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <optional>
#include <set>

#include "base/utf8.h"

namespace cascade {
namespace {

constexpr size_t kWordsBefore = 4;
constexpr size_t kSnippetWords = 12;
// Where a text without spaces is cut.
constexpr size_t kSnippetBytesMax = 400;

struct Word {
  size_t begin;
  size_t end;
};

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

// The first word at or after `from`.
std::optional<Word> next_word(std::string_view text, size_t from) {
  std::optional<size_t> begin;
  while (from < text.size()) {
    const CodePoint c = utf8_decode(text, from);
    if (is_of_word(c.value)) {
      if (!begin) begin = from;
    } else if (begin) {
      return Word{*begin, from};
    }
    from += c.size;
  }
  if (!begin) return std::nullopt;
  return Word{*begin, text.size()};
}

// The word without case and accents.
std::string folded(std::string_view word) {
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

std::set<std::string> words_of(std::string_view query) {
  std::set<std::string> words;
  for (auto word = next_word(query, 0); word; word = next_word(query, word->end)) {
    words.insert(folded(query.substr(word->begin, word->end - word->begin)));
  }
  return words;
}

// Where the snippet begins: some words before the first wanted one.
size_t begin_of(std::string_view text, const std::set<std::string>& wanted) {
  std::deque<size_t> begins;  // where the last words begin
  for (auto word = next_word(text, 0); word; word = next_word(text, word->end)) {
    begins.push_back(word->begin);
    if (begins.size() > kWordsBefore + 1) begins.pop_front();
    if (!wanted.contains(folded(text.substr(word->begin, word->end - word->begin)))) continue;
    return begins.size() <= kWordsBefore ? 0 : begins.front();
  }
  return 0;
}

}  // namespace

std::string snippet_of(std::string_view text, std::string_view query) {
  const size_t begin = begin_of(text, words_of(query));
  size_t end = begin;
  size_t words = 0;
  auto word = next_word(text, begin);
  for (; word && words < kSnippetWords; word = next_word(text, word->end)) {
    end = word->end;
    ++words;
  }
  const bool is_cut = word.has_value();
  if (!is_cut) end = text.size();
  std::string snippet(text.substr(begin, std::min(end - begin, kSnippetBytesMax)));
  snippet.resize(snippet.size() - utf8_incomplete_suffix(snippet));
  if (is_cut || begin + snippet.size() < end) snippet += "…";
  return begin > 0 ? "…" + snippet : snippet;
}

}  // namespace cascade
