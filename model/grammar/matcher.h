// Reads a text byte by byte and knows at each place how it may go on in a grammar.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/grammar/places.h"

namespace cascade {

class GrammarAutomaton;

// A set of places, and the sets that come after it, as far as they are known.
class MatcherState : public std::enable_shared_from_this<MatcherState> {
 public:
  explicit MatcherState(GrammarPlaces places) : places_(std::move(places)) {}
  bool complete() const { return places_.complete; }
  // Whether a byte may follow. After it, the grammar can always be completed.
  bool can_continue() const { return !places_.places.empty(); }
  // The amount of work of a step from here. The amount does not depend on what is known already.
  size_t places() const { return places_.places.size(); }

 private:
  friend class GrammarAutomaton;
  GrammarPlaces places_;
  std::vector<MatcherState*> behind_;  // the index is a class of bytes; null: not known
  // The state to which every plain byte leads; null if no state is common to all plain bytes, or it
  // is not known.
  MatcherState* behind_plain_ = nullptr;
  bool plain_known_ = false;
  bool kept_ = false;  // the automaton keeps it
};

// The states of a grammar's matchers, each computed when it is first wanted and kept for the next
// time, within a bound. One thread at a time.
class GrammarAutomaton {
 public:
  static constexpr size_t kMemoryMax = size_t{8} << 20;

  explicit GrammarAutomaton(std::shared_ptr<const Grammar> grammar, size_t memory_max = kMemoryMax);

  std::shared_ptr<MatcherState> start(GrammarNodeId node);
  std::shared_ptr<MatcherState> start() { return start(grammar_->root()); }
  // The state after one more byte. If the byte may not come, the result is a state without places
  // (not complete, cannot continue). The state lives until forget().
  MatcherState* step(MatcherState* from, uint8_t byte);

  // Whether any `count` plain bytes (token_trie.h) may come after `from`.
  bool takes_plain(MatcherState* from, size_t count);

  // Whether the memory of the kept states has reached the bound.
  bool full() const { return memory_ >= memory_max_; }
  // Drops all states except `states` and those that others hold.
  void forget(std::span<MatcherState* const> states);
  size_t memory_bytes() const { return memory_; }
  const Grammar& grammar() const { return *grammar_; }

 private:
  MatcherState* keep(GrammarPlaces places);
  MatcherState* find(const GrammarPlaces& places) const;
  MatcherState* behind_plain(MatcherState* from);
  void adopt(MatcherState* state);

  std::shared_ptr<const Grammar> grammar_;
  size_t memory_max_;
  size_t memory_ = 0;
  std::vector<uint8_t> plain_;  // one byte of each class that has a plain one
  GrammarFrames frames_;
  std::unordered_multimap<size_t, std::shared_ptr<MatcherState>> states_;
  std::vector<std::shared_ptr<MatcherState>> held_;  // what forget() was told to keep
};

// A text that is being read. Copies are cheap. Uses the automaton, which must outlive the matcher,
// on the calling thread.
class Matcher {
 public:
  explicit Matcher(GrammarAutomaton& automaton) : Matcher(automaton, automaton.start()) {}
  Matcher(GrammarAutomaton& automaton, std::shared_ptr<MatcherState> state)
      : automaton_(&automaton), state_(std::move(state)) {}

  // Reads `bytes`. If they may not come here, nothing is read, and the result is false.
  bool accept(std::string_view bytes);
  bool is_complete() const { return state_->complete(); }
  bool can_continue() const { return state_->can_continue(); }
  const std::shared_ptr<MatcherState>& state() const { return state_; }

 private:
  GrammarAutomaton* automaton_;
  std::shared_ptr<MatcherState> state_;
};

}  // namespace cascade
