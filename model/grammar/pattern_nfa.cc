// States are built from the end: each part is told which state follows it.
#include "model/grammar/pattern_nfa.h"

namespace cascade {
namespace {

using StateKind = PatternState::Kind;

class Builder {
 public:
  Builder(const PatternTree& tree, size_t states_max) : tree_(tree), states_max_(states_max) {
    nfa_.states.emplace_back().kind = StateKind::kEnd;
    nfa_.start = build(tree.root, PatternNfa::kEnd);
  }
  PatternNfa take() { return std::move(nfa_); }

 private:
  bool full() const { return nfa_.states.size() >= states_max_; }

  uint32_t add(StateKind kind, uint32_t next = 0) {
    if (full()) return PatternNfa::kEnd;
    PatternState state;
    state.kind = kind;
    state.next = next;
    nfa_.states.push_back(std::move(state));
    return static_cast<uint32_t>(nfa_.states.size() - 1);
  }

  uint32_t build(uint32_t id, uint32_t next) {
    if (full()) return PatternNfa::kEnd;
    const PatternNode& node = tree_.nodes[id];
    switch (node.kind) {
      case PatternNode::Kind::kSet: {
        const uint32_t state = add(StateKind::kRead, next);
        nfa_.states[state].set = node.set;
        return state;
      }
      case PatternNode::Kind::kConcatenation:
        for (auto child = node.children.rbegin(); child != node.children.rend(); ++child) {
          next = build(*child, next);
        }
        return next;
      case PatternNode::Kind::kAlternatives: {
        const uint32_t state = add(StateKind::kSplit);
        for (const uint32_t child : node.children) add_way(state, build(child, next));
        return state;
      }
      case PatternNode::Kind::kRepeat: return build_repeat(node, next);
      case PatternNode::Kind::kAssertion: {
        const uint32_t state = add(StateKind::kAssert, next);
        nfa_.states[state].assertion = node.assertion;
        nfa_.knows_words |= node.assertion == PatternAssertion::kWordBorder ||
                            node.assertion == PatternAssertion::kNoWordBorder;
        return state;
      }
      case PatternNode::Kind::kLookAhead: {
        const uint32_t ahead = build(node.children[0], PatternNfa::kEnd);
        const uint32_t state = add(StateKind::kLookAhead, next);
        nfa_.states[state].ahead = ahead;
        nfa_.states[state].negated = node.negated;
        return state;
      }
    }
    return PatternNfa::kEnd;
  }

  uint32_t build_repeat(const PatternNode& node, uint32_t next) {
    const uint32_t child = node.children[0];
    if (node.max == PatternNode::kUnbounded) {
      const uint32_t loop = add(StateKind::kSplit);
      add_way(loop, build(child, loop));
      add_way(loop, next);
      next = loop;
    } else {
      const uint32_t behind = next;
      const size_t first = nfa_.states.size();
      for (uint32_t i = node.min; i < node.max && !full(); ++i) {
        const size_t begin = nfa_.states.size();
        const uint32_t state = add(StateKind::kSplit);
        add_way(state, build(child, next));
        add_way(state, behind);
        next = state;
        make_related(first, begin, i - node.min);
      }
    }
    for (uint32_t i = 0; i < node.min && !full(); ++i) next = build(child, next);
    return next;
  }

  // Puts the states from `begin` on, which are a copy of the states from `first` on, into the
  // families of those states.
  void make_related(size_t first, size_t begin, uint32_t rank) {
    for (size_t i = begin; i < nfa_.states.size(); ++i) {
      PatternState& state = nfa_.states[i];
      if (state.family != 0) continue;  // the state is of an inner repetition
      state.family = static_cast<uint32_t>(first + i - begin + 1);
      state.rank = rank;
    }
  }

  void add_way(uint32_t from, uint32_t to) { nfa_.states[from].ways.push_back(to); }

  const PatternTree& tree_;
  const size_t states_max_;
  PatternNfa nfa_;
};

}  // namespace

PatternNfa make_nfa(const PatternTree& tree, size_t states_max) {
  return Builder(tree, states_max).take();
}

}  // namespace cascade
