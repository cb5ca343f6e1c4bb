// Ids of summaries as a column of the database.
#include "persist/summaries_column.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cascade {
namespace {

TEST(SummariesColumn, ids_come_back) {
  const std::vector<std::string> ids = {"chunk_a", "", "chunk with spaces"};
  EXPECT_EQ(summaries_column(ids), "chunk_a\n\nchunk with spaces\n");
  EXPECT_EQ(summaries_from_column(summaries_column(ids)), ids);
  EXPECT_EQ(summaries_column({}), "");
  EXPECT_TRUE(summaries_from_column("").empty());
}

TEST(SummariesColumn, a_damaged_text_gives_some_ids) {
  EXPECT_EQ(summaries_from_column("chunk_a"), std::vector<std::string>{"chunk_a"});
  EXPECT_EQ(summaries_from_column("\n").size(), 1u);
}

}  // namespace
}  // namespace cascade
