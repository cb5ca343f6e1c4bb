// Finds the longest of many literals at each position of a text, as far as the text is trusted.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "model/tokenizer/bpe_table.h"
#include "model/tokenizer/regex.h"

namespace cascade {

// Immutable; any thread.
class AddedTokensMatcher {
 public:
  struct Literal {
    std::string_view text;  // not empty; need not outlive the construction
    uint32_t value;         // the result of a match
    bool is_plain;          // found in untrusted text too
  };
  struct Match {
    ByteRange range;
    uint32_t value;
  };

  // If literals have the same text, the first one counts.
  explicit AddedTokensMatcher(std::span<const Literal> literals);

  bool is_empty() const { return nodes_.size() == 1; }

  // Walks the matches from left to right; none overlaps another. Keeps references to all its
  // arguments.
  class Scan {
   public:
    // `trusted`: disjoint ranges in ascending order. A literal that is not plain is found only
    // where it lies within one of these ranges.
    Scan(const AddedTokensMatcher& matcher, std::string_view text,
         std::span<const ByteRange> trusted)
        : matcher_(matcher), text_(text), trusted_(trusted) {}
    std::optional<Match> next();

   private:
    // Moves `at_` to the next position where a literal may begin; false at the end of the text.
    bool advance();
    std::optional<Match> longest() const;

    const AddedTokensMatcher& matcher_;
    std::string_view text_;
    std::span<const ByteRange> trusted_;  // the ranges that end after `at_`
    size_t at_ = 0;
  };

 private:
  struct Node {
    std::optional<uint32_t> literal;  // its index in literals_
  };
  struct Value {
    uint32_t value;
    bool is_plain;
  };

  // A trie over bytes. `edges_`: node << 8 | byte -> next node. `begins_any_` and `begins_plain_`
  // are looked up first: the bytes with which any literal, or a plain one, begins.
  std::vector<Node> nodes_;
  std::vector<Value> literals_;
  BpeTable edges_;
  std::array<bool, 256> begins_any_{};
  std::array<bool, 256> begins_plain_{};
  bool has_plain_ = false;
};

}  // namespace cascade
