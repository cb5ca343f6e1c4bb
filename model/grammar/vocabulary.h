// A model's tokens, as constrained sampling sees them.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/calls/call_form.h"
#include "model/grammar/answer_form.h"
#include "model/grammar/token_set.h"
#include "model/grammar/token_trie.h"
#include "model/tokenizer.h"

namespace cascade {

// Immutable; any thread.
struct GrammarVocabulary {
  size_t tokens = 0;  // the number of logits
  // [tokens]; empty for tokens that are not text of an answer; mark_bytes() for the marks of `form`
  std::vector<std::string> bytes;
  TokenTrie trie;
  std::vector<int32_t> ends;  // each of these tokens ends an answer
  ThinkTokens think;          // -1: the model has no such token
  bool drops_first_space = false;
  TokenSet all_but_ends;  // the tokens that may come within thoughts
  AnswerForm form = AnswerForm::kTagged;

  // `ends` are the end tokens, `tokens` the number of logits, `calls` the form in which the model
  // writes calls.
  // Errors: kUnsupported, field "grammar", if the model has no end token, or its tokens cannot
  // spell every text.
  static Result<GrammarVocabulary> make(const Tokenizer& tokenizer,
                                        const std::vector<int32_t>& ends, size_t tokens,
                                        CallForm calls = CallForm::kJson);
};

// The vocabulary of one model, made when it is first wanted: that takes some 0.1 s for 150,000
// tokens. Any thread.
class LazyGrammarVocabulary {
 public:
  // Call it with the same arguments each time. Errors: as GrammarVocabulary::make().
  const Result<GrammarVocabulary>& get(const Tokenizer& tokenizer, const std::vector<int32_t>& ends,
                                       size_t tokens, CallForm calls) const;

 private:
  mutable std::once_flag once_;
  mutable std::optional<Result<GrammarVocabulary>> vocabulary_;
};
std::shared_ptr<const LazyGrammarVocabulary> make_lazy_grammar_vocabulary();

}  // namespace cascade
