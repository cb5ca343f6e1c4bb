// A regular expression as a tree.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/grammar/code_points.h"

namespace cascade {

struct PatternNode {
  enum class Kind : uint8_t { kSet, kConcatenation, kAlternatives, kRepeat };
  static constexpr uint32_t kUnbounded = UINT32_MAX;
  Kind kind = Kind::kConcatenation;
  std::vector<CodePointRange> set;  // sorted, without overlaps
  std::vector<uint32_t> children;
  uint32_t min = 0, max = 0;  // kRepeat
};

struct PatternTree {
  std::vector<PatternNode> nodes;
  uint32_t root = 0;
};

// Where an alternative is not held by ^ or $, any text stands before or behind it.
// Errors: as compile_pattern.
Result<PatternTree> parse_pattern(std::string_view pattern);

}  // namespace cascade
