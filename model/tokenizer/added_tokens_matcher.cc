// Finds the longest of many literals at each position of a text, as far as the text is trusted.
#include "model/tokenizer/added_tokens_matcher.h"

#include <algorithm>

#include "base/check.h"

namespace cascade {
namespace {

// The number of edges of the trie. In sorted order, each literal adds an edge for each byte after
// the part that it shares with the literal before it.
size_t edge_count(std::span<const AddedTokensMatcher::Literal> literals) {
  std::vector<std::string_view> texts;
  for (const auto& literal : literals) texts.push_back(literal.text);
  std::sort(texts.begin(), texts.end());
  size_t count = 0;
  std::string_view before;
  for (const std::string_view text : texts) {
    const auto shared = std::mismatch(text.begin(), text.end(), before.begin(), before.end());
    count += static_cast<size_t>(text.end() - shared.first);
    before = text;
  }
  return count;
}

uint64_t edge_key(uint64_t node, char byte) {
  return node << 8 | static_cast<uint8_t>(byte);
}

}  // namespace

AddedTokensMatcher::AddedTokensMatcher(std::span<const Literal> literals)
    : nodes_(1), edges_(edge_count(literals)) {
  for (const Literal& literal : literals) {
    CHECK(!literal.text.empty());
    uint64_t node = 0;
    for (const char byte : literal.text) {
      const uint64_t key = edge_key(node, byte);
      node = edges_.find(key);
      if (node != BpeTable::kNone) continue;
      node = nodes_.size();
      edges_.insert(key, node);
      nodes_.emplace_back();
    }
    if (nodes_[node].literal) continue;
    nodes_[node].literal = static_cast<uint32_t>(literals_.size());
    literals_.push_back({literal.value, literal.is_plain});
    const auto first = static_cast<uint8_t>(literal.text.front());
    begins_any_[first] = true;
    begins_plain_[first] = begins_plain_[first] || literal.is_plain;
    has_plain_ = has_plain_ || literal.is_plain;
  }
}

std::optional<AddedTokensMatcher::Match> AddedTokensMatcher::Scan::next() {
  for (; advance(); ++at_) {
    const std::optional<Match> match = longest();
    if (!match) continue;
    at_ = match->range.end;
    return match;
  }
  return std::nullopt;
}

bool AddedTokensMatcher::Scan::advance() {
  while (at_ < text_.size()) {
    while (!trusted_.empty() && trusted_.front().end <= at_) trusted_ = trusted_.subspan(1);
    const size_t trusted_begin = trusted_.empty() ? text_.size() : trusted_.front().begin;
    const bool is_trusted = at_ >= trusted_begin;
    if (!is_trusted && !matcher_.has_plain_) {
      at_ = trusted_begin;
      continue;
    }
    const auto& begins = is_trusted ? matcher_.begins_any_ : matcher_.begins_plain_;
    const size_t end = is_trusted ? trusted_.front().end : trusted_begin;
    while (at_ < end && !begins[static_cast<uint8_t>(text_[at_])]) ++at_;
    if (at_ < end) return true;
  }
  return false;
}

std::optional<AddedTokensMatcher::Match> AddedTokensMatcher::Scan::longest() const {
  const bool is_trusted = !trusted_.empty() && trusted_.front().begin <= at_;
  const size_t trusted_end = is_trusted ? trusted_.front().end : at_;
  std::optional<Match> found;
  uint64_t node = 0;
  for (size_t end = at_; end < text_.size();) {
    node = matcher_.edges_.find(edge_key(node, text_[end]));
    if (node == BpeTable::kNone) break;
    ++end;
    const std::optional<uint32_t> literal = matcher_.nodes_[node].literal;
    if (!literal) continue;
    const Value& value = matcher_.literals_[*literal];
    if (value.is_plain || end <= trusted_end) found = Match{{at_, end}, value.value};
  }
  return found;
}

}  // namespace cascade
