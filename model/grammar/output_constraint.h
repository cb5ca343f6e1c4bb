// Holds a generation to a grammar, token by token.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "model/grammar/token_mask.h"
#include "model/grammar/vocabulary.h"

namespace cascade {

// A grammar with what was learned about it: shared by the generations that use the grammar. Any
// thread.
class SharedGrammar {
 public:
  // At most `learned_max` bytes are learned about the grammar, not counting sets of tokens.
  SharedGrammar(Grammar grammar, const GrammarVocabulary& vocabulary,
                size_t learned_max = GrammarAutomaton::kMemoryMax);

  size_t memory_bytes() const;
  // Drops what was learned about the grammar; it will be found out again when needed.
  void forget();

 private:
  friend class OutputConstraint;
  mutable std::mutex mutex_;
  const size_t grammar_bytes_;
  GrammarAutomaton automaton_;
  TokenMasks masks_;
};

// Whether thoughts come before the answer: never (kNone), if the first token opens them (kMayCome),
// or certainly, because the prompt has opened them (kBegun).
enum class Thoughts { kNone, kMayCome, kBegun };

// One generation, one thread at a time. Only the grammar and the tokens so far decide which tokens
// are allowed. Thoughts may be any text, except that they cannot end the generation.
class OutputConstraint {
 public:
  // The constraint after `tokens`, each of which must be allowed where it stands. The vocabulary
  // must outlive the constraint. `goes_on`: the answer continues a text, so a space at its
  // beginning is not left out. Errors: kInternal if one of the tokens was not allowed.
  static Result<OutputConstraint> behind(std::shared_ptr<SharedGrammar> grammar,
                                         const GrammarVocabulary& vocabulary, Thoughts thoughts,
                                         std::span<const int32_t> tokens, bool goes_on = false);

  // The tokens that may come next. An end token is among them exactly where the answer is complete.
  // Errors: kUnsupported if there are none.
  Result<std::shared_ptr<const TokenSet>> allowed();
  // Errors: kInternal if `token` is not allowed.
  Status take(int32_t token);

 private:
  enum class Phase { kStart, kThoughts, kAnswer };

  OutputConstraint(std::shared_ptr<SharedGrammar> grammar, const GrammarVocabulary& vocabulary,
                   Thoughts thoughts, bool goes_on);
  void begin_answer(bool behind_thoughts);

  std::shared_ptr<SharedGrammar> grammar_;
  const GrammarVocabulary* vocabulary_;
  bool goes_on_;
  Phase phase_;
  std::optional<Matcher> matcher_;  // not used within thoughts
};

}  // namespace cascade
