// Notes which pages have text of which chunks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "actors/scheduler/disk/stored_pages.h"
#include "actors/scheduler/outbox.h"
#include "actors/scheduler/request.h"
#include "actors/scheduler/store_work.h"
#include "actors/scheduler/tenants.h"
#include "cache/chain_index.h"
#include "cache/chunk_registry.h"
#include "cache/chunk_uses.h"
#include "wire/messages.h"

namespace cascade {

// One thread. The store is told of uses in pages that it has.
class TextUses {
 public:
  // The chunk's text ends in the page, which is in memory, and no removed text comes before that
  // end.
  using TextEnds = std::function<void(const ChunkEntry&, const ChunkUses::Use&)>;

  // At most `uses_max` uses are noted. The references outlive this. When `index` shortens a page,
  // the page's new name gets the same texts: no page may be dropped after this is destroyed.
  TextUses(size_t uses_max, Outbox& outbox, ChainIndex& index, Tenants& tenants,
           ChunkRegistry& registry, const StoredPages& stored, TextEnds text_ends);

  // Finds where the prompt has the texts of the chunks.
  std::vector<TextUse> find(const std::string& tenant, const std::vector<std::string>& ids,
                            std::span<const int32_t> prompt);
  // Whether a chunk was removed whose text is among `texts`.
  bool has_gone_text(std::span<const TextUse> texts);

  // Notes which pages of the request's prompt, as far as it is computed, have texts of chunks.
  // Looks the pages up with the tokens of the answer, too, since other answers have pages of their
  // own.
  void note(const Request& request);
  // Notes which pages of the owner's chain, as far as the index has them, have the texts.
  void note(TenantId owner, std::span<const int32_t> chain, std::span<const TextUse> texts);
  void note(const ChunkUses::ChunkName& chunk, const ChunkUses::Use& use);
  // Takes over what the store has noted of pages before the start.
  void load(const wire::StoredPages& stored);

  // Returns the uses that the store is to write with the page.
  std::vector<wire::PageUse> of(const NamedPage& page);
  const ChunkUses& uses() const { return uses_; }
  // Returns the chunk's uses, those at the end of chains first, and forgets them.
  std::vector<ChunkUses::Use> take(const ChunkUses::ChunkName& chunk) { return uses_.take(chunk); }

 private:
  bool is_gone(const TextUse& text);

  Outbox& outbox_;
  const ChainIndex& index_;
  Tenants& tenants_;
  ChunkRegistry& registry_;
  const StoredPages& stored_;
  const TextEnds text_ends_;
  ChunkUses uses_;
};

}  // namespace cascade
