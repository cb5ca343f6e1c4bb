// The merge rules of byte pair encoding, and their application to a word in O(n log n).
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "model/tokenizer/bpe_table.h"
#include "model/tokenizer/bpe_vocabulary.h"

namespace cascade {

// Working memory of BpeMerges::apply(), kept between calls to save allocations.
struct BpeMergeScratch {
  std::vector<uint32_t> previous;
  std::vector<uint32_t> next;
  std::vector<uint64_t> heap;
};

// Immutable after load; any thread.
class BpeMerges {
 public:
  BpeMerges() = default;

  // Called for every rule with the texts of its halves.
  using RuleVisitor = std::function<void(std::string_view left, std::string_view right)>;

  // `merges` is an array of "left right" strings or ["left", "right"] pairs, best first. A rule
  // whose result `is_blocked` is left out, and not visited. Errors (kInvalidArgument, field
  // `path`[i]): another form, an empty half, a half or result that is not in the vocabulary, a
  // pair that has a rule already.
  static Result<BpeMerges> load(const Json& merges, const std::string& path,
                                const BpeVocabulary& vocabulary,
                                const std::function<bool(int32_t)>& is_blocked,
                                const RuleVisitor& visit);

  // SentencePiece's rules: two tokens may merge if their joined texts are a token. The higher the
  // score of that token, the better the rule; tokens of equal scores have equally good rules.
  // `scores` are by id; a token with NaN, or with an id beyond `scores`, is never a result. Errors:
  // kInvalidArgument, field `path`, if there are more than 2^24 ways to divide the tokens in two.
  static Result<BpeMerges> from_scores(std::span<const float> scores, const std::string& path,
                                       const BpeVocabulary& vocabulary,
                                       const std::function<bool(int32_t)>& is_blocked,
                                       const RuleVisitor& visit);

  // As long as a rule joins two neighbours, replaces the neighbours of the best rule (the leftmost
  // ones if several are equally good) by its result. O(n log n) time; 16 bytes of scratch a symbol,
  // 24 at worst. Precondition: fewer than 2^31 symbols.
  void apply(std::vector<int32_t>& symbols, BpeMergeScratch& scratch) const;

 private:
  explicit BpeMerges(size_t count) : rules_(count) {}

  // rank << 32 | result id, or BpeTable::kNone.
  uint64_t rule(int32_t left, int32_t right) const {
    return rules_.find(static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right));
  }
  void apply_short(std::vector<int32_t>& symbols) const;
  void apply_long(std::vector<int32_t>& symbols, BpeMergeScratch& scratch) const;

  BpeTable rules_;
};

}  // namespace cascade
