// Which tokens of a vocabulary may come next in a grammar.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "model/grammar/matcher.h"
#include "model/grammar/token_set.h"
#include "model/grammar/token_trie.h"

namespace cascade {

// The tokens of `trie` that may come in `state`. A walk over the tree finds them; it goes no
// further where a byte may not come. If that is too much work, the last tokens of more than one
// byte are left out. The work is counted in places of the grammar, and does not depend on what is
// known already: a string without any limits takes 0.8 million for 152,000 tokens.
inline constexpr size_t kMaskWorkMax = 8'000'000;
TokenSet allowed_tokens(GrammarAutomaton& automaton, MatcherState* state, const TokenTrie& trie,
                        size_t tokens);

// The sets for the states that were asked for last. One grammar, one vocabulary, one thread at a
// time.
class TokenMasks {
 public:
  // 64 sets of a vocabulary of 152,000 tokens take 1.2 MB.
  static constexpr size_t kSetsMax = 64;

  // The vocabulary has `tokens` ids. The end tokens are allowed where the text may end. `trie` and
  // `ends` must outlive the object.
  TokenMasks(const TokenTrie& trie, const std::vector<int32_t>& ends, size_t tokens)
      : trie_(trie), ends_(ends), tokens_(tokens) {}

  std::shared_ptr<const TokenSet> allowed(GrammarAutomaton& automaton,
                                          const std::shared_ptr<MatcherState>& state);
  void clear();
  // Counts each set, its places in the list and the map, and its state, which perhaps only the
  // entry still holds.
  size_t memory_bytes() const { return entries_.size() * (tokens_ / 8 + 600); }

 private:
  struct Entry {
    std::shared_ptr<MatcherState> state;
    std::shared_ptr<const TokenSet> set;
  };

  const TokenTrie& trie_;
  const std::vector<int32_t>& ends_;
  const size_t tokens_;
  std::list<Entry> entries_;  // the most recently used first
  std::unordered_map<const MatcherState*, std::list<Entry>::iterator> by_state_;
};

}  // namespace cascade
