// The Damerau-Levenshtein distance, computed row by row.
#include "base/suggestion.h"

#include <algorithm>
#include <array>

namespace cascade {
namespace {

// No option has a longer name.
constexpr size_t kLettersMax = 64;
using Row = std::array<size_t, kLettersMax + 1>;

std::string plain(std::string_view word) {
  std::string result(word.substr(0, kLettersMax));
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '_') c = '-';
  }
  return result;
}

// The number of changes from one word to the other; no letter is changed twice.
size_t distance(const std::string& from, const std::string& to) {
  Row before{}, row{}, next{};
  for (size_t j = 0; j <= to.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    next[0] = i;
    for (size_t j = 1; j <= to.size(); ++j) {
      const size_t other = row[j - 1] + (from[i - 1] == to[j - 1] ? 0 : 1);
      next[j] = std::min({row[j] + 1, next[j - 1] + 1, other});
      const bool swapped = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (swapped) next[j] = std::min(next[j], before[j - 2] + 1);
    }
    before = row;
    row = next;
  }
  return row[to.size()];
}

size_t letters_of(const std::string& word) {
  return static_cast<size_t>(std::ranges::count_if(word, [](char c) { return c != '-'; }));
}

}  // namespace

std::optional<std::string> closest_word(std::string_view word, std::span<const std::string> words) {
  const std::string wrong = plain(word);
  const size_t letters = letters_of(wrong);
  const std::string* closest = nullptr;
  size_t least = std::max<size_t>(letters / 3, 1) + 1;
  for (const std::string& candidate : words) {
    const std::string right = plain(candidate);
    // One or two letters could be the beginning of anything.
    const bool begins = letters >= 3 && right.starts_with(wrong);
    const size_t changes = begins ? 1 : distance(wrong, right);
    if (changes >= least || changes >= letters) continue;
    least = changes;
    closest = &candidate;
  }
  if (closest == nullptr) return std::nullopt;
  return *closest;
}

std::string did_you_mean(std::string_view word, std::span<const std::string> words) {
  const std::optional<std::string> meant = closest_word(word, words);
  return meant ? "; did you mean " + *meant + "?" : std::string();
}

}  // namespace cascade
