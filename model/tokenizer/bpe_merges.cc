// The merge rules of byte pair encoding, and their application.
#include "model/tokenizer/bpe_merges.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "base/check.h"
#include "model/tokenizer/json.h"

namespace cascade {
namespace {

// Up to this many symbols, looking at all neighbours for each merge costs less than a heap.
constexpr size_t kShortMax = 48;

// Files of the old form may begin with a line that is not a rule.
constexpr std::string_view kVersionLine = "#version";

using Halves = std::pair<std::string_view, std::string_view>;

Result<Halves> parse_rule(const Json& rule, const std::string& field) {
  Halves halves;
  if (rule.is_string()) {
    const std::string_view text = rule.get_ref<const std::string&>();
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      return invalid_argument(field, "must be two tokens with one space between");
    }
    halves = {text.substr(0, space), text.substr(space + 1)};
  } else if (rule.is_array() && rule.size() == 2 && rule[0].is_string() && rule[1].is_string()) {
    halves = {rule[0].get_ref<const std::string&>(), rule[1].get_ref<const std::string&>()};
  } else {
    return invalid_argument(field, "must be a string or an array of two strings");
  }
  if (halves.first.empty() || halves.second.empty()) {
    return invalid_argument(field, "has an empty half");
  }
  return halves;
}

Result<int32_t> id_of(const BpeVocabulary& vocabulary, std::string_view text,
                      const std::string& field) {
  const std::optional<int32_t> id = vocabulary.find(text);
  if (!id) return invalid_argument(field, quote_text(text) + " is not in the vocabulary");
  return *id;
}

// The largest number of ways to divide the tokens of a SentencePiece vocabulary in two: 256,000
// tokens of some 7 bytes have 2 million.
constexpr size_t kDivisionsMax = size_t{1} << 24;

struct ScoredPair {
  float score;
  int32_t left;
  int32_t right;
  int32_t result;
};

uint64_t pair_of(int32_t left, int32_t right) {
  return static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
}

uint64_t rule_of(uint64_t rank, int32_t result) {
  return rank << 32 | static_cast<uint32_t>(result);
}

bool is_version_line(const Json& rule) {
  return rule.is_string() && rule.get_ref<const std::string&>().starts_with(kVersionLine);
}

}  // namespace

Result<BpeMerges> BpeMerges::load(const Json& merges, const std::string& path,
                                  const BpeVocabulary& vocabulary,
                                  const std::function<bool(int32_t)>& is_blocked,
                                  const RuleVisitor& visit) {
  CHECK(merges.is_array());
  BpeMerges loaded(merges.size());
  uint64_t rank = 0;
  for (size_t i = 0; i < merges.size(); ++i) {
    if (is_version_line(merges[i])) continue;
    const std::string field = json_path(path, i);
    ASSIGN_OR_RETURN(const Halves halves, parse_rule(merges[i], field));
    ASSIGN_OR_RETURN(const int32_t left, id_of(vocabulary, halves.first, field));
    ASSIGN_OR_RETURN(const int32_t right, id_of(vocabulary, halves.second, field));
    const std::string whole = std::string(halves.first) + std::string(halves.second);
    ASSIGN_OR_RETURN(const int32_t result, id_of(vocabulary, whole, field));
    if (is_blocked(result)) continue;
    if (!loaded.rules_.insert(pair_of(left, right), rule_of(rank++, result))) {
      return invalid_argument(field, "repeats an earlier rule");
    }
    visit(halves.first, halves.second);
  }
  return loaded;
}

Result<BpeMerges> BpeMerges::from_scores(std::span<const float> scores, const std::string& path,
                                         const BpeVocabulary& vocabulary,
                                         const std::function<bool(int32_t)>& is_blocked,
                                         const RuleVisitor& visit) {
  std::vector<ScoredPair> pairs;
  size_t divisions = 0;
  const auto count = std::min(scores.size(), static_cast<size_t>(vocabulary.id_end()));
  for (size_t id = 0; id < count; ++id) {
    const auto result = static_cast<int32_t>(id);
    const std::string* text = vocabulary.text(result);
    if (text == nullptr || std::isnan(scores[id]) || is_blocked(result)) continue;
    divisions += text->size();
    if (divisions > kDivisionsMax) {
      return invalid_argument(path, "has more than " + std::to_string(kDivisionsMax) +
                                        " bytes in tokens that merges may give");
    }
    for (size_t cut = 1; cut < text->size(); ++cut) {
      const std::string_view whole = *text;
      const auto left = vocabulary.find(whole.substr(0, cut));
      if (!left) continue;
      const auto right = vocabulary.find(whole.substr(cut));
      if (right) pairs.push_back({scores[id], *left, *right, result});
    }
  }
  std::ranges::sort(pairs, std::ranges::greater(), &ScoredPair::score);
  BpeMerges loaded(pairs.size());
  uint64_t rank = 0;
  for (size_t i = 0; i < pairs.size(); ++i) {
    const auto& [score, left, right, result] = pairs[i];
    if (i > 0 && score != pairs[i - 1].score) ++rank;
    // A pair has one result, since texts are unique.
    CHECK(loaded.rules_.insert(pair_of(left, right), rule_of(rank, result)));
    visit(*vocabulary.text(left), *vocabulary.text(right));
  }
  return loaded;
}

void BpeMerges::apply(std::vector<int32_t>& symbols, BpeMergeScratch& scratch) const {
  if (symbols.size() < 2) return;
  if (symbols.size() <= kShortMax) {
    apply_short(symbols);
  } else {
    apply_long(symbols, scratch);
  }
}

void BpeMerges::apply_short(std::vector<int32_t>& symbols) const {
  std::array<uint64_t, kShortMax> rules;  // rules[i] joins symbols i and i + 1
  size_t pairs = symbols.size() - 1;
  for (size_t i = 0; i < pairs; ++i) rules[i] = rule(symbols[i], symbols[i + 1]);
  while (pairs > 0) {
    // The upper bits of a rule are its rank: the first pair with the least rank is the leftmost of
    // the best pairs.
    size_t best = 0;
    for (size_t i = 1; i < pairs; ++i) {
      if (rules[i] >> 32 < rules[best] >> 32) best = i;
    }
    if (rules[best] == BpeTable::kNone) break;
    symbols[best] = static_cast<int32_t>(rules[best] & UINT32_MAX);
    std::copy(symbols.begin() + static_cast<ptrdiff_t>(best) + 2,
              symbols.begin() + static_cast<ptrdiff_t>(pairs) + 1,
              symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
    std::copy(rules.begin() + best + 1, rules.begin() + pairs, rules.begin() + best);
    --pairs;
    if (best > 0) rules[best - 1] = rule(symbols[best - 1], symbols[best]);
    if (best < pairs) rules[best] = rule(symbols[best], symbols[best + 1]);
  }
  symbols.resize(pairs + 1);
}

// A heap of (rank, position of the left half) over a linked list of the symbols. An entry is stale
// if the pair that is now at its position has no rule, or a rule of another rank. The texts of
// symbols only grow, so a pair that has changed never comes back.
void BpeMerges::apply_long(std::vector<int32_t>& symbols, BpeMergeScratch& scratch) const {
  constexpr int32_t kGone = -1;
  const size_t count = symbols.size();
  CHECK(count < (size_t{1} << 31));
  const auto end = static_cast<uint32_t>(count);
  auto& previous = scratch.previous;
  auto& next = scratch.next;
  auto& heap = scratch.heap;
  previous.resize(count);
  next.resize(count);
  heap.clear();
  heap.reserve(count);
  const auto entry_of = [&](uint32_t left, uint32_t right) {
    const uint64_t found = rule(symbols[left], symbols[right]);
    return found == BpeTable::kNone ? found : (found >> 32 << 32 | left);
  };
  for (uint32_t i = 0; i < end; ++i) {
    previous[i] = i == 0 ? end : i - 1;
    next[i] = i + 1;
    if (i + 1 == end) break;
    const uint64_t entry = entry_of(i, i + 1);
    if (entry != BpeTable::kNone) heap.push_back(entry);
  }
  std::make_heap(heap.begin(), heap.end(), std::greater<>());
  const auto push = [&](uint32_t left, uint32_t right) {
    const uint64_t entry = entry_of(left, right);
    if (entry == BpeTable::kNone) return;
    heap.push_back(entry);
    std::push_heap(heap.begin(), heap.end(), std::greater<>());
  };
  while (!heap.empty()) {
    const uint64_t entry = heap.front();
    std::pop_heap(heap.begin(), heap.end(), std::greater<>());
    heap.pop_back();
    const auto left = static_cast<uint32_t>(entry & UINT32_MAX);
    if (symbols[left] == kGone || next[left] == end) continue;
    const uint32_t right = next[left];
    const uint64_t found = rule(symbols[left], symbols[right]);
    if (found == BpeTable::kNone || found >> 32 != entry >> 32) continue;
    symbols[left] = static_cast<int32_t>(found & UINT32_MAX);
    symbols[right] = kGone;
    next[left] = next[right];
    if (next[left] != end) {
      previous[next[left]] = left;
      push(left, next[left]);
    }
    if (previous[left] != end) push(previous[left], left);
  }
  std::erase(symbols, kGone);
}

}  // namespace cascade
