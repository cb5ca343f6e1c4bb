// How much a page is worth keeping: a pure function, so that policies can be compared on traces.
#pragma once

#include <cstdint>

namespace cascade {

// What eviction knows about a leaf of the chain tree.
struct PageWorth {
  bool retained = false;  // on the path of a retained chunk
  int64_t last_used_us = 0;
  int64_t hits = 0;      // times it was found by a request
  int64_t position = 0;  // of the page's first token: deeper pages cost more to compute again
};

// Higher is better; the lowest goes first. Retained pages rank above all others; within a class
// the score is the time of last use plus a bonus for pages that were found often or are costly to
// compute: A * log2(hits * cost), with A = 90 s, the typical gap between two uses of a
// conversation (leaf-only "t + A log2" is the best policy of those simulated on public traces).
double page_score(const PageWorth& worth);

}  // namespace cascade
