// The merge rules of byte pair encoding, and their application.
#include "model/tokenizer/bpe_merges.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/check.h"
#include "model/tokenizer/json.h"

namespace cascade {
namespace {

// Up to this many symbols, looking at all neighbours for each merge costs less than a heap.
constexpr size_t kShortMax = 48;

// Files of the old form may begin with a line that is no rule.
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
  for (size_t i = 0; i < merges.size(); ++i) {
    if (is_version_line(merges[i])) continue;
    const std::string field = json_path(path, i);
    ASSIGN_OR_RETURN(const Halves halves, parse_rule(merges[i], field));
    ASSIGN_OR_RETURN(const int32_t left, id_of(vocabulary, halves.first, field));
    ASSIGN_OR_RETURN(const int32_t right, id_of(vocabulary, halves.second, field));
    const std::string whole = std::string(halves.first) + std::string(halves.second);
    ASSIGN_OR_RETURN(const int32_t result, id_of(vocabulary, whole, field));
    const uint64_t rank = loaded.result_by_rank_.size();
    loaded.result_by_rank_.push_back(result);
    if (is_blocked(result)) continue;
    const uint64_t pair = static_cast<uint64_t>(left) << 32 | static_cast<uint32_t>(right);
    if (!loaded.rules_.insert(pair, rank << 32 | static_cast<uint32_t>(result))) {
      return invalid_argument(field, "repeats an earlier rule");
    }
    visit(halves.first, halves.second);
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
  std::array<uint64_t, kShortMax> rules;  // rules[i] is that of symbols i and i + 1
  size_t pairs = symbols.size() - 1;
  for (size_t i = 0; i < pairs; ++i) rules[i] = rule(symbols[i], symbols[i + 1]);
  while (pairs > 0) {
    // A rule's rank is in its upper bits and each rank is one rule, so the first least value is
    // the leftmost of the best.
    size_t best = 0;
    for (size_t i = 1; i < pairs; ++i) {
      if (rules[i] < rules[best]) best = i;
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
// if the pair at its position is not that of its rule any more: the texts of symbols only grow, so
// a pair never comes back.
void BpeMerges::apply_long(std::vector<int32_t>& symbols, BpeMergeScratch& scratch) const {
  constexpr int32_t kGone = -1;
  const size_t count = symbols.size();
  CHECK(count < (size_t{1} << 31));
  const auto end = static_cast<uint32_t>(count);
  auto& [previous, next, heap] = scratch;
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
    if (entry_of(left, right) != entry) continue;
    symbols[left] = result_by_rank_[entry >> 32];
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
