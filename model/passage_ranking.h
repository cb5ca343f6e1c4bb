// Finds the parts of earlier turns that answer a question best, by their words.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/on_overflow.h"

namespace cascade {

// A part of a turn's question or answer: a sentence that was found, and those beside it.
struct Passage {
  size_t turn = 0;  // its place among the turns
  bool is_answer = false;
  size_t begin = 0, end = 0;                    // bytes of that text
  size_t sentence_begin = 0, sentence_end = 0;  // the sentence itself
  bool operator==(const Passage&) const = default;
};

// Returns the passages that have words of `query`, best first. Passages of the same text may
// overlap. Words count the more, the fewer sentences have them (Okapi BM25, as in Robertson and
// Zaragoza, "The Probabilistic Relevance Framework", 2009). Words that differ only at their ends,
// such as "visit" and "visited", count as alike, but less. Texts without spaces between words, such
// as Chinese, are compared by pairs of characters.
//
// Every second passage is found by the words of one of the three best sentences, and less by those
// of the query (pseudo-relevance feedback): if "Ana uses the red box" was found, what is known of
// the red box follows.
//
// A sentence has at most `sentence_bytes_max` bytes: longer ones, such as lists and code, are cut.
// Takes time in proportion to the texts. Texts may be any bytes. Any thread.
std::vector<Passage> rank_passages(std::string_view query, std::span<const EarlierTurn> turns,
                                   size_t sentence_bytes_max = 240);

}  // namespace cascade
