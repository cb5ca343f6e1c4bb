// Two maps that mirror each other.
#include "cache/chunk_uses.h"

#include <algorithm>

namespace cascade {

bool ChunkUses::add(const ChunkName& chunk, const Use& use) {
  const auto known = by_chunk_.find(chunk);
  if (known != by_chunk_.end()) {
    const auto page = known->second.find(use.page);
    if (page != known->second.end()) {
      const bool news = use.ends > page->second.ends;
      page->second.ends = std::max(page->second.ends, use.ends);
      return news;
    }
  }
  // The cost of a sweep is proportional to the number of notes, so the next one comes only after a
  // proportional number of new uses.
  if (size_ >= uses_max_ / 2 && ++new_since_sweep_ > uses_max_ / 8) sweep();
  if (size_ >= uses_max_) return false;
  const auto entry = by_chunk_.try_emplace(chunk).first;
  entry->second.emplace(use.page, Place{use.position, use.ends});
  by_page_[use.page].push_back(entry);
  ++size_;
  return true;
}

std::vector<ChunkUses::Use> ChunkUses::take(const ChunkName& chunk) {
  std::vector<Use> uses;
  const auto entry = by_chunk_.find(chunk);
  if (entry == by_chunk_.end()) return uses;
  for (const auto& [page, place] : entry->second) {
    uses.push_back({page, place.position, place.ends});
    forget(page, entry);
  }
  by_chunk_.erase(entry);
  std::ranges::sort(uses, [](const Use& a, const Use& b) {
    return std::pair(b.position, a.page.bytes) < std::pair(a.position, b.page.bytes);
  });
  return uses;
}

std::vector<ChunkUses::Use> ChunkUses::of(const ChunkName& chunk) const {
  std::vector<Use> uses;
  const auto entry = by_chunk_.find(chunk);
  if (entry == by_chunk_.end()) return uses;
  for (const auto& [page, place] : entry->second) {
    uses.push_back({page, place.position, place.ends});
  }
  return uses;
}

void ChunkUses::for_chunks_of(const Digest& page,
                              const std::function<void(const ChunkName&, int32_t)>& visit) const {
  const auto found = by_page_.find(page);
  if (found == by_page_.end()) return;
  for (const auto& chunk : found->second) visit(chunk->first, chunk->second.at(page).ends);
}

void ChunkUses::copy(const Digest& from, const Digest& to) {
  const auto found = by_page_.find(from);
  if (found == by_page_.end()) return;
  std::vector<std::pair<ChunkName, Use>> uses;
  for (const auto& chunk : found->second) {
    const Place& place = chunk->second.at(from);
    uses.push_back({chunk->first, {to, place.position, place.ends}});
  }
  for (const auto& [chunk, use] : uses) add(chunk, use);
}

// Forgets that the page has text of the chunk. The caller removes the chunk's own note of the page.
void ChunkUses::forget(const Digest& page, ByChunk::iterator chunk) {
  const auto found = by_page_.find(page);
  std::erase(found->second, chunk);
  if (found->second.empty()) by_page_.erase(found);
  --size_;
}

void ChunkUses::sweep() {
  for (auto chunk = by_chunk_.begin(); chunk != by_chunk_.end();) {
    for (auto page = chunk->second.begin(); page != chunk->second.end();) {
      if (is_there_(page->first)) {
        ++page;
        continue;
      }
      forget(page->first, chunk);
      page = chunk->second.erase(page);
    }
    chunk = chunk->second.empty() ? by_chunk_.erase(chunk) : std::next(chunk);
  }
  new_since_sweep_ = 0;
}

}  // namespace cascade
