// How the rows of a matrix product's input are split into the tasks that write them.
#pragma once

#include <algorithm>

#include "kernels/quantized_rows.h"

namespace cascade {

// Quantised rows of a block lie interleaved, so they share cache lines. Threads that write
// different rows of a block wait for each other's lines: decoding eight sequences took 40 % longer.
// So a task is all rows of a block, and where there are more threads than blocks, a part of their
// channels. A single row is one task, which needs no other thread.
class RowParts {
 public:
  struct Part {
    int row_begin, row_end;
    int begin, end;  // channels; `begin` is a multiple of kGroup
  };

  // `rows` rows of k channels, written by `threads` threads. rows >= 0, the others > 0.
  RowParts(int rows, int k, int threads)
      : rows_(rows), k_(k), block_(row_lanes(rows)), spans_((k + kSpan - 1) / kSpan) {
    const int blocks = (rows + block_ - 1) / block_;
    parts_ = rows <= 1 ? 1 : std::clamp((threads + blocks - 1) / blocks, 1, spans_);
    tasks_ = blocks * parts_;
  }

  int tasks() const { return tasks_; }
  // All parts are disjoint, and together they are all channels of all rows. task in [0, tasks()).
  Part part(int task) const {
    const int row = task / parts_ * block_, index = task % parts_;
    const auto channel = [this](int part) { return std::min(k_, spans_ * part / parts_ * kSpan); };
    return {row, std::min(rows_, row + block_), channel(index), channel(index + 1)};
  }

 private:
  // Parts end at multiples of this: the scales of two groups of eight rows are one cache line.
  static constexpr int kSpan = 2 * kGroup;

  int rows_, k_;
  int block_;  // rows
  int spans_;  // of a row
  int parts_;  // of a block
  int tasks_;
};

}  // namespace cascade
