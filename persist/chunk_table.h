// Chunks as rows: the tables chunks, think_spans and parents, and the search over their texts.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/chunk.h"
#include "base/hash.h"
#include "persist/database.h"
#include "persist/finding.h"

namespace cascade {

// A chunk that a search found.
struct SearchHit {
  std::string id;
  std::string snippet;  // about a dozen words of the text, around its first match if there is one
  bool operator==(const SearchHit&) const = default;
};

// All changes are part of the database's group of changes. Errors as Database. One thread.
class ChunkTable {
 public:
  explicit ChunkTable(Database& database) : database_(database) {}

  // As ChunkStore. Also kInvalidArgument for a number that is NaN.
  Status put(const Chunk& chunk);
  Status touch(const std::string& tenant, const std::string& id, int64_t hits,
               int64_t registrations, int64_t last_used_us);
  Status remove(const std::string& tenant, const std::string& id);

  // All chunks, in order of creation time. A damaged row is left out, and `findings` says so. If
  // only its counters are wrong, the chunk gets 0 hits and 1 registration, and its creation counts
  // as its last use.
  Result<std::vector<Chunk>> load(Findings& findings);
  // The last pages (kv_key) of the chains of pinned chunks.
  Result<std::vector<Digest>> pinned_chains();
  // The intact chunks of a damaged database, as far as they can be read.
  std::vector<Chunk> salvage();
  // Removes the rows that load() leaves out, corrects wrong counters, and builds the search index
  // anew. Returns how many rows were wrong.
  Result<size_t> repair();

  // Finds chunks of the tenant, and published ones, newest first, at most `limit`. Every word must
  // be in the name, the text or the query of the chunk; different words may be in different ones of
  // these. Words are separated by spaces; case and accents do not matter. Errors: kInvalidArgument,
  // field "query": no words, or more than 32 words or 1,024 bytes.
  Result<std::vector<SearchHit>> search(std::string_view tenant, std::string_view query,
                                        size_t limit);
  // Words of deleted texts stay in the search index until its parts are merged. Does a part of that
  // work; false when nothing is left to do.
  Result<bool> forget_step();
  // kDataCorrupt if the search index does not match the texts.
  Status verify_search();

 private:
  Status put_belongings(int64_t number, const Chunk& chunk);

  Database& database_;
};

}  // namespace cascade
