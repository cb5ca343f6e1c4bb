// The chunks of all tenants: ids, look-ups, duplicates. Metadata only: the chain index has K and V.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/chunk.h"
#include "base/result.h"
#include "cache/chain_index.h"

namespace cascade {

// A chunk, and what only this process knows about it.
struct ChunkEntry {
  Chunk chunk;
  uint64_t sequence = 0;       // order of creation
  size_t bytes = 0;            // that count against the registry's limit
  std::vector<int32_t> chain;  // outputs: the token ids whose K and V the chunk stands for
  size_t own_begin = 0;        // outputs: where in the chain the chunk's own turn begins
  std::optional<ChainIndex::HoldId> hold;  // keeps the chain's pages in the class of retained ones
};

// Every look-up names the tenant: another tenant's id answers "not found". One thread.
class ChunkRegistry {
 public:
  // A client that never deletes is stopped here, before metadata fills the memory.
  static constexpr size_t kChunksMax = 100'000;
  static constexpr size_t kBytesMax = size_t{512} << 20;  // of texts and token ids of all chunks

  explicit ChunkRegistry(size_t bytes_max = kBytesMax) : bytes_max_(bytes_max) {}

  // Adds `chunk` (id, tenant and content_hash set). If the tenant has a chunk of the same type and
  // content hash, returns that one and adds nothing.
  // Errors: kResourceExhausted, field "chunks", beyond kChunksMax or bytes_max.
  Result<ChunkEntry*> add(Chunk chunk);

  // The chunk with this id, or with this beginning of an id (>= 8 characters) if only one has it.
  // Errors: kNotFound, field "id"; kInvalidArgument if the beginning is ambiguous.
  Result<ChunkEntry*> find(std::string_view tenant, std::string_view id);

  // Removes and returns it. Errors as find().
  Result<ChunkEntry> remove(std::string_view tenant, std::string_view id);

  // Up to `limit` chunks of the tenant, newest first, behind the chunk `after` (empty: from the
  // newest); `more` says whether others follow. Errors: kNotFound, field "after".
  struct Page {
    std::vector<const ChunkEntry*> entries;
    bool more = false;
  };
  Result<Page> list(std::string_view tenant, std::optional<ChunkType> type, size_t limit,
                    std::string_view after);

  size_t count(bool outputs) const;
  // All entries in order of creation.
  std::vector<ChunkEntry*> all();

 private:
  // Keys begin with the tenant and its length, so that no tenant's keys begin like another's.
  std::map<std::string, ChunkEntry, std::less<>> by_id_;         // tenant id
  std::unordered_map<std::string, std::string> by_content_;      // tenant type hash -> id key
  std::map<uint64_t, std::string, std::greater<>> by_sequence_;  // newest first -> id key
  uint64_t next_sequence_ = 1;
  size_t outputs_ = 0;
  size_t bytes_max_;
  size_t bytes_ = 0;  // as chunks were added; token ids that came later count by the text
};

// The content hash: of an input chunk, type and text; of an output, also the turn that it answers
// and `prompt`, the tokens that it was generated from: equal answers in two conversations are two
// chunks, whose K and V differ.
std::string chunk_content_hash(const Chunk& chunk, std::span<const int32_t> prompt = {});

}  // namespace cascade
