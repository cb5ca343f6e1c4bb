// Finds the known word that was meant by an unknown one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace cascade {

// The one of `words` that is most like `word`: it begins with `word`, or differs from it by at most
// one change for every three letters. A change adds, removes or replaces a letter, or swaps two
// neighbours. Case, and "_" instead of "-", make no difference. nullopt: no word is like it. The
// time for each word is the product of the two lengths; only the first 64 bytes of `word` count.
std::optional<std::string> closest_word(std::string_view word, std::span<const std::string> words);

// "; did you mean --max-tokens?", or nothing if no word is like it.
std::string did_you_mean(std::string_view word, std::span<const std::string> words);

}  // namespace cascade
