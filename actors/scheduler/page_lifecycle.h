// The only place that forgets pages, in memory and on disk.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "actors/scheduler/chunk_holds.h"
#include "actors/scheduler/chunk_pins.h"
#include "actors/scheduler/page_writer.h"
#include "actors/scheduler/pinned_texts.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/request_table.h"
#include "actors/scheduler/scheduler_work.h"
#include "actors/scheduler/store_work.h"
#include "actors/scheduler/stored_pages.h"
#include "actors/scheduler/tenants.h"
#include "actors/scheduler/text_uses.h"
#include "base/hash.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"
#include "wire/messages.h"

namespace cascade {

enum class ForgetScope {
  // The owner's pages with tokens after `keep`, and all chains that go on from them.
  kAndWhatGoesOn,
  // The same. When a running request that uses such pages ends, also those of the first `keep`
  // tokens that nothing else goes on from then.
  kAndLeftAlone,
  // The pages after `keep`, from the end of the chain, until something else goes on from one.
  kUnshared,
  // The same, in memory only: no later request can reach them there.
  kUnreachable,
};

// Pages of a chain that are to be forgotten.
struct Forget {
  TenantId owner;
  std::span<const int32_t> chain;
  int64_t keep;  // tokens that stay; a page that has tokens of both kinds is forgotten
  Removal why;
  ForgetScope scope = ForgetScope::kAndWhatGoesOn;
  const StoredName* erased = nullptr;  // the chunk whose removal waits for this, if any
};

// One thread. What is held, pinned or used stays in memory for now. Pages that a running request
// uses are forgotten when it ends, with what it adds to them; pages that are being written, when
// they are written.
class PageLifecycle {
 public:
  // The references outlive this.
  PageLifecycle(ChainIndex& index, Tenants& tenants, ChunkRegistry& registry,
                const RequestTable& requests, StoredPages& stored, PageWriter& writer,
                TextUses& uses, ChunkHolds& holds, PinnedTexts& texts, ChunkPins& pins);

  // Public pages are forgotten with the holds of those that stand on them; a pinned chunk that
  // loses its hold so is computed again (ChunkPins::promise_again).
  void forget(const Forget& what);
  // Forgets the pages that have text of the chunk, with what goes on from where it ends, as far as
  // no chunk that stays has them.
  void forget_texts(const ChunkUses::ChunkName& chunk, Removal why, const StoredName* erased);
  // Forgets a chunk's pages on disk by their last one, the first `keep` tokens only as far as
  // nothing else goes on from them: its tokens are not known.
  void forget_stored(const Digest& end, int64_t keep, const StoredName* erased);
  // Nobody is to find the published chunk's pages any more: forgets them, but for what other
  // published chunks begin with, and what tenants have computed after them.
  void withdraw(ChunkEntry& entry, Removal why, const StoredName* erased = nullptr);
  void forget_public(std::span<const int32_t> chain, Removal why,
                     const StoredName* erased = nullptr);

  // The request has ended, and its pages are in the index: forgets what was to be forgotten then,
  // and what it has of texts that were deleted while it ran.
  void request_ended(const Request& request);
  // What PageWriter tells.
  void writing_ended(const Writing& writing);
  // The store does not have the pages any more; those that were deleted go from memory as well.
  void on(const wire::PagesForgotten& forgotten);

 private:
  // What is to be forgotten of the chain of a running request.
  struct AtEnd {
    int64_t keep;
    Removal why;
    bool left_alone = false;  // as of kAndLeftAlone
  };
  void forget_now(const Forget& what);
  int64_t tokens_kept(const Forget& what) const;
  std::vector<Digest> keys_after(const Forget& what, int64_t keep) const;
  void forget_later(const Forget& what);
  void forget_use(ChainIndex::Node* node, const ChunkUses::Use& use, Removal why,
                  const StoredName* erased);
  void forget_gone_texts(const Request& request);

  ChainIndex& index_;
  Tenants& tenants_;
  ChunkRegistry& registry_;
  const RequestTable& requests_;
  StoredPages& stored_;
  PageWriter& writer_;
  TextUses& uses_;
  ChunkHolds& holds_;
  PinnedTexts& texts_;
  ChunkPins& pins_;
  std::map<std::pair<uint64_t, TenantId>, AtEnd> at_end_;  // by request and owner
};

}  // namespace cascade
