// From the tree of a pattern to states with empty steps, and from these to a deterministic DFA.
#include "model/grammar/pattern.h"

#include <algorithm>
#include <map>
#include <string>

#include "model/grammar/pattern_tree.h"

namespace cascade {
namespace {

struct NfaState {
  std::vector<CodePointRange> set;  // with one edge to `next`
  uint32_t next = 0;
  std::vector<uint32_t> empty;  // steps that read nothing
};

// Built from the end: each part is told where it goes on.
class NfaBuilder {
 public:
  explicit NfaBuilder(const PatternTree& tree) : tree_(tree) {
    states_.emplace_back();
    start_ = build(tree.root, 0);
  }
  bool full() const { return states_.size() >= kPatternNfaStatesMax; }
  uint32_t start() const { return start_; }
  const std::vector<NfaState>& states() const { return states_; }

  static constexpr uint32_t kEnd = 0;

 private:
  uint32_t add() {
    if (full()) return kEnd;
    states_.emplace_back();
    return static_cast<uint32_t>(states_.size() - 1);
  }

  uint32_t build(uint32_t id, uint32_t next) {
    if (full()) return kEnd;
    const PatternNode& node = tree_.nodes[id];
    switch (node.kind) {
      case PatternNode::Kind::kSet: {
        const uint32_t state = add();
        states_[state].set = node.set;
        states_[state].next = next;
        return state;
      }
      case PatternNode::Kind::kConcatenation:
        for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
          next = build(*child, next);
        }
        return next;
      case PatternNode::Kind::kAlternatives: {
        const uint32_t state = add();
        for (const uint32_t child : node.children) step(state, build(child, next));
        return state;
      }
      case PatternNode::Kind::kRepeat: return build_repeat(node, next);
    }
    return kEnd;
  }

  uint32_t build_repeat(const PatternNode& node, uint32_t next) {
    const uint32_t child = node.children[0];
    if (node.max == PatternNode::kUnbounded) {
      const uint32_t loop = add();
      step(loop, build(child, loop));
      step(loop, next);
      next = loop;
    } else {
      const uint32_t behind = next;
      for (uint32_t i = node.min; i < node.max && !full(); ++i) {
        const uint32_t state = add();
        step(state, build(child, next));
        step(state, behind);
        next = state;
      }
    }
    for (uint32_t i = 0; i < node.min && !full(); ++i) next = build(child, next);
    return next;
  }

  void step(uint32_t from, uint32_t to) { states_[from].empty.push_back(to); }

  const PatternTree& tree_;
  std::vector<NfaState> states_;
  uint32_t start_ = 0;
};

class Determiniser {
 public:
  Determiniser(const std::vector<NfaState>& states, size_t& work) : states_(states), work_(work) {}

  Result<CodePointDfa> run(uint32_t start) {
    dfa_id({start});
    for (size_t i = 0; i < sets_.size(); ++i) {
      add_edges(i);
      if (sets_.size() > kPatternDfaStatesMax || work_ == 0) {
        return invalid_argument("", "is too complex: it takes more than " +
                                        std::to_string(kPatternDfaStatesMax) +
                                        " states, the limit");
      }
    }
    return std::move(dfa_);
  }

 private:
  using Set = std::vector<uint32_t>;

  void spend(size_t work) { work_ -= std::min(work, work_); }

  // The set with all that its states reach without reading, sorted; those alone that read.
  Set closure(Set from) {
    std::vector<bool>& seen = seen_;
    seen.assign(states_.size(), false);
    Set result;
    while (!from.empty()) {
      const uint32_t state = from.back();
      from.pop_back();
      if (seen[state]) continue;
      seen[state] = true;
      spend(1);
      const NfaState& nfa = states_[state];
      if (nfa.empty.empty()) result.push_back(state);
      from.insert(from.end(), nfa.empty.begin(), nfa.empty.end());
    }
    std::ranges::sort(result);
    return result;
  }

  uint32_t dfa_id(Set from) {
    spend(states_.size() / 64);  // the marks
    const auto [known, added] =
        ids_.try_emplace(closure(std::move(from)), static_cast<uint32_t>(sets_.size()));
    if (added) {
      sets_.push_back(&known->first);
      dfa_.states.emplace_back();
      dfa_.states.back().final = std::ranges::binary_search(known->first, NfaBuilder::kEnd);
    }
    return known->second;
  }

  // Between two neighbouring borders of its states' sets the same states are reached.
  void add_edges(size_t id) {
    const Set& set = *sets_[id];
    std::vector<uint32_t> borders;
    for (const uint32_t state : set) {
      for (const CodePointRange& range : states_[state].set) {
        borders.push_back(range.low);
        borders.push_back(range.high + 1);
      }
    }
    std::ranges::sort(borders);
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    std::vector<CodePointDfa::Edge> edges;
    for (size_t i = 0; i + 1 < borders.size() && work_ > 0; ++i) {
      const uint32_t low = borders[i], high = borders[i + 1] - 1;
      Set reached;
      for (const uint32_t state : set) {
        spend(1 + states_[state].set.size() / 8);
        const auto& ranges = states_[state].set;
        const bool reads = std::ranges::any_of(
            ranges, [&](const CodePointRange& r) { return r.low <= low && low <= r.high; });
        if (reads) reached.push_back(states_[state].next);
      }
      if (reached.empty()) continue;
      const uint32_t target = dfa_id(std::move(reached));
      const bool same =
          !edges.empty() && edges.back().target == target && edges.back().range.high + 1 == low;
      if (same) {
        edges.back().range.high = high;
      } else {
        edges.push_back({{low, high}, target});
      }
    }
    dfa_.states[id].edges = std::move(edges);
  }

  const std::vector<NfaState>& states_;
  CodePointDfa dfa_;
  std::map<Set, uint32_t> ids_;
  std::vector<const Set*> sets_;  // keys of ids_
  std::vector<bool> seen_;
  size_t& work_;
};

}  // namespace

Result<CodePointDfa> compile_pattern(std::string_view pattern, size_t& work) {
  ASSIGN_OR_RETURN(const PatternTree tree, parse_pattern(pattern));
  const NfaBuilder nfa(tree);
  if (nfa.full()) {
    return invalid_argument(
        "", "is too large: the limit is " + std::to_string(kPatternNfaStatesMax) + " states");
  }
  return Determiniser(nfa.states(), work).run(nfa.start());
}

}  // namespace cascade
