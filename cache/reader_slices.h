// How many tokens of a prompt are computed together if pages of its context are read from disk.
#pragma once

#include <cstdint>

namespace cascade {

// The range of the slices of a prompt that is longer than memory.
struct ReaderSliceLimits {
  // From this length on, a pass computes at full speed (Transformer::kRowsUsual).
  int64_t usual_tokens = 512;
  // The longest slice (Transformer::kRowsMax).
  int64_t tokens_max = 2048;
  // The shortest slice. Each slice reads the context once, so shorter ones would read more for the
  // same tokens.
  int64_t tokens_min = 128;
  // Unless the disk needs longer ones, slices are not longer than this: a cancel, or another
  // request, has to wait for the end of a slice.
  int64_t slice_us = 10'000'000;
};

// The pages of a slice are computed, the previous ones are written, and those before them are
// leased: a reader is promised memory for so many slices.
inline constexpr int64_t kReaderSliceStages = 3;

// The most tokens of a slice if memory has room for `pool_pages` pages: the pages that are promised
// to a reader take at most an eighth of a large memory, so that it goes on to keep the pages of
// others. At most limits.tokens_max.
int64_t reader_slice_tokens_max(int64_t pool_pages, const ReaderSliceLimits& limits);

// A slice reads all pages that are not in memory, however long it is. So a slice is as long as it
// takes to compute while these pages are read, within the limits. One thread.
class ReaderSlices {
 public:
  explicit ReaderSlices(const ReaderSliceLimits& limits) : limits_(limits) {}

  // Notes that reading `bytes` took `us` microseconds. Has no effect if one of them is 0.
  void add_read(int64_t bytes, int64_t us);

  // What computing a token takes at the present position (0: not known), and what each slice reads.
  struct Costs {
    double token_us = 0;
    double read_bytes = 0;
  };
  // The tokens of the next slice: a multiple of kPageTokens, at most `most` unless that is less
  // than a page.
  int64_t next_tokens(const Costs& costs, int64_t most) const;

  // About how long computing `tokens` tokens will wait for the disk, at these costs on average; 0
  // until something was read.
  double wait_us(int64_t tokens, const Costs& costs, int64_t most) const;

 private:
  const ReaderSliceLimits limits_;
  double us_per_byte_ = 0;  // of reading, lately
};

}  // namespace cascade
