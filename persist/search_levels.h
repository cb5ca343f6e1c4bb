// The levels of the search index (FTS5), which SQLite only ever adds to.
#pragma once

#include <cstdint>

#include "persist/database.h"

namespace cascade {

// Each deletion merges the parts of the index (ChunkTable::forget_step()), and each such merge adds
// two levels. SQLite before 3.43 takes an index of more than 2,000 levels for a damaged one, and
// refuses every further change of a chunk. An index that is built anew has none.
inline constexpr int64_t kSearchLevelsMax = 1000;

// The number of levels of the index; 0 if that cannot be told. Errors: those of Database.
Result<int64_t> search_levels(Database& database);

// Builds the index anew from the texts: in seconds for 100,000 chunks. Errors: those of Database.
Status rebuild_search(Database& database);

// Does that if there are more than kSearchLevelsMax levels. Errors: those of Database.
Status limit_search_levels(Database& database);

}  // namespace cascade
