// Which pages have text of which chunks, and what goes from caches with a chunk.
#include <algorithm>

#include "actors/scheduler/find_text.h"
#include "actors/scheduler/scheduler_core.h"

namespace cascade {
namespace {

// Of one request: each is looked for in the prompt.
constexpr size_t kTextsMax = 256;
wire::PageUse described(const ChunkUses::ChunkName& chunk, const ChunkUses::Use& use) {
  return {use.page.hex(), static_cast<int32_t>(use.position), chunk.first, chunk.second, use.ends};
}

}  // namespace

// Where the prompt has the texts of the chunks.
std::vector<TextUse> SchedulerCore::find_texts(const std::string& tenant,
                                               const std::vector<std::string>& ids,
                                               std::span<const int32_t> prompt) {
  std::vector<TextUse> texts;
  for (const std::string& id : ids) {
    if (texts.size() == kTextsMax) break;
    const auto found = registry_.find(tenant, id);
    // One that was deleted in the meantime: its text may be anywhere.
    static const std::vector<int32_t> kUnknown;
    const auto& text = found.ok() ? (*found)->chunk.token_ids : kUnknown;
    texts.push_back({{found.ok() ? (*found)->chunk.tenant : tenant, id},
                     place_of_text(prompt, text),
                     found.ok() && (*found)->chunk.type == ChunkType::kOutput});
  }
  return texts;
}

// Notes which pages of the request's prompt, as far as it is computed, have texts of chunks. The
// pages are looked up with the tokens of its answer, since other answers have pages of their own.
void SchedulerCore::note_uses(const Request& request) {
  if (!request.sequence) return;
  note_uses(request.client.tenant, request.sequence->tokens(), request.texts);
}

// Notes which pages of the tenant's chain, as far as they are in memory, have the texts.
void SchedulerCore::note_uses(const std::string& tenant, std::span<const int32_t> chain,
                              std::span<const TextUse> texts) {
  if (texts.empty()) return;
  const auto is_gone = [&](const TextUse& text) {
    return !registry_.find_own(text.chunk.first, text.chunk.second).ok();
  };
  int64_t stays = std::ssize(chain);  // so many tokens, until one of a text that is gone
  for (const TextUse& text : texts) {
    if (is_gone(text)) stays = std::min(stays, text.where.begin);
  }
  const ChainIndex::Match match = index_.match(tenants_.id(tenant), chain);
  std::vector<ChainIndex::Node*> nodes = ChainIndex::path_to(match.node);
  if (match.partial != nullptr) nodes.push_back(match.partial);
  wire::StoreUses stored;
  for (const TextUse& text : texts) {
    if (is_gone(text)) continue;
    const int64_t last = (text.where.end - 1) / kPageTokens;
    for (int64_t i = text.where.begin / kPageTokens; i <= last && i < std::ssize(nodes); ++i) {
      const ChainIndex::PageName page = ChainIndex::name_of(nodes[static_cast<size_t>(i)]);
      const Digest& key = page.key;
      const bool ends = page.position + std::ssize(page.tokens) >= text.where.end;
      const auto at = static_cast<int32_t>(text.where.end - page.position);
      const ChunkUses::Use use = {key, page.position, ends ? at + 1 : 0};
      if (ends && text.where.end <= stays) {
        const auto chunk = registry_.find_own(text.chunk.first, text.chunk.second);
        if (chunk.ok() && (*chunk)->chunk.pinned) pin_text(**chunk, use);
      }
      if (uses_.add(text.chunk, use) && stored_.disk().contains(key)) {
        stored.uses.add(described(text.chunk, use));
      }
    }
  }
  if (stored.uses.size() > 0) outbox_.send(Actor::kStore, std::move(stored));
}

// What is to be written with the page, which is called `key` on disk.
std::vector<wire::PageUse> SchedulerCore::uses_of(const NamedPage& page) {
  std::vector<std::pair<ChunkUses::ChunkName, ChunkUses::Use>> uses;
  const auto note = [&](const ChunkUses::ChunkName& chunk, int32_t ends) {
    // A page that is written up to a text's end may stop before another text does.
    const bool is_in_it = ends <= std::ssize(page.tokens) + 1;
    uses.push_back({chunk, {page.key, page.position, is_in_it ? ends : 0}});
  };
  const Digest& in_memory = ChainIndex::key_of(page.node);
  uses_.for_chunks_of(in_memory, note);
  std::vector<wire::PageUse> described_uses;
  for (const auto& [chunk, use] : uses) {
    if (in_memory != page.key) uses_.add(chunk, use);
    described_uses.push_back(described(chunk, use));
  }
  return described_uses;
}

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
  for (const ChunkUses::Use& use : uses_.of({chunk.tenant, chunk.id})) {
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

// Whether a chunk that the prompt has the text of was removed.
bool SchedulerCore::has_gone_text(const Request& request) {
  return std::ranges::any_of(request.texts, [&](const TextUse& text) {
    return !registry_.find_own(text.chunk.first, text.chunk.second).ok();
  });
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
