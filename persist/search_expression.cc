// Words are quoted, so nothing in them is an operator.
#include "persist/search_expression.h"

#include <algorithm>
#include <cctype>
#include <vector>

#include "base/words.h"

namespace cascade {
namespace {

constexpr std::string_view kSpaces("\0\t\n\v\f\r ", 7);
// How many words count at either end of a long question.
constexpr size_t kWordsAtEnds = 32;

std::string as_phrase(std::string_view text) {
  std::string phrase = "\"";
  for (const char c : text) {
    if (c != '\0') phrase += c;
    if (c == '"') phrase += c;
  }
  return phrase + '"';
}

}  // namespace

std::optional<std::string> all_words(std::string_view tenant, std::string_view query) {
  if (query.size() > kSearchBytesMax) return std::nullopt;
  std::string words;
  size_t count = 0;
  size_t begin = 0;
  while (begin < query.size()) {
    const size_t end = std::min(query.find_first_of(kSpaces, begin), query.size());
    if (end > begin) words += " " + as_phrase(query.substr(begin, end - begin));
    count += end > begin;
    begin = end + 1;
  }
  if (count == 0 || count > kSearchWordsMax) return std::nullopt;
  // A tenant's name may consist of characters that make no words: then only the rows decide.
  const bool has_words = std::ranges::any_of(
      tenant, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
  const std::string whose =
      has_words ? "(tenant : " + as_phrase(tenant) + " OR published : \"1\") AND " : "";
  return whose + "{name text query_text} : (" + words + ")";
}

std::vector<std::string> each_word(std::string_view question) {
  std::vector<std::string> words;
  for (auto word = next_word(question, 0); word; word = next_word(question, word->end)) {
    words.push_back(folded_word(question.substr(word->begin, word->end - word->begin)));
  }
  if (words.size() > 2 * kWordsAtEnds) {
    words.erase(words.begin() + kWordsAtEnds, words.end() - static_cast<ptrdiff_t>(kWordsAtEnds));
  }
  std::ranges::sort(words);
  words.erase(std::unique(words.begin(), words.end()), words.end());
  for (std::string& word : words) word = "{text query_text} : " + as_phrase(word);
  return words;
}

}  // namespace cascade
