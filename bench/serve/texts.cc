// Words and sentences from short lists: enough that texts differ, plain enough for any vocabulary.
#include "bench/serve/texts.h"

#include <array>
#include <vector>

#include "base/random.h"

namespace cascade::serve {
namespace {

constexpr std::array kWords = {"river", "stone",  "window", "green", "paper", "market", "winter",
                               "bread", "engine", "garden", "road",  "music", "letter", "island",
                               "glass", "number", "field",  "light", "horse", "table"};
constexpr std::array kCountries = {"France", "Japan",  "Kenya",  "Peru",    "Norway",
                                   "Italy",  "Mexico", "Turkey", "Croatia", "Bhutan"};
constexpr std::array kColors = {"red", "blue", "green", "white", "black", "yellow"};
constexpr const char* kSystem = "You are a helpful assistant.";

std::string join(const std::vector<std::string>& pieces, size_t count, const char* separator) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += (i > 0 ? separator : "") + pieces[i];
  return text;
}

template <class List>
std::string one_of(const List& list, Random& random) {
  return list[random.below(list.size())];
}

}  // namespace

Result<int64_t> Texts::count(const std::string& text) const {
  ASSIGN_OR_RETURN(const auto ids,
                   tokenizer_.encode(text, /*trusted=*/false, /*with_template=*/true));
  return static_cast<int64_t>(ids.size());
}

// Joins as many of the first `pieces` as have at most `tokens` tokens together, but at least one.
Result<std::string> Texts::fit(const std::vector<std::string>& pieces, const char* separator,
                               int64_t tokens) const {
  size_t low = 1, high = pieces.size();
  while (low < high) {
    const size_t middle = (low + high + 1) / 2;
    ASSIGN_OR_RETURN(const int64_t count, this->count(join(pieces, middle, separator)));
    if (count <= tokens) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return join(pieces, low, separator);
}

Result<std::string> Texts::words(uint64_t number, int64_t tokens) const {
  Random random(counter_random(seed_, number));
  // Every word takes at least one token; the first word names the text.
  std::vector<std::string> words = {std::to_string(number) + "."};
  while (static_cast<int64_t>(words.size()) < tokens) words.push_back(one_of(kWords, random));
  return fit(words, " ", tokens);
}

Result<std::string> Texts::notes(uint64_t number, int64_t tokens) const {
  Random random(counter_random(seed_, number));
  std::vector<std::string> lines = {"Notes:"};
  // A line takes at least four tokens.
  while (static_cast<int64_t>(lines.size()) < tokens / 4 + 1) {
    const std::string code = std::to_string(1000 + random.below(9000));
    lines.push_back("The code of the " + one_of(kColors, random) + " " + one_of(kWords, random) +
                    " is " + code + ".");
  }
  return fit(lines, "\n", tokens);
}

Result<std::string> Texts::system_prompt(int64_t tokens) const {
  if (tokens == 0) return std::string();
  ASSIGN_OR_RETURN(const int64_t own, count(kSystem));
  if (own + kLineTokens > tokens) return std::string(kSystem);
  ASSIGN_OR_RETURN(const std::string notes, this->notes(0, tokens - own - 1));
  return kSystem + ("\n\n" + notes);
}

Result<std::string> Texts::question(uint64_t number, int64_t tokens) const {
  Random random(counter_random(seed_, number));
  const std::string country = one_of(kCountries, random);
  const std::string a = std::to_string(random.below(20)), b = std::to_string(random.below(20));
  const std::array questions = {"What is the capital of " + country + "?",
                                "What is " + a + " + " + b + "?", "Where is " + country + "?",
                                "Tell me the capital city of " + country + ".",
                                std::string("What was my first question?")};
  const std::string question = questions[(number + questions.size() - 1) % questions.size()];
  ASSIGN_OR_RETURN(const int64_t own, count(question));
  if (own + kLineTokens > tokens) return question;
  ASSIGN_OR_RETURN(const std::string notes, this->notes(number, tokens - own - 1));
  return notes + "\n\n" + question;
}

}  // namespace cascade::serve
