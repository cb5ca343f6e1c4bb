// How many tokens of a prompt are computed together if pages of its context are read from disk.
#pragma once

#include <cstdint>

#include "cache/planner.h"

namespace cascade {

// The range of the slices of a prompt that is longer than memory.
struct ReaderSliceLimits {
  // From this length on, a pass computes at full speed (Transformer::kRowsUsual).
  int64_t usual_tokens = 512;
  // The longest slice (Transformer::kRowsMax).
  int64_t tokens_max = 2048;
  // The shortest slice. Each slice reads the context once, so shorter ones would keep a disk busy
  // for nothing.
  int64_t tokens_min = 128;
  // Unless the disk needs longer ones, slices are not longer than this: a cancel, or another
  // request, has to wait for the end of a slice.
  int64_t slice_us = 10'000'000;
};

// The pages of a slice are computed, the previous ones are written, and those before them are
// leased: a reader is promised memory for so many slices.
inline constexpr int64_t kReaderSliceStages = 3;

// The most tokens of a slice if memory has room for `pool_pages` pages: the pages that are
// promised to a reader take at most an eighth of a large memory, so that it goes on to keep the
// pages of others. At most limits.tokens_max.
int64_t reader_slice_tokens_max(int64_t pool_pages, const ReaderSliceLimits& limits);

// A slice reads all pages that are not in memory, however long it is. So slices are as long as it
// takes to compute while that is read, and no longer. One thread.
class ReaderSlices {
 public:
  explicit ReaderSlices(const ReaderSliceLimits& limits) : limits_(limits) {}

  // What the answer of a slice said.
  struct Measured {
    int64_t tokens = 0;
    int64_t compute_us = 0;  // from its begin to its end
    int64_t read_bytes = 0;
    int64_t read_us = 0;  // in which something was read
    int64_t wait_us = 0;  // of that, the time in which nothing was computed
  };
  // Has no effect if nothing was read or computed.
  void add(const Measured& slice);

  // The tokens of the next slice: a multiple of kPageTokens, at most `most` unless that is less
  // than a page.
  int64_t tokens(int64_t most) const;

  // A prompt whose tokens [begin, end) are still to be computed.
  struct Rest {
    int64_t begin = 0;
    int64_t end = 0;
    double compute_us = 0;  // if nothing was read
  };
  // About how long the rest will wait for the disk, if `memory_tokens` of its context are in
  // memory, a token has `token_bytes` of K and V, and slices have at most `most` tokens. 0 until
  // something was read.
  double wait_us(const Rest& rest, int64_t memory_tokens, double token_bytes, int64_t most) const;

 private:
  const ReaderSliceLimits limits_;
  double token_us_ = 0;     // of computing, in the latest slice; 0: not measured
  double read_us_ = 0;      // of the latest slice
  double us_per_byte_ = 0;  // of reading
};

}  // namespace cascade
