// Moving along the chain tree page by page.
#include "cache/chain_sequence.h"

#include <cstring>

#include "base/check.h"

namespace cascade {

ChainSequence::ChainSequence(ChainIndex& index, PagePool& pool, const PageArena& arena,
                             TenantId tenant)
    : index_(index), pool_(pool), arena_(arena), tenant_(tenant), node_(index.root()) {}

ChainSequence::~ChainSequence() {
  finish(0);
}

bool ChainSequence::allocate_page() {
  auto page = pool_.allocate();
  while (!page && index_.evict_one()) page = pool_.allocate();
  if (!page) return false;
  // Clears another tenant's K and V before this tenant's are written to the page. Otherwise those
  // old bytes could reach the disk with the page.
  if (pool_.change_owner(*page, tenant_)) arena_.discard(*page);
  pages_.push_back(*page);
  return true;
}

int64_t ChainSequence::reuse(std::span<const int32_t> tokens, int64_t now_us, bool observed) {
  CHECK(tokens_.empty() && pages_.empty() && !finished_);
  ChainIndex::Match match = index_.match(tenant_, tokens);
  on_probation_ = index_.next_on_probation();
  node_ = match.node;
  index_.acquire(node_);
  pages_ = std::move(match.pages);
  sealed_ = pages_.size();
  tokens_.assign(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(sealed_) * kPageTokens);
  ChainIndex::Node* found = node_;
  if (match.partial != nullptr) {
    // Keeps the node alive while room for the copy is made.
    index_.acquire(match.partial);
    if (allocate_page()) {
      std::memcpy(arena_.data(pages_.back()), arena_.data(ChainIndex::page_of(match.partial)),
                  arena_.page_bytes());
      const auto rest = tokens.subspan(tokens_.size(), match.partial_tokens);
      tokens_.insert(tokens_.end(), rest.begin(), rest.end());
      found = match.partial;
    }
    index_.release(match.partial);
  }
  index_.touch(found, now_us, observed);  // once: a request is one hit for each page on its path
  return committed();
}

bool ChainSequence::reserve(int64_t tokens) {
  CHECK(!finished_);
  while (static_cast<int64_t>(pages_.size()) * kPageTokens < tokens) {
    if (!allocate_page()) return false;
  }
  return true;
}

void ChainSequence::commit(std::span<const int32_t> tokens, int64_t now_us) {
  CHECK(!finished_);
  CHECK(committed() + static_cast<int64_t>(tokens.size()) <=
        static_cast<int64_t>(pages_.size()) * kPageTokens);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  while (tokens_.size() >= (sealed_ + 1) * kPageTokens) seal_page(now_us);
}

int64_t ChainSequence::pages_alone() const {
  return static_cast<int64_t>(pages_.size() - sealed_ + ChainIndex::used_alone_count(node_));
}

void ChainSequence::seal_page(int64_t now_us) {
  const auto tokens = std::span(tokens_).subspan(sealed_ * kPageTokens, kPageTokens);
  const PageIndex own = pages_[sealed_];
  ChainIndex::Node* node = index_.insert(node_, tenant_, tokens, own, now_us, on_probation_);
  index_.extend(node);
  node_ = node;
  pages_[sealed_] = ChainIndex::page_of(node);
  pool_.release(own);
  ++sealed_;
}

void ChainSequence::finish(int64_t now_us) {
  if (finished_) return;
  finished_ = true;
  const auto rest = std::span(tokens_).subspan(sealed_ * kPageTokens);
  if (!rest.empty()) {
    index_.insert(node_, tenant_, rest, pages_[sealed_], now_us, on_probation_);
  }
  for (size_t i = sealed_; i < pages_.size(); ++i) pool_.release(pages_[i]);
  pages_.resize(sealed_);
  index_.release(node_);
}

}  // namespace cascade
