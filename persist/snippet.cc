// A few words of a text around what was searched for.
#include "persist/snippet.h"

#include <algorithm>
#include <deque>
#include <set>

#include "base/utf8.h"
#include "base/words.h"

namespace cascade {
namespace {

constexpr size_t kWordsBefore = 4;
constexpr size_t kSnippetWords = 12;
// Where a text without spaces is cut.
constexpr size_t kSnippetBytesMax = 400;

std::set<std::string> words_of(std::string_view query) {
  std::set<std::string> words;
  for (auto word = next_word(query, 0); word; word = next_word(query, word->end)) {
    words.insert(folded_word(query.substr(word->begin, word->end - word->begin)));
  }
  return words;
}

// Where the snippet begins: some words before the first wanted one.
size_t begin_of(std::string_view text, const std::set<std::string>& wanted) {
  std::deque<size_t> begins;  // where the last words begin
  for (auto word = next_word(text, 0); word; word = next_word(text, word->end)) {
    begins.push_back(word->begin);
    if (begins.size() > kWordsBefore + 1) begins.pop_front();
    if (!wanted.contains(folded_word(text.substr(word->begin, word->end - word->begin)))) continue;
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
