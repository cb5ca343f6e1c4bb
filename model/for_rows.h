// Work on the rows of a pass, row by row.
#pragma once

#include <algorithm>

#include "kernels/quantized_rows.h"
#include "kernels/thread_pool.h"

namespace cascade {

// Calls body(row) once for each of `rows` rows, on the threads of `pool`. With few rows, tasks are
// smaller, so that every thread has one.
template <class Body>
void for_rows(ThreadPool& pool, int rows, const Body& body) {
  const int share = (rows + pool.threads() - 1) / pool.threads();
  const int per_task = std::clamp(share, 1, kRowBlock);
  pool.run((rows + per_task - 1) / per_task, [&](int task, int) {
    const int end = std::min(rows, (task + 1) * per_task);
    for (int row = task * per_task; row < end; ++row) body(row);
  });
}

}  // namespace cascade
