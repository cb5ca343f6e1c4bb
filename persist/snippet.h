// A few words of a text around what was searched for.
#pragma once

#include <string>
#include <string_view>

namespace cascade {

// About a dozen words of `text`, around the first one that is a word of `query`, or the first dozen
// if there is none; "…" where it is cut. Words are compared as the search index compares them
// (https://sqlite.org/fts5.html#unicode61_tokenizer): letters and digits, whatever their case and
// accents. Takes time linear in the text; FTS5's own snippet() takes time quadratic in the matches.
// Both may be any bytes.
std::string snippet_of(std::string_view text, std::string_view query);

}  // namespace cascade
