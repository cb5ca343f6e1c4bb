// Chains of outputs as rows: the tokens from which their K and V can be computed again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/attention_mode.h"
#include "base/hash.h"
#include "persist/database.h"

namespace cascade {

struct ChunkChain {
  Digest model;
  std::string tenant;
  std::string chunk_id;
  std::vector<int32_t> token_ids;
  int64_t begin = 0;     // tokens before the chunk's own
  bool pending = false;  // the K and V are not on disk yet
  AttentionMode attention = {};
  bool operator==(const ChunkChain&) const = default;
};

// All changes are part of the database's group of changes. Errors as Database. One thread.
class ChainTable {
 public:
  explicit ChainTable(Database& database) : database_(database) {}

  // Adds or replaces the chain; does nothing if there is no such chunk. The chain is removed with
  // its chunk.
  Status put(const ChunkChain& chain);
  // Notes that the chain is no longer pending. Success if there is no chain.
  Status settle(const std::string& tenant, const std::string& chunk_id);
  // The chain of the chunk, if the chain belongs to the model. A damaged row counts as none.
  Result<std::optional<ChunkChain>> find(const Digest& model, const std::string& tenant,
                                         const std::string& chunk_id);
  // All chains of the model that are pending or belong to pinned chunks. Damaged rows are left out:
  // this only costs a computation, which is done when somebody asks for it.
  Result<std::vector<ChunkChain>> load(const Digest& model);
  // The intact chains of a damaged database that can be read.
  std::vector<ChunkChain> salvage();

 private:
  Database& database_;
};

}  // namespace cascade
