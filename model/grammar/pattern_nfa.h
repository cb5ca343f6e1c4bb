// A pattern as states with empty steps, assertions and look-aheads.
#pragma once

#include <cstdint>
#include <vector>

#include "model/grammar/pattern_tree.h"

namespace cascade {

struct PatternState {
  enum class Kind : uint8_t {
    kEnd,       // the pattern, or the look-ahead, was found
    kRead,      // a character of `set`, then `next`
    kSplit,     // all of `ways`
    kAssert,    // if it is so here, `next`
    kLookAhead  // if what begins in `ahead` follows here, or does not, `next`
  };
  Kind kind = Kind::kSplit;
  PatternAssertion assertion = PatternAssertion::kBegin;
  bool negated = false;
  uint32_t next = 0;
  uint32_t ahead = 0;
  std::vector<CodePointRange> set;
  std::vector<uint32_t> ways;
  // Of x{0,n}, which is n copies of x: states of the same family are the same state of different
  // copies, and whatever is found from one is found from one of a higher rank. 0: no family.
  uint32_t family = 0;
  uint32_t rank = 0;
};

struct PatternNfa {
  static constexpr uint32_t kEnd = 0;
  std::vector<PatternState> states;
  uint32_t start = 0;
  bool knows_words = false;  // some state asserts where words end
};

// Has at least `states_max` states if there would be more.
PatternNfa make_nfa(const PatternTree& tree, size_t states_max);

}  // namespace cascade
