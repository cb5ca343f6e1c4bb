// Thoughts first, then the answer, then an end token.
#include "model/grammar/output_constraint.h"

#include <algorithm>

namespace cascade {

SharedGrammar::SharedGrammar(Grammar grammar, const GrammarVocabulary& vocabulary,
                             size_t learned_max)
    : grammar_bytes_(grammar.memory_bytes()),
      automaton_(std::make_shared<Grammar>(std::move(grammar)), learned_max),
      masks_(vocabulary.trie, vocabulary.ends, vocabulary.tokens) {}

size_t SharedGrammar::memory_bytes() const {
  const std::lock_guard lock(mutex_);
  return grammar_bytes_ + automaton_.memory_bytes() + masks_.memory_bytes();
}

void SharedGrammar::forget() {
  const std::lock_guard lock(mutex_);
  masks_.clear();
  automaton_.forget({});
}

OutputConstraint::OutputConstraint(std::shared_ptr<SharedGrammar> grammar,
                                   const GrammarVocabulary& vocabulary, Thoughts thoughts,
                                   bool goes_on)
    : grammar_(std::move(grammar)),
      vocabulary_(&vocabulary),
      goes_on_(goes_on),
      phase_(thoughts == Thoughts::kBegun ? Phase::kThoughts : Phase::kStart) {
  if (phase_ == Phase::kStart) begin_answer(/*behind_thoughts=*/false);
  const bool may_think = thoughts == Thoughts::kMayCome && vocabulary.think.open >= 0;
  if (phase_ == Phase::kAnswer && may_think) phase_ = Phase::kStart;
}

void OutputConstraint::begin_answer(bool behind_thoughts) {
  phase_ = Phase::kAnswer;
  const std::lock_guard lock(grammar_->mutex_);
  GrammarAutomaton& automaton = grammar_->automaton_;
  const bool drops_space = vocabulary_->drops_first_space && (behind_thoughts || !goes_on_);
  const GrammarNodeId root = automaton.grammar().root_behind(drops_space, behind_thoughts);
  matcher_ = Matcher(automaton, automaton.start(root));
}

Result<OutputConstraint> OutputConstraint::behind(std::shared_ptr<SharedGrammar> grammar,
                                                  const GrammarVocabulary& vocabulary,
                                                  Thoughts thoughts,
                                                  std::span<const int32_t> tokens, bool goes_on) {
  OutputConstraint constraint(std::move(grammar), vocabulary, thoughts, goes_on);
  for (const int32_t token : tokens) RETURN_IF_ERROR(constraint.take(token));
  return constraint;
}

Result<std::shared_ptr<const TokenSet>> OutputConstraint::allowed() {
  if (phase_ == Phase::kThoughts) {
    // The vocabulary owns the set.
    return std::shared_ptr<const TokenSet>(std::shared_ptr<void>(), &vocabulary_->all_but_ends);
  }
  std::shared_ptr<const TokenSet> set;
  {
    const std::lock_guard lock(grammar_->mutex_);
    set = grammar_->masks_.allowed(grammar_->automaton_, matcher_->state());
  }
  if (phase_ == Phase::kStart) {
    auto with_thoughts = std::make_shared<TokenSet>(*set);
    with_thoughts->add(vocabulary_->think.open);
    return std::shared_ptr<const TokenSet>(std::move(with_thoughts));
  }
  if (set->empty())
    return unsupported("grammar",
                       "no token of this model can continue the answer as the grammar requires");
  return set;
}

Status OutputConstraint::take(int32_t token) {
  if (phase_ == Phase::kThoughts) {
    if (token == vocabulary_->think.close) begin_answer(/*behind_thoughts=*/true);
    return {};
  }
  const bool opens = phase_ == Phase::kStart && token == vocabulary_->think.open;
  phase_ = opens ? Phase::kThoughts : Phase::kAnswer;
  if (opens) return {};
  const bool known = token >= 0 && static_cast<size_t>(token) < vocabulary_->tokens;
  const bool ends = std::ranges::find(vocabulary_->ends, token) != vocabulary_->ends.end();
  const std::lock_guard lock(grammar_->mutex_);
  if (ends && matcher_->is_complete()) return {};
  const bool text = known && !vocabulary_->bytes[static_cast<size_t>(token)].empty();
  if (text && matcher_->accept(vocabulary_->bytes[static_cast<size_t>(token)])) return {};
  return Error{ErrorCode::kInternal, "grammar",
               "the token " + std::to_string(token) + " is not what the grammar allows"};
}

}  // namespace cascade
