// A pattern as states with empty steps, assertions and look-aheads.
#pragma once

#include <cstdint>
#include <vector>

#include "model/grammar/pattern_tree.h"

namespace cascade {

struct PatternState {
  enum class Kind : uint8_t {
    kEnd,       // the pattern, or the look-ahead, was found
    kRead,      // reads a character of `set`, then `next`
    kSplit,     // all of `ways`
    kAssert,    // if the assertion holds here, `next`
    kLookAhead  // if what follows matches `ahead` (`negated`: does not), `next`
  };
  Kind kind = Kind::kSplit;
  PatternAssertion assertion = PatternAssertion::kBegin;
  bool negated = false;
  uint32_t next = 0;
  uint32_t ahead = 0;
  std::vector<CodePointRange> set;
  std::vector<uint32_t> ways;
  // x{0,n} is n copies of x. States of one family are the same state of different copies, and all
  // that is found from one of them is also found from one of a higher rank. 0: no family.
  uint32_t family = 0;
  uint32_t rank = 0;
};

struct PatternNfa {
  static constexpr uint32_t kEnd = 0;
  std::vector<PatternState> states;
  uint32_t start = 0;
  bool knows_words = false;  // some state asserts where words end
};

// If the pattern needs more than `states_max` states, the result has at least `states_max`.
PatternNfa make_nfa(const PatternTree& tree, size_t states_max);

}  // namespace cascade
