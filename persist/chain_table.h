// Chains of outputs whose K and V are not on disk yet, as rows: what they are computed from again.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/hash.h"
#include "persist/database.h"

namespace cascade {

struct PendingChain {
  Digest model;
  std::string tenant;
  std::string chunk_id;
  std::vector<int32_t> token_ids;
  int64_t begin = 0;  // tokens before the chunk's own
  bool operator==(const PendingChain&) const = default;
};

// Every function's changes are part of the database's group. Errors as Database. One thread.
class ChainTable {
 public:
  explicit ChainTable(Database& database) : database_(database) {}

  // Adds the chain or replaces it; nothing if there is no such chunk. It goes with its chunk.
  Status put(const PendingChain& chain);
  // Success if there is none.
  Status remove(const std::string& tenant, const std::string& chunk_id);
  // All chains of the model. Rows that are not as they were written are left out: they cost a
  // computation that is done when somebody asks for it.
  Result<std::vector<PendingChain>> load(const Digest& model);

 private:
  Database& database_;
};

}  // namespace cascade
