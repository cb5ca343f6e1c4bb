// Which pages have text of which chunks, and what goes from caches with a chunk.
#include <algorithm>

#include "actors/scheduler/scheduler_core.h"

namespace cascade {

// The pages of its own chain, and those of every prompt in which its text stands, each page once.
PagesOfChunk SchedulerCore::pages_of_chunk(const ChunkEntry& entry) const {
  PagesOfChunk pages;
  const Chunk& chunk = entry.chunk;
  if (entry.hold && index_.is_held(*entry.hold)) {
    const auto tenant = tenants_.find(chunk.tenant);
    const ChainIndex::Match match =
        tenant ? index_.match(*tenant, entry.chain) : ChainIndex::Match();
    std::vector<ChainIndex::Node*> nodes = ChainIndex::path_to(match.node);
    if (match.partial != nullptr) nodes.push_back(match.partial);
    for (size_t i = entry.own_begin / kPageTokens; i < nodes.size(); ++i) {
      pages.in_memory.insert(nodes[i]);
    }
  }
  if (const auto end = Digest::from_hex(chunk.kv_key); end) {
    const std::vector<DiskIndex::Step> path = stored_.disk().path(*end);
    int64_t position = 0;
    for (const DiskIndex::Step& step : path) position += step.tokens;
    for (const DiskIndex::Step& step : path) {
      if (position <= chunk.kv_begin) break;
      pages.on_disk.insert(step.key);
      position -= step.tokens;
    }
  }
  for (const ChunkUses::Use& use : uses_.uses().of({chunk.tenant, chunk.id})) {
    if (const ChainIndex::Node* node = index_.find(use.page)) pages.in_memory.insert(node);
    if (stored_.disk().contains(use.page)) pages.on_disk.insert(use.page);
  }
  return pages;
}

// What clients are shown of it.
void SchedulerCore::measure(ChunkEntry& entry) {
  refresh(entry);
  const auto page_bytes = static_cast<int64_t>(arena_.page_bytes());
  const PagesOfChunk pages = pages_of_chunk(entry);
  entry.chunk.kv_bytes = page_bytes * std::ssize(pages.in_memory);
  entry.chunk.kv_disk_pages = std::ssize(pages.on_disk);
  entry.chunk.kv_disk_bytes = page_bytes * entry.chunk.kv_disk_pages;
}

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
  const auto end_with_text = [&](const auto& named) {
    const bool ends =
        std::ranges::find(named.second.texts, chunk, &TextUse::chunk) != named.second.texts.end();
    if (ends) index_.drop_hold(named.second.hold);
    return ends;
  };
  std::erase_if(leases_, end_with_text);
  std::erase_if(prefixes_, end_with_text);
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
