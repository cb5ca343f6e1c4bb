// The levels of the search index (FTS5), which SQLite only ever adds to.
#pragma once

#include <cstdint>

#include "persist/database.h"

namespace cascade {

// Each deletion merges the parts of the index (ChunkTable::forget_step()), and each such merge adds
// about two levels. SQLite 3.40 takes an index of more than 2,000 levels for a damaged one, and
// refuses every further change of a chunk. An index that is built anew has none, so this is done
// about once in 950 deletions.
inline constexpr int64_t kSearchLevelsMax = 1900;

// The number of levels of the index; 0 if that cannot be told. Errors: those of Database.
Result<int64_t> search_levels(Database& database);

// Builds the index anew from the texts. With 100,000 chunks of 170 words each, that took 17 s.
// Errors: those of Database.
Status rebuild_search(Database& database);

// Does that if there are more than kSearchLevelsMax levels. Errors: those of Database.
Status limit_search_levels(Database& database);

}  // namespace cascade
