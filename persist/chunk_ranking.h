// Which chunks have the words of a question.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "persist/database.h"

namespace cascade {

// Returns which of the tenant's chunks `ids` have words of `question` in their text or query: first
// those with the most and rarest words, at most `limit`. A word counts the more, the fewer of these
// chunks have it (as in BM25); all other chunks do not matter. The search index is asked word by
// word. Of the rows between the first and the last of these chunks, it gives at most 100,000, so
// that the store is not busy for long. Errors: those of Database. One thread.
Result<std::vector<std::string>> rank_chunks(Database& database, std::string_view tenant,
                                             std::string_view question,
                                             const std::vector<std::string>& ids, size_t limit);

}  // namespace cascade
