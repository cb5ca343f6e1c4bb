// The chain of one running sequence: what it reuses, the pages it fills, what it leaves behind.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cache/chain_index.h"
#include "cache/page_arena.h"

namespace cascade {

// Tokens are *committed* once their K and V are in pages. Full pages are added to the index at
// once, so that other sequences find them while this one still runs. If another sequence was
// faster, its page is taken and ours is freed: they hold the same bits.
//
// A *reader* can do without the memory of its full pages, as long as they are on disk under a lease
// (ChainIndex). A sequence of a tenant whose attention has a window gives up the pages that none of
// its later tokens sees, and is no reader. One thread.
class ChainSequence {
 public:
  // The sequence belongs to `tenant`; with kPublic, every tenant finds what it computes.
  ChainSequence(ChainIndex& index, PagePool& pool, const PageArena& arena, TenantId tenant,
                ChainIndex::Use use = ChainIndex::Use::kMemory);
  // Leaves the pages to the index as finish() does.
  ~ChainSequence();
  ChainSequence(const ChainSequence&) = delete;
  ChainSequence& operator=(const ChainSequence&) = delete;

  // Commits the longest beginning of `tokens` that is in the index, and copies a page that matches
  // only in part. Returns the number of tokens committed. Call it once, before anything else.
  // `observed` is that of ChainIndex::touch().
  int64_t reuse(std::span<const int32_t> tokens, int64_t now_us, bool observed = true);

  // Makes room for `tokens` tokens in all, evicting where needed. False if every page is in use;
  // the pages already reserved stay.
  bool reserve(int64_t tokens);

  // Gives back the pages that are reserved beyond the committed tokens.
  void unreserve();

  // Notes that the K and V of `tokens`, at position committed(), are in pages. Precondition:
  // reserved.
  void commit(std::span<const int32_t> tokens, int64_t now_us);

  // If there is a window: later sequences may go on from one of the tokens [begin, end]. What they
  // see then stays in memory until somebody needs the room, also when no token of this sequence
  // sees it any more.
  void keep_seen(int64_t begin, int64_t end);

  // The tokens that are committed from now on have this many free positions before them, or as many
  // as the tokens before them if those have more.
  void set_free_positions(int64_t count) {
    if (count <= taken_out_.free) return;
    taken_out_.free = count;
    taken_out_.free_begin = committed();
  }

  // Gives the unfinished last page to the index too, and gives up the use of the chain. Idempotent.
  void finish(int64_t now_us);

  TenantId tenant() const { return tenant_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  int64_t committed() const { return static_cast<int64_t>(tokens_.size()); }
  // The committed tokens in pages that the index shares with other sequences.
  int64_t shared_tokens() const { return static_cast<int64_t>(sealed_) * kPageTokens; }
  // The number of free positions before the next token.
  int64_t free_positions() const { return taken_out_.free; }
  // The committed tokens whose K and V are approximations, or depend on some.
  int64_t approximate_tokens() const {
    return is_approximate_ ? committed() - taken_out_.begin : 0;
  }
  // The number of full pages, which the index has.
  int64_t pages_sealed() const { return static_cast<int64_t>(sealed_); }
  // The number of full pages that a sequence with a window sees; 0 if there is no window.
  int64_t pages_in_window() const;
  // The number of pages that the sequence has of those that it was promised: all of its pages. If
  // there is a window, full pages do not count: they can be promised to all sequences that see them
  // (ChainIndex::seen_count()).
  int64_t pages_taken() const;
  // The number of full pages in memory from page `first_page` on that pins keep.
  int64_t pages_pinned(int64_t first_page) const;
  // The number of pages, as pages_taken() counts them, that finish() would leave free or open to
  // eviction: nobody else uses them, and no pin keeps them.
  int64_t pages_alone() const;
  // Page i holds positions [64 i, 64 i + 64); kLostPage if the sequence looks away from it. A
  // reader's pages may be leased: refresh() first.
  const std::vector<PageIndex>& pages() const { return pages_; }

  // The first `pages` pages have an index. Call it before the tokens of the job are committed that
  // made the last of them: a page may then be replaced by that of another sequence.
  void note_indexed(int64_t pages);

  // For readers only.

  // Commits whole pages that are on disk: `tokens`, which come next, under these leases. The index
  // owns the leases from now on. What was reserved is given back. Precondition: committed() is a
  // multiple of 64.
  void adopt(std::span<const int32_t> tokens, std::span<const uint32_t> leases, int64_t now_us);
  // Takes over what has become of the pages since the last call: they were spilled, or are in
  // memory again.
  void refresh();
  // The nodes of the full pages.
  std::vector<ChainIndex::Node*> nodes() const;
  // The number of pages that only readers use and that are in memory because they have no lease.
  int64_t pages_kept() const;
  // Reserves a page for the lost page `page`, which is computed again; nullopt if there is no room.
  std::optional<PageIndex> reserve_lost(size_t page);
  // The K and V of the lost page are in `memory`, which is not reserved any more.
  void restore(size_t page, PageIndex memory, int64_t now_us);
  // The reserved page is not needed.
  void give_back(PageIndex memory) { pool_.release(memory); }

  // Memory for the indexes of all pages, for readers that select: they need an index also after its
  // page has left memory. finish() frees it.
  struct IndexMemory {
    std::vector<PageIndex> pages;
    int64_t count = 0;  // the number of first pages whose indexes are there
  };
  const IndexMemory& indexes() const { return indexes_; }
  // Has `pages` pages of memory for indexes, evicting where needed. False if every page is in use.
  bool reserve_indexes(int64_t pages);
  // The indexes from page `page` on must be made again.
  void forget_indexes(int64_t page) { indexes_.count = std::min(indexes_.count, page); }
  // Moves the memory to a sequence that begins with all committed tokens of this one.
  IndexMemory take_indexes() { return std::exchange(indexes_, {}); }
  void put_indexes(IndexMemory&& indexes);

 private:
  std::optional<PageIndex> allocate_page();
  void seal_page(int64_t now_us);
  PageRange unseen_now() const;
  void look_away();

  ChainIndex& index_;
  PagePool& pool_;
  const PageArena& arena_;
  const TenantId tenant_;
  const ChainIndex::Use use_;
  const bool is_approximate_;
  bool on_probation_ = false;     // whether the pages that this sequence computes are on probation
  std::vector<int32_t> tokens_;   // committed
  std::vector<PageIndex> pages_;  // of the whole chain; we own the references from page sealed_ on
  size_t sealed_ = 0;             // pages that the index has
  ChainIndex::Node* node_;        // of the last sealed page, acquired
  PageRange unseen_;              // the full pages that the sequence looks away from
  PageRange kept_;                // those of keep_seen()
  TakenOut taken_out_;            // as the next token has it
  IndexMemory indexes_;           // empty if an index follows K and V of its page
  bool finished_ = false;
};

// Returns a page of memory for K and V of the tenant, with one reference, and evicts pages where
// needed. What others have left in it cannot be read. nullopt: every page is in use.
std::optional<PageIndex> allocate_page(ChainIndex& index, PagePool& pool, const PageArena& arena,
                                       TenantId tenant);

}  // namespace cascade
