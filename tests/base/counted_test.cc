// Counts in texts: one thing is not "1 things".
#include "base/counted.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

TEST(Counted, has_an_s_unless_there_is_one) {
  EXPECT_EQ(counted(0, "page"), "0 pages");
  EXPECT_EQ(counted(1, "page"), "1 page");
  EXPECT_EQ(counted(size_t{2}, "page"), "2 pages");
  EXPECT_EQ(counted(-1, "page"), "-1 pages");
}

}  // namespace
}  // namespace cascade
