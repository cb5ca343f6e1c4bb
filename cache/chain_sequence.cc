// Moving along the chain tree page by page.
#include "cache/chain_sequence.h"

#include <algorithm>
#include <cstring>
#include <ranges>

#include "base/check.h"

namespace cascade {
namespace {

// How many of the latest pages that a sequence looks away from stay in memory until somebody needs
// the room. Evictions take the last page of a chain first, and templates may end a history in other
// words than its prompt: then the chain is found where it ends a page or a few earlier.
constexpr int64_t kMarginPages = 4;

}  // namespace

ChainSequence::ChainSequence(ChainIndex& index, PagePool& pool, const PageArena& arena,
                             TenantId tenant, ChainIndex::Use use)
    : index_(index),
      pool_(pool),
      arena_(arena),
      tenant_(tenant),
      use_(use),
      is_approximate_(index.tenant(tenant).base != kPublic),
      node_(index.root()) {
  CHECK(use == ChainIndex::Use::kMemory || index.tenant(tenant).mode.is_stored());
}

ChainSequence::~ChainSequence() {
  finish(0);
}

std::optional<PageIndex> allocate_page(ChainIndex& index, PagePool& pool, const PageArena& arena,
                                       TenantId tenant) {
  auto page = pool.allocate();
  while (!page && index.evict_one()) page = pool.allocate();
  if (!page) return std::nullopt;
  // Clears another tenant's K and V before this tenant's are written to the page. Otherwise those
  // old bytes could reach the disk with the page.
  if (pool.change_owner(*page, tenant)) arena.discard(*page);
  arena.set_indexed(*page, false);
  return page;
}

std::optional<PageIndex> ChainSequence::allocate_page() {
  return cascade::allocate_page(index_, pool_, arena_, tenant_);
}

int64_t ChainSequence::reuse(std::span<const int32_t> tokens, int64_t now_us, bool observed) {
  CHECK(tokens_.empty() && pages_.empty() && !finished_);
  const bool reads = use_ == ChainIndex::Use::kReader;
  ChainIndex::Match match = index_.match(
      tenant_, tokens, reads ? ChainIndex::Where::kAnywhere : ChainIndex::Where::kMemory);
  on_probation_ = index_.next_on_probation();
  node_ = match.node;
  pages_ = std::move(match.pages);
  sealed_ = pages_.size();
  unseen_ = unseen_now();
  index_.acquire(node_, use_, unseen_);
  if (unseen_.begin < unseen_.end) {
    std::fill(pages_.begin() + unseen_.begin, pages_.begin() + unseen_.end, kLostPage);
  }
  tokens_.assign(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(sealed_) * kPageTokens);
  ChainIndex::Node* found = node_;
  if (match.partial != nullptr) {
    // Keeps the node alive while room for the copy is made.
    index_.acquire(match.partial, ChainIndex::Use::kMemory, unseen_);
    if (const auto page = allocate_page()) {
      pages_.push_back(*page);
      std::memcpy(arena_.data(*page), arena_.data(page_of(match.partial)), arena_.page_bytes());
      const auto rest = tokens.subspan(tokens_.size(), match.partial_tokens);
      tokens_.insert(tokens_.end(), rest.begin(), rest.end());
      found = match.partial;
    }
    index_.release(match.partial, ChainIndex::Use::kMemory, unseen_);
  }
  // Approximate pages come after exact ones.
  taken_out_ = taken_out(found);
  const bool is_exact = found == index_.root() || name_of(found).owner != tenant_;
  if (is_approximate_ && is_exact) taken_out_.begin = committed();
  index_.touch(found, now_us, observed);  // once: a request is one hit for each page on its path
  return committed();
}

bool ChainSequence::reserve(int64_t tokens) {
  CHECK(!finished_);
  while (static_cast<int64_t>(pages_.size()) * kPageTokens < tokens) {
    const auto page = allocate_page();
    if (!page) return false;
    pages_.push_back(*page);
  }
  return true;
}

void ChainSequence::note_indexed(int64_t pages) {
  CHECK(pages <= std::ssize(pages_));
  if (!indexes_.pages.empty()) {
    indexes_.count = std::max(indexes_.count, pages);
    return;
  }
  for (int64_t page = 0; page < pages; ++page) {
    const PageIndex memory = pages_[static_cast<size_t>(page)];
    if (in_memory(memory)) arena_.set_indexed(memory, true);
  }
}

void ChainSequence::unreserve() {
  const size_t needed = (tokens_.size() + kPageTokens - 1) / kPageTokens;
  for (size_t i = needed; i < pages_.size(); ++i) pool_.release(pages_[i]);
  pages_.resize(std::min(pages_.size(), needed));
}

void ChainSequence::commit(std::span<const int32_t> tokens, int64_t now_us) {
  CHECK(!finished_);
  CHECK(committed() + static_cast<int64_t>(tokens.size()) <=
        static_cast<int64_t>(pages_.size()) * kPageTokens);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
  while (tokens_.size() >= (sealed_ + 1) * kPageTokens) seal_page(now_us);
  look_away();
}

// The full pages that no token after the last full page sees.
PageRange ChainSequence::unseen_now() const {
  const auto full = static_cast<int64_t>(sealed_);
  const PageRange unseen = unseen_behind(index_.tenant(tenant_).mode, full * kPageTokens);
  return {unseen.begin, std::min(unseen.end, full)};
}

void ChainSequence::look_away() {
  const PageRange now = unseen_now();
  const PageRange more = {std::max(now.begin, unseen_.end), now.end};
  if (more.begin >= more.end) return;
  // All pages before these were given up earlier, except those that are kept.
  const PageRange old = {std::max(now.begin, unseen_.end - kMarginPages), now.end - kMarginPages};
  index_.look_away(node_, more, {old.begin, std::min(old.end, kept_.begin)});
  const PageRange after_kept = {std::max(old.begin, kept_.end), old.end};
  if (after_kept.begin < after_kept.end) index_.look_away(node_, {old.end, old.end}, after_kept);
  std::fill(pages_.begin() + more.begin, pages_.begin() + more.end, kLostPage);
  unseen_ = now;
}

void ChainSequence::keep_seen(int64_t begin, int64_t end) {
  const PageRange unseen = unseen_behind(index_.tenant(tenant_).mode, begin);
  kept_ = {unseen.end, end / kPageTokens + 1};
}

int64_t ChainSequence::pages_in_window() const {
  if (index_.tenant(tenant_).mode.window == 0) return 0;
  return static_cast<int64_t>(sealed_) - std::max<int64_t>(0, unseen_.end - unseen_.begin);
}

int64_t ChainSequence::pages_taken() const {
  const bool has_window = index_.tenant(tenant_).mode.window > 0;
  return std::ssize(pages_) - (has_window ? static_cast<int64_t>(sealed_) : 0);
}

int64_t ChainSequence::pages_pinned(int64_t first_page) const {
  return static_cast<int64_t>(pinned_count(node_, first_page));
}

int64_t ChainSequence::pages_alone() const {
  if (index_.tenant(tenant_).mode.window > 0) return pages_taken();
  return static_cast<int64_t>(pages_.size() - sealed_ + used_alone_count(node_));
}

void ChainSequence::seal_page(int64_t now_us) {
  const auto tokens = std::span(tokens_).subspan(sealed_ * kPageTokens, kPageTokens);
  const PageIndex own = pages_[sealed_];
  ChainIndex::Node* node =
      index_.insert(node_, tenant_, tokens, own, now_us, on_probation_, taken_out_);
  // Tokens after another sequence's page do not stand where that page has its own.
  if (taken_out(node).free > taken_out_.free) {
    taken_out_.free = taken_out(node).free;
    taken_out_.free_begin = committed();
  }
  index_.extend(node, use_);
  node_ = node;
  pages_[sealed_] = page_of(node);
  pool_.release(own);
  ++sealed_;
}

void ChainSequence::finish(int64_t now_us) {
  if (finished_) return;
  finished_ = true;
  const auto rest = std::span(tokens_).subspan(sealed_ * kPageTokens);
  if (!rest.empty()) {
    index_.insert(node_, tenant_, rest, pages_[sealed_], now_us, on_probation_, taken_out_);
  }
  for (size_t i = sealed_; i < pages_.size(); ++i) pool_.release(pages_[i]);
  pages_.resize(sealed_);
  for (const PageIndex page : take_indexes().pages) pool_.release(page);
  index_.release(node_, use_, unseen_);
}

void ChainSequence::adopt(std::span<const int32_t> tokens, std::span<const uint32_t> leases,
                          int64_t now_us) {
  CHECK(use_ == ChainIndex::Use::kReader && !finished_);
  CHECK(tokens_.size() == sealed_ * kPageTokens);
  unreserve();
  CHECK(tokens.size() == leases.size() * kPageTokens);
  for (size_t i = 0; i < leases.size(); ++i) {
    const auto page = tokens.subspan(i * kPageTokens, kPageTokens);
    node_ = index_.insert(node_, tenant_, page, kLeasedPage | leases[i], now_us, on_probation_);
    index_.extend(node_, use_);
    tokens_.insert(tokens_.end(), page.begin(), page.end());
    pages_.push_back(page_of(node_));
    ++sealed_;
  }
}

bool ChainSequence::reserve_indexes(int64_t pages) {
  CHECK(use_ == ChainIndex::Use::kReader && !finished_);
  while (std::ssize(indexes_.pages) < pages) {
    const auto page = allocate_page();
    if (!page) return false;
    indexes_.pages.push_back(*page);
  }
  return true;
}

void ChainSequence::put_indexes(IndexMemory&& indexes) {
  CHECK(indexes_.pages.empty() && !finished_);
  indexes_ = std::move(indexes);
}

void ChainSequence::refresh() {
  size_t at = sealed_;
  for (const ChainIndex::Node* node : std::views::reverse(nodes())) pages_[--at] = page_of(node);
}

std::vector<ChainIndex::Node*> ChainSequence::nodes() const {
  return path_to(node_);
}

int64_t ChainSequence::pages_kept() const {
  const auto kept = std::ranges::count_if(nodes(), waits_for_lease);
  return static_cast<int64_t>(pages_.size() - sealed_) + kept;
}

std::optional<PageIndex> ChainSequence::reserve_lost(size_t page) {
  CHECK(page < sealed_);
  return allocate_page();
}

void ChainSequence::restore(size_t page, PageIndex memory, int64_t now_us) {
  CHECK(page < sealed_);
  const std::vector<ChainIndex::Node*> sealed = nodes();
  ChainIndex::Node* const parent = page == 0 ? index_.root() : sealed[page - 1];
  const TenantId owner = name_of(sealed[page]).owner;
  const auto tokens = std::span(tokens_).subspan(page * kPageTokens, kPageTokens);
  index_.insert(parent, owner, tokens, memory, now_us);
  pool_.release(memory);
}

}  // namespace cascade
