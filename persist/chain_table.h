// Chains of outputs, as rows: what their K and V are computed from again.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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
  bool operator==(const ChunkChain&) const = default;
};

// Every function's changes are part of the database's group. Errors as Database. One thread.
class ChainTable {
 public:
  explicit ChainTable(Database& database) : database_(database) {}

  // Adds the chain or replaces it; nothing if there is no such chunk. It goes with its chunk.
  Status put(const ChunkChain& chain);
  // The chain is not pending any more. Success if there is none.
  Status settle(const std::string& tenant, const std::string& chunk_id);
  // The chunk's, if it is of the model. Rows that are not as they were written count as none.
  Result<std::optional<ChunkChain>> find(const Digest& model, const std::string& tenant,
                                         const std::string& chunk_id);
  // All chains of the model that are pending, or of pinned chunks. Rows that are not as they were
  // written are left out: they cost a computation that is done when somebody asks for it.
  Result<std::vector<ChunkChain>> load(const Digest& model);
  // The chains of a damaged database that are as they were written and can be read.
  std::vector<ChunkChain> salvage();

 private:
  Database& database_;
};

}  // namespace cascade
