// The word that somebody meant who wrote one that there is not.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cascade {

// The one of `words` that is most like `word`: it takes at most one change for every three letters
// to get from one to the other (a letter more, less, another one, or two in each other's place), or
// `word` is how it begins. Case, and "_" for "-", make no difference. nullopt: none is. Time: the
// product of the lengths for each word; of `word` 64 bytes count.
std::optional<std::string> closest_word(std::string_view word, std::span<const std::string> words);

// "; did you mean --max-tokens?", or nothing if no word is like it.
std::string did_you_mean(std::string_view word, std::span<const std::string> words);

}  // namespace cascade
