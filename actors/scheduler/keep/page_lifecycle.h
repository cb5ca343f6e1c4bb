// The only place through which pages are forgotten, in memory and on disk.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "actors/scheduler/disk/page_writer.h"
#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/keep/chunk_holds.h"
#include "actors/scheduler/keep/chunk_pins.h"
#include "actors/scheduler/keep/pinned_texts.h"
#include "actors/scheduler/keep/text_uses.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/request_table.h"
#include "actors/scheduler/scheduler_work.h"
#include "actors/scheduler/store_work.h"
#include "actors/scheduler/tenants.h"
#include "base/hash.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"
#include "wire/messages.h"

namespace cascade {

enum class ForgetScope {
  // The owner's pages with tokens after `keep`, and all chains that go on from them.
  kAndWhatGoesOn,
  // The same pages. In addition, when a running request that uses some of them ends, the pages of
  // the first `keep` tokens are forgotten, too, unless something else goes on from them.
  kAndLeftAlone,
  // The pages after `keep`, beginning at the end of the chain, up to a page that something else
  // goes on from. That page stays.
  kUnshared,
  // The pages of kUnshared, but only in memory, where no later request can reach them.
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

// One thread. Pages that are held or pinned stay in memory. Pages that a running request uses are
// forgotten when it ends, with those that it adds; pages that are being written are forgotten when
// they are written.
class PageLifecycle {
 public:
  // The references outlive this.
  PageLifecycle(ChainIndex& index, Tenants& tenants, ChunkRegistry& registry,
                const RequestTable& requests, StoredPages& stored, PageWriter& writer,
                TextUses& uses, ChunkHolds& holds, PinnedTexts& texts, ChunkPins& pins);

  // Forgets the pages. Public pages are forgotten together with the holds on pages after them. A
  // pinned chunk that loses its hold in this way has its pages promised again
  // (ChunkPins::promise_again).
  void forget(const Forget& what);
  // Forgets the pages that have text of the chunk, and all chains that go on from the text's end.
  // Pages of other chunks stay.
  void forget_texts(const ChunkUses::ChunkName& chunk, Removal why, const StoredName* erased);
  // Forgets a chunk's pages on disk by the name of the last one, since the chunk's tokens are not
  // known. The pages of the first `keep` tokens are forgotten only as far as nothing else goes on
  // from them. Public pages stay only if they are in memory, since on disk nothing says that they
  // are public.
  void forget_stored(const Digest& end, int64_t keep, const StoredName* erased);
  // Forgets the public pages, if there are any, of a chunk that is no longer published.
  void withdraw(ChunkEntry& entry, Removal why, const StoredName* erased = nullptr);
  // Forgets the public pages of the chain, with all that tenants have computed after them. Pages
  // that another published chunk begins with stay.
  void forget_public(std::span<const int32_t> chain, Removal why,
                     const StoredName* erased = nullptr);

  // The request has ended, and its pages are in the index. Forgets what was to be forgotten then,
  // and what the request has computed of texts that were deleted while it ran.
  void request_ended(const Request& request);
  // The writing of these pages has ended, with or without success.
  void writing_ended(const Writing& writing);
  // The store does not have the pages any more. Those that were deleted leave memory, too.
  void on(const wire::PagesForgotten& forgotten);

 private:
  // A part of a running request's chain that is forgotten when the request ends.
  struct AtEnd {
    int64_t keep;
    Removal why;
    bool left_alone = false;  // as with kAndLeftAlone
  };
  void forget_now(const Forget& what);
  int64_t public_tokens(const Forget& what) const;
  std::vector<Digest> keys_after(const Forget& what, int64_t keep) const;
  void forget_later(const Forget& what);
  void forget_use(ChainIndex::Node* node, const ChunkUses::Use& use, Removal why,
                  const StoredName* erased);
  void forget_gone_texts(const Request& request, bool retained);

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
