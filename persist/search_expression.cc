// Words are quoted, so nothing in them is an operator.
#include "persist/search_expression.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/utf8.h"
#include "base/words.h"

namespace cascade {
namespace {

constexpr std::string_view kSpaces("\0\t\n\v\f\r ", 7);
// How many words count at either end of a long question.
constexpr size_t kWordsAtEnds = 32;
// Words begin alike if this many characters are the same ("truncation stemming"): shorter words
// must be equal.
constexpr size_t kStemCharacters = 5;

std::string quoted(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c != '\0') quoted += c;
    if (c == '"') quoted += c;
  }
  return quoted + '"';
}

std::string expression(std::string_view tenant, const std::string& words) {
  // A tenant's name may consist of characters that make no words: then only the rows decide.
  const bool has_words = std::ranges::any_of(
      tenant, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
  const std::string whose =
      has_words ? "(tenant : " + quoted(tenant) + " OR published : \"1\") AND " : "";
  return whose + "{name text query_text} : (" + words + ")";
}

// Stands for the words that begin like this one, or for this one if it is short.
std::string word_like(std::string_view word) {
  size_t characters = 0, end = 0;
  for (; characters < kStemCharacters && end < word.size(); ++characters) {
    end += utf8_decode(word, end).size;
  }
  return quoted(word.substr(0, end)) + (characters == kStemCharacters ? " *" : "");
}

}  // namespace

std::optional<std::string> all_words(std::string_view tenant, std::string_view query) {
  if (query.size() > kSearchBytesMax) return std::nullopt;
  std::string words;
  size_t count = 0;
  size_t begin = 0;
  while (begin < query.size()) {
    const size_t end = std::min(query.find_first_of(kSpaces, begin), query.size());
    if (end > begin) words += " " + quoted(query.substr(begin, end - begin));
    count += end > begin;
    begin = end + 1;
  }
  if (count == 0 || count > kSearchWordsMax) return std::nullopt;
  return expression(tenant, words);
}

std::optional<std::string> any_word(std::string_view tenant, std::string_view question) {
  std::vector<std::string> all;
  for (auto word = next_word(question, 0); word; word = next_word(question, word->end)) {
    all.push_back(word_like(question.substr(word->begin, word->end - word->begin)));
  }
  if (all.empty()) return std::nullopt;
  if (all.size() > 2 * kWordsAtEnds) {
    all.erase(all.begin() + kWordsAtEnds, all.end() - static_cast<ptrdiff_t>(kWordsAtEnds));
  }
  std::ranges::sort(all);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  std::string words;
  for (const std::string& word : all) words += (words.empty() ? "" : " OR ") + word;
  return expression(tenant, words);
}

}  // namespace cascade
