// Prompts of a wanted length, the same for the same seed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/tokenizer.h"

namespace cascade::serve {

class Texts {
 public:
  // `tokenizer` must outlive this object.
  Texts(const Tokenizer& tokenizer, uint64_t seed) : tokenizer_(tokenizer), seed_(seed) {}

  // Text `number`, with at most `tokens` tokens and only a few less. Texts with different numbers
  // differ from their first word on, so that they share no pages.
  Result<std::string> words(uint64_t number, int64_t tokens) const;
  // The parts of a conversation, of the kinds that the demo model knows: a system prompt (empty for
  // 0 tokens), and question `number`, where 1 is the first. Notes bring each to about `tokens`
  // tokens.
  Result<std::string> system_prompt(int64_t tokens) const;
  Result<std::string> question(uint64_t number, int64_t tokens) const;
  uint64_t seed() const { return seed_; }
  // The number of tokens that `text` has on its own.
  Result<int64_t> count(const std::string& text) const;

 private:
  // Notes shorter than a line are left out.
  static constexpr int64_t kLineTokens = 16;

  Result<std::string> notes(uint64_t number, int64_t tokens) const;
  Result<std::string> fit(const std::vector<std::string>& pieces, const char* separator,
                          int64_t tokens) const;

  const Tokenizer& tokenizer_;
  uint64_t seed_;
};

}  // namespace cascade::serve
