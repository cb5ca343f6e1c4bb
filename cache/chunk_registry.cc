// Ordered maps: a beginning of an id is found as quickly as a whole one.
#include "cache/chunk_registry.h"

#include <algorithm>

#include "base/check.h"
#include "base/hash.h"

namespace cascade {
namespace {

// Real text has 3 to 5 bytes a token.
constexpr size_t kTextBytesPerToken = 3;

constexpr size_t kIdPrefixMin = 8;  // "output_" and a digit: shorter ones would name anything

// The length says where the tenant ends, whatever bytes it and an id from a client have.
std::string key_of(std::string_view tenant, std::string_view rest) {
  std::string key = std::to_string(tenant.size()) + ':';
  key += tenant;
  return key += rest;
}

std::string content_key(const Chunk& chunk) {
  return key_of(chunk.tenant, std::to_string(static_cast<int>(chunk.type)) + chunk.content_hash);
}

// What a chunk takes: its texts, its token ids (which may come later), and the entry itself.
size_t bytes_of(const Chunk& chunk) {
  const size_t ids = std::max(chunk.token_ids.size(), chunk.text.size() / kTextBytesPerToken);
  return chunk.text.size() + chunk.query_text.size() + chunk.raw_text.size() +
         ids * sizeof(int32_t) + sizeof(ChunkEntry);
}

}  // namespace

Result<ChunkEntry*> ChunkRegistry::add(Chunk chunk) {
  const std::string content = content_key(chunk);
  if (const auto present = by_content_.find(content); present != by_content_.end()) {
    return &by_id_.find(present->second)->second;
  }
  if (by_id_.size() >= kChunksMax) {
    return resource_exhausted("chunks", "there are " + std::to_string(kChunksMax) +
                                            " chunks, the limit; delete some first");
  }
  const size_t bytes = bytes_of(chunk);
  if (bytes > bytes_max_ - bytes_) {
    return resource_exhausted("chunks", "the texts of all chunks take " + std::to_string(bytes_) +
                                            " bytes; the limit is " + std::to_string(bytes_max_) +
                                            "; delete some first");
  }
  const std::string key = key_of(chunk.tenant, chunk.id);
  ChunkEntry entry;
  entry.chunk = std::move(chunk);
  entry.sequence = next_sequence_++;
  entry.bytes = bytes;
  bytes_ += bytes;
  const auto [it, added] = by_id_.emplace(key, std::move(entry));
  CHECK(added);  // ids are random
  by_content_.emplace(content, key);
  by_sequence_.emplace(it->second.sequence, key);
  if (it->second.chunk.type == ChunkType::kOutput) ++outputs_;
  return &it->second;
}

Result<ChunkEntry*> ChunkRegistry::find(std::string_view tenant, std::string_view id) {
  const std::string key = key_of(tenant, id);
  const auto it = by_id_.lower_bound(key);
  if (it != by_id_.end() && it->first == key) return &it->second;
  if (id.size() >= kIdPrefixMin && it != by_id_.end() && it->first.starts_with(key)) {
    const auto next = std::next(it);
    if (next != by_id_.end() && next->first.starts_with(key)) {
      return invalid_argument("id", "more than one chunk begins with \"" + std::string(id) + '"');
    }
    return &it->second;
  }
  return not_found("id", "no chunk \"" + std::string(id.substr(0, 64)) + '"');
}

Result<ChunkEntry> ChunkRegistry::remove(std::string_view tenant, std::string_view id) {
  ASSIGN_OR_RETURN(ChunkEntry * entry, find(tenant, id));
  const std::string key = key_of(entry->chunk.tenant, entry->chunk.id);
  by_content_.erase(content_key(entry->chunk));
  by_sequence_.erase(entry->sequence);
  bytes_ -= entry->bytes;
  if (entry->chunk.type == ChunkType::kOutput) --outputs_;
  return std::move(by_id_.extract(key).mapped());
}

Result<ChunkRegistry::Page> ChunkRegistry::list(std::string_view tenant,
                                                std::optional<ChunkType> type, size_t limit,
                                                std::string_view after) {
  auto it = by_sequence_.begin();
  if (!after.empty()) {
    auto found = find(tenant, after);
    if (!found.ok()) return not_found("after", found.error().message);
    it = std::next(by_sequence_.find((*found)->sequence));
  }
  Page page;
  for (; it != by_sequence_.end(); ++it) {
    const ChunkEntry& entry = by_id_.find(it->second)->second;
    if (entry.chunk.tenant != tenant || (type && entry.chunk.type != *type)) continue;
    if (page.entries.size() == limit) {
      page.more = true;
      break;
    }
    page.entries.push_back(&entry);
  }
  return page;
}

size_t ChunkRegistry::count(bool outputs) const {
  return outputs ? outputs_ : by_id_.size() - outputs_;
}

std::vector<ChunkEntry*> ChunkRegistry::all() {
  std::vector<ChunkEntry*> entries;
  for (auto it = by_sequence_.rbegin(); it != by_sequence_.rend(); ++it) {
    entries.push_back(&by_id_.find(it->second)->second);
  }
  return entries;
}

std::string chunk_content_hash(const Chunk& chunk, std::span<const int32_t> prompt) {
  Hasher hasher;
  hasher.field("type", to_string(chunk.type)).field("text", chunk.text);
  if (chunk.type == ChunkType::kOutput) {
    hasher.field("query", chunk.query_text).field("raw", chunk.raw_text);
    hasher.field("policy", to_string(chunk.think_policy));
    hasher.field("finish", chunk.generation.finish_reason).field("prompt", prompt);
  }
  return hasher.finish().hex();
}

}  // namespace cascade
