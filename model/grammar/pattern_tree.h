// A regular expression as a tree.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/grammar/code_points.h"

namespace cascade {

// A condition on a place in the text; it reads nothing.
enum class PatternAssertion : uint8_t { kBegin, kEnd, kWordBorder, kNoWordBorder };

struct PatternNode {
  enum class Kind : uint8_t {
    kSet,
    kConcatenation,
    kAlternatives,
    kRepeat,
    kAssertion,
    kLookAhead  // its child follows, or, if `negated`, does not
  };
  static constexpr uint32_t kUnbounded = UINT32_MAX;
  Kind kind = Kind::kConcatenation;
  std::vector<CodePointRange> set;  // sorted, without overlaps
  std::vector<uint32_t> children;
  uint32_t min = 0, max = 0;  // kRepeat
  PatternAssertion assertion = PatternAssertion::kBegin;
  bool negated = false;
};

struct PatternTree {
  std::vector<PatternNode> nodes;
  uint32_t root = 0;
};

// In the tree, an outermost alternative that does not begin with ^ begins with a part that matches
// any text. The text after the match is not part of the tree. Errors and `work`: as
// compile_pattern.
Result<PatternTree> parse_pattern(std::string_view pattern, size_t& work);

// \w: the characters of words.
const std::vector<CodePointRange>& word_characters();

}  // namespace cascade
