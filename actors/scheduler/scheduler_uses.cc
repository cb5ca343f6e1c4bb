// Which pages have text of which chunks, and what goes from caches with a chunk.
#include <algorithm>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {

// A request has ended. What it computed of texts that were deleted while it ran goes.
void SchedulerCore::drop_gone_texts(const Request& request) {
  if (!request.sequence) return;
  for (const TextUse& text : request.texts) {
    if (registry_.find_own(text.chunk.first, text.chunk.second).ok()) continue;
    const std::span<const int32_t> tokens = request.sequence->tokens();
    const auto before = std::min(tokens.size(), static_cast<size_t>(text.where.begin));
    end_branch(request.client.tenant, tokens, before, Removal::kDeleted);
    if (text.is_output) {
      drop_unshared(request.client.tenant, tokens.first(before), Removal::kDeleted);
    }
  }
}

// Frees the pages that have text of the chunk, with what goes on from where it ends, as far as no
// chunk that stays has them. Prefixes and priorities of prompts with the text end.
void SchedulerCore::forget_uses(const ChunkUses::ChunkName& chunk, Removal why) {
  const auto has_text = [&](const std::vector<TextUse>& texts) {
    return std::ranges::find(texts, chunk, &TextUse::chunk) != texts.end();
  };
  holds_.drop_leases_if([&](const Lease& lease) { return has_text(lease.texts); });
  std::erase_if(prefixes_, [&](const auto& named) {
    const bool ends = has_text(named.second.texts);
    if (ends) index_.drop_hold(named.second.hold);
    return ends;
  });
  const StoredName name = {chunk.first, chunk.second};
  for (const ChunkUses::Use& use : uses_.take(chunk)) {
    if (ChainIndex::Node* node = index_.find(use.page)) {
      forget_use(node, use, why, &name);
    } else if (use.ends != 0) {
      stored_.remove_from(use.page, &name);
    } else {
      stored_.remove_unshared({use.page}, &name);
    }
  }
}

void SchedulerCore::forget_use(ChainIndex::Node* node, const ChunkUses::Use& use, Removal why,
                               const StoredName* erased) {
  const TenantId owner = ChainIndex::name_of(node).owner;
  const std::string* tenant = tenants_.name_of(owner);
  if (tenant == nullptr) return;  // public: withdraw_pages() sees to it
  const std::vector<int32_t> chain = ChainIndex::chain_to(node);
  // Prompts that wait to be written; what is a chunk's stays.
  writer_.drop_if([&](const Writeback& writeback) {
    return writeback.is_of_prompt() && writeback.owner == owner &&
           static_cast<int64_t>(common_prefix(writeback.chain, chain)) > use.position;
  });
  if (use.ends != 0) {
    end_branch(*tenant, chain, static_cast<size_t>(use.position), why,
               /*unshared=*/false, erased);
  } else {
    writer_.end_when_written(owner, chain, use.position, why);
    stored_.remove_unshared({use.page}, erased);
    index_.drop_branch(owner, chain, use.position, why);
  }
}

}  // namespace cascade
