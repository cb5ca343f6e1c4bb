// A walk over all tokens at once.
#include "model/grammar/token_mask.h"

namespace cascade {

TokenSet allowed_tokens(GrammarAutomaton& automaton, MatcherState* state, const TokenTrie& trie,
                        size_t tokens) {
  TokenSet allowed(tokens);
  std::vector<MatcherState*> path(trie.depth() + 1);  // path[d]: the state after d bytes
  path[0] = state;
  size_t work = 0;
  const std::span<const TokenTrie::Node> nodes = trie.nodes();
  for (size_t i = 0; i < nodes.size();) {
    const TokenTrie::Node& node = nodes[i];
    if (work > kMaskWorkMax && node.depth > 1) {
      i = node.end;
      continue;
    }
    if (automaton.full()) automaton.forget(std::span(path).first(node.depth));
    MatcherState* before = path[node.depth - 1];
    if (node.plain_bytes > 0 && automaton.takes_plain(before, node.plain_bytes)) {
      for (const int32_t id : trie.tokens_below(node)) allowed.add(id);
      work += before->places();
      i = node.end;
      continue;
    }
    MatcherState* behind = automaton.step(before, node.byte);
    if (!behind->can_continue() && !behind->complete()) {
      i = node.end;
      continue;
    }
    work += before->places() + behind->places();
    path[node.depth] = behind;
    for (const int32_t id : trie.tokens(node)) allowed.add(id);
    ++i;
  }
  return allowed;
}

void TokenMasks::clear() {
  by_state_.clear();
  entries_.clear();
}

std::shared_ptr<const TokenSet> TokenMasks::allowed(GrammarAutomaton& automaton,
                                                    const std::shared_ptr<MatcherState>& state) {
  if (const auto known = by_state_.find(state.get()); known != by_state_.end()) {
    entries_.splice(entries_.begin(), entries_, known->second);
    return entries_.front().set;
  }
  auto set = std::make_shared<TokenSet>(allowed_tokens(automaton, state.get(), trie_, tokens_));
  if (state->complete()) {
    for (const int32_t end : ends_) set->add(end);
  }
  entries_.push_front({state, std::move(set)});
  by_state_[state.get()] = entries_.begin();
  if (entries_.size() > kSetsMax) {
    by_state_.erase(entries_.back().state.get());
    entries_.pop_back();
  }
  return entries_.front().set;
}

}  // namespace cascade
