// What the search index (FTS5) is asked for: https://sqlite.org/fts5.html#full_text_query_syntax.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace cascade {

inline constexpr size_t kSearchWordsMax = 32;
inline constexpr size_t kSearchBytesMax = 1024;

// Both expressions are for texts, names and queries of chunks that the tenant can possibly see; the
// chunks' rows decide what it may really see. Any thread.

// Returns an expression for chunks with every word of `query`, whose words are separated by spaces;
// nullopt for no words, or more than kSearchWordsMax words or kSearchBytesMax bytes.
std::optional<std::string> all_words(std::string_view tenant, std::string_view query);

// Returns an expression for chunks with any word of `question`, or a word that begins alike; of a
// long question only for the first and the last words. nullopt if it has no words.
std::optional<std::string> any_word(std::string_view tenant, std::string_view question);

}  // namespace cascade
