// Texts are found in prompts, and noted page by page.
#include "actors/scheduler/keep/text_uses.h"

#include <algorithm>
#include <utility>

#include "actors/scheduler/find_text.h"

namespace cascade {
namespace {

// The scheduler looks for at most this many texts of one request in its prompt.
constexpr size_t kTextsMax = 256;

wire::PageUse described(const ChunkUses::ChunkName& chunk, const ChunkUses::Use& use) {
  return {use.page.hex(), static_cast<int32_t>(use.position), chunk.first, chunk.second, use.ends};
}

}  // namespace

TextUses::TextUses(size_t uses_max, Outbox& outbox, ChainIndex& index, Tenants& tenants,
                   ChunkRegistry& registry, const StoredPages& stored, TextEnds text_ends)
    : outbox_(outbox),
      index_(index),
      tenants_(tenants),
      registry_(registry),
      stored_(stored),
      text_ends_(std::move(text_ends)),
      uses_(uses_max, [this](const Digest& page) {
        return stored_.disk().contains(page) || index_.find(page) != nullptr;
      }) {
  index.set_shortened(
      [this](const Digest& before, const Digest& after) { uses_.copy(before, after); });
}

std::vector<TextUse> TextUses::find(const std::string& tenant, const std::vector<std::string>& ids,
                                    std::span<const int32_t> prompt) {
  std::vector<TextUse> texts;
  for (const std::string& id : ids) {
    if (texts.size() == kTextsMax) break;
    const auto found = registry_.find(tenant, id);
    // If the chunk was deleted in the meantime, its text may be anywhere in the prompt.
    static const std::vector<int32_t> kUnknown;
    const auto& text = found.ok() ? (*found)->chunk.token_ids : kUnknown;
    texts.push_back({{found.ok() ? (*found)->chunk.tenant : tenant, id},
                     place_of_text(prompt, text),
                     found.ok() && (*found)->chunk.type == ChunkType::kOutput});
  }
  return texts;
}

bool TextUses::is_gone(const TextUse& text) {
  return !registry_.find_own(text.chunk.first, text.chunk.second).ok();
}

bool TextUses::has_gone_text(std::span<const TextUse> texts) {
  return std::ranges::any_of(texts, [&](const TextUse& text) { return is_gone(text); });
}

void TextUses::note(const Request& request) {
  if (!request.sequence) return;
  note(tenants_.id(request.client.tenant, request.attention), request.sequence->tokens(),
       request.texts);
}

void TextUses::note(TenantId owner, std::span<const int32_t> chain,
                    std::span<const TextUse> texts) {
  if (texts.empty()) return;
  int64_t stays = std::ssize(chain);  // tokens before the first text that is gone
  for (const TextUse& text : texts) {
    if (is_gone(text)) stays = std::min(stays, text.where.begin);
  }
  const std::vector<ChainIndex::Node*> nodes = nodes_with(index_, owner, chain);
  wire::StoreUses stored;
  for (const TextUse& text : texts) {
    if (is_gone(text)) continue;
    const int64_t last = (text.where.end - 1) / kPageTokens;
    for (int64_t i = text.where.begin / kPageTokens; i <= last && i < std::ssize(nodes); ++i) {
      const ChainIndex::PageName page = name_of(nodes[static_cast<size_t>(i)]);
      const Digest& key = page.key;
      const bool ends = page.position + std::ssize(page.tokens) >= text.where.end;
      const auto at = static_cast<int32_t>(text.where.end - page.position);
      const ChunkUses::Use use = {key, page.position, ends ? at + 1 : 0};
      if (ends && text.where.end <= stays) {
        const auto chunk = registry_.find_own(text.chunk.first, text.chunk.second);
        if (chunk.ok()) text_ends_(**chunk, use);
      }
      if (uses_.add(text.chunk, use) && stored_.disk().contains(key)) {
        stored.uses.add(described(text.chunk, use));
      }
    }
  }
  if (stored.uses.size() > 0) outbox_.send(Actor::kStore, std::move(stored));
}

void TextUses::note(const ChunkUses::ChunkName& chunk, const ChunkUses::Use& use) {
  if (!uses_.add(chunk, use) || !stored_.disk().contains(use.page)) return;
  wire::StoreUses stored;
  stored.uses.add(described(chunk, use));
  outbox_.send(Actor::kStore, std::move(stored));
}

void TextUses::load(const wire::StoredPages& stored) {
  for (size_t i = 0; i < stored.uses.size(); ++i) {
    const wire::PageUse use = stored.uses.at(i);
    uses_.add({use.tenant, use.chunk_id}, {*Digest::from_hex(use.key), use.position, use.ends});
  }
}

std::vector<wire::PageUse> TextUses::of(const NamedPage& page) {
  std::vector<std::pair<ChunkUses::ChunkName, ChunkUses::Use>> uses;
  const auto add = [&](const ChunkUses::ChunkName& chunk, int32_t ends) {
    // A page that is written only up to the end of one text may stop before another text ends.
    const bool is_in_it = ends <= std::ssize(page.tokens) + 1;
    uses.push_back({chunk, {page.key, page.position, is_in_it ? ends : 0}});
  };
  const Digest& in_memory = key_of(page.node);
  uses_.for_chunks_of(in_memory, add);
  std::vector<wire::PageUse> described_uses;
  for (const auto& [chunk, use] : uses) {
    if (in_memory != page.key) uses_.add(chunk, use);
    described_uses.push_back(described(chunk, use));
  }
  return described_uses;
}

}  // namespace cascade
