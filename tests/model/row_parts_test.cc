// Parts of quantised rows: they are whole, disjoint and enough.
#include "model/row_parts.h"

#include <gtest/gtest.h>

#include <vector>

namespace cascade {
namespace {

// How often each channel of each row is in a part.
std::vector<int> times_written(const RowParts& parts, int rows, int k) {
  std::vector<int> times(static_cast<size_t>(rows) * k);
  for (int task = 0; task < parts.tasks(); ++task) {
    const RowParts::Part part = parts.part(task);
    for (int row = part.row_begin; row < part.row_end; ++row) {
      for (int i = part.begin; i < part.end; ++i) ++times[static_cast<size_t>(row) * k + i];
    }
  }
  return times;
}

TEST(RowParts, are_all_channels_of_all_rows_once) {
  for (const int rows : {1, 2, 4, 5, 8, 9, 24, 25, 37}) {
    for (const int k : {8, 128, 136, 256, 384, 1000}) {
      for (const int threads : {1, 2, 3, 16, 256}) {
        const RowParts parts(rows, k, threads);
        EXPECT_EQ(times_written(parts, rows, k), std::vector<int>(static_cast<size_t>(rows) * k, 1))
            << rows << " rows, " << k << " channels, " << threads << " threads";
      }
    }
  }
}

TEST(RowParts, are_whole_groups_of_whole_blocks) {
  for (const int rows : {2, 7, 24, 30}) {
    const int k = 1000;
    const RowParts parts(rows, k, 16);
    for (int task = 0; task < parts.tasks(); ++task) {
      const RowParts::Part part = parts.part(task);
      EXPECT_LT(part.begin, part.end);
      EXPECT_EQ(part.begin % kGroup, 0);
      EXPECT_TRUE(part.end % kGroup == 0 || part.end == k);
      EXPECT_EQ(part.row_begin % row_lanes(rows), 0);
      EXPECT_TRUE(part.row_end % row_lanes(rows) == 0 || part.row_end == rows);
    }
  }
}

TEST(RowParts, are_one_task_for_one_row_and_none_for_no_row) {
  EXPECT_EQ(RowParts(1, 4096, 16).tasks(), 1);
  EXPECT_EQ(RowParts(0, 4096, 16).tasks(), 0);
}

TEST(RowParts, are_no_fewer_than_threads_if_the_channels_suffice) {
  EXPECT_EQ(RowParts(8, 4096, 16).tasks(), 16);
  EXPECT_EQ(RowParts(8, 1024, 16).tasks(), 4);  // 256 channels each
  EXPECT_GE(RowParts(30, 4096, 16).tasks(), 16);
  EXPECT_EQ(RowParts(512, 1024, 2).tasks(), 43);  // blocks
}

}  // namespace
}  // namespace cascade
