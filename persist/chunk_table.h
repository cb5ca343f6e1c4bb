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
  std::string snippet;  // about a dozen words of the text: around what was found, if it is there
  bool operator==(const SearchHit&) const = default;
};

// Every function's changes are part of the database's group. Errors as Database. One thread.
class ChunkTable {
 public:
  explicit ChunkTable(Database& database) : database_(database) {}

  // As ChunkStore. Also kInvalidArgument for a number that is none (NaN).
  Status put(const Chunk& chunk);
  Status touch(const std::string& tenant, const std::string& id, int64_t hits,
               int64_t registrations, int64_t last_used_us);
  Status remove(const std::string& tenant, const std::string& id);

  // All chunks, in order of creation time. A row that is not as it was written is left out, and
  // `findings` says so; one whose counters alone are wrong has hits and registrations 0 and 1 and
  // counts as used when it was created.
  Result<std::vector<Chunk>> load(Findings& findings);
  // The last pages (kv_key) of the chains of pinned chunks.
  Result<std::vector<Digest>> pinned_chains();
  // The chunks of a damaged database that are as they were written, as far as they can be read.
  std::vector<Chunk> salvage();
  // Removes the rows that load() leaves out, corrects such counters, and makes the search index
  // anew. Returns how many rows were wrong.
  Result<size_t> repair();

  // The tenant's and published chunks in which all of the words stand (of the name, the text or the
  // query), newest first, at most `limit`. A word is what stands between spaces; case and accents
  // do not matter. Errors: kInvalidArgument, field "query": no words, or more than 32 words or
  // 1,024 bytes.
  Result<std::vector<SearchHit>> search(std::string_view tenant, std::string_view query,
                                        size_t limit);
  // Deleted texts' words stay in the search index until its parts are merged. Does some of that;
  // false when none are left.
  Result<bool> forget_step();
  // kDataCorrupt if the search index does not belong to the texts.
  Status verify_search();

 private:
  Status put_belongings(int64_t number, const Chunk& chunk);

  Database& database_;
};

}  // namespace cascade
