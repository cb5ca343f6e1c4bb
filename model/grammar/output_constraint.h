// Holds a generation to a grammar, token by token.
#pragma once

#include <memory>
#include <mutex>
#include <span>

#include "model/grammar/token_mask.h"
#include "model/grammar/vocabulary.h"

namespace cascade {

// A grammar with what was learned of it: shared by the generations that have it. Any thread.
class SharedGrammar {
 public:
  // What is learned of it takes at most `learned_max` bytes, beside sets of tokens.
  SharedGrammar(Grammar grammar, const GrammarVocabulary& vocabulary,
                size_t learned_max = GrammarAutomaton::kMemoryMax);

  size_t memory_bytes() const;
  // Drops what was learned of it; it is found out again.
  void forget();

 private:
  friend class OutputConstraint;
  mutable std::mutex mutex_;
  const size_t grammar_bytes_;
  GrammarAutomaton automaton_;
  TokenMasks masks_;
};

// Whether thoughts stand before the answer: never, if the first token is the one that opens them,
// or the prompt has opened them.
enum class Thoughts { kNone, kMayCome, kBegun };

// One generation, one thread at a time. What is allowed depends on the grammar and on the tokens so
// far, and on nothing else. Thoughts are free, but that they cannot end the generation.
class OutputConstraint {
 public:
  // Behind `tokens`, which were allowed one after another. The vocabulary must outlive it.
  // `goes_on`: the answer goes on with a text, so that a space at its beginning is not left out.
  // Errors: kInternal if one of them was not allowed.
  static Result<OutputConstraint> behind(std::shared_ptr<SharedGrammar> grammar,
                                         const GrammarVocabulary& vocabulary, Thoughts thoughts,
                                         std::span<const int32_t> tokens, bool goes_on = false);

  // The tokens that may come next; an end token exactly where the answer is complete.
  // Errors: kUnsupported if there is none.
  Result<std::shared_ptr<const TokenSet>> allowed();
  // Errors: kInternal if it is not allowed.
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
  std::optional<Matcher> matcher_;  // but within thoughts
};

}  // namespace cascade
