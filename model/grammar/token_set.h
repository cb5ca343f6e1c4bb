// Sets of tokens of a vocabulary.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace cascade {

// A set of token ids: bit id % 64 of word id / 64.
struct TokenSet {
  std::vector<uint64_t> words;

  explicit TokenSet(size_t tokens) : words((tokens + 63) / 64) {}
  void add(int32_t id) { words[static_cast<size_t>(id) / 64] |= uint64_t{1} << (id % 64); }
  void remove(int32_t id) { words[static_cast<size_t>(id) / 64] &= ~(uint64_t{1} << (id % 64)); }
  bool has(int32_t id) const { return (words[static_cast<size_t>(id) / 64] >> (id % 64) & 1) != 0; }
  bool empty() const {
    return std::ranges::all_of(words, [](uint64_t word) { return word == 0; });
  }
};

}  // namespace cascade
