// What the search index (FTS5) is asked for: https://sqlite.org/fts5.html#full_text_query_syntax.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cascade {

inline constexpr size_t kSearchWordsMax = 32;
inline constexpr size_t kSearchBytesMax = 1024;

// Returns an expression for chunks that the tenant can possibly see, and that have every word of
// `query` in their name, text or query; the chunks' rows decide what it may really see. Words are
// separated by spaces. nullopt for no words, or more than kSearchWordsMax words or kSearchBytesMax
// bytes. Any thread.
std::optional<std::string> all_words(std::string_view tenant, std::string_view query);

// Returns an expression for each word of `question`: for chunks with that word in their text or
// query, whosever they are. Of a long question, only the first and the last 32 words count. Any
// thread.
std::vector<std::string> each_word(std::string_view question);

}  // namespace cascade
