// A model's tokens, as constrained sampling sees them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/grammar/token_mask.h"
#include "model/grammar/token_trie.h"
#include "model/tokenizer.h"

namespace cascade {

// Immutable; any thread.
struct GrammarVocabulary {
  size_t tokens = 0;               // that a logit is there for
  std::vector<std::string> bytes;  // [tokens]; none of tokens that are no text of an answer
  TokenTrie trie;
  std::vector<int32_t> ends;  // any of them ends an answer
  ThinkTokens think;          // -1: the model has none
  bool drops_first_space = false;
  TokenSet all_but_ends;  // what may come within thoughts

  // `ends` are the end tokens, `tokens` the number of logits.
  // Errors: kUnsupported, field "grammar", if the model has no end token, or its tokens cannot
  // spell every text.
  static Result<GrammarVocabulary> make(const Tokenizer& tokenizer,
                                        const std::vector<int32_t>& ends, size_t tokens);
};

}  // namespace cascade
