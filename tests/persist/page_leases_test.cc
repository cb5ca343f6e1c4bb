// Which pages stay where they are.
#include "persist/page_leases.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cascade {
namespace {

LeasedPage page_in(int64_t file, uint64_t n) {
  return {.key = Hasher().field("n", n).finish(), .file = file, .offset = n, .parts = {{1, 1, 2}}};
}

TEST(PageLeases, are_found_until_they_are_released) {
  PageLeases leases;
  const uint32_t first = leases.add(page_in(1, 10));
  const uint32_t second = leases.add(page_in(1, 20));
  EXPECT_NE(first, second);
  EXPECT_EQ(leases.find(first)->offset, 10u);
  EXPECT_THAT(leases.keys(), ::testing::ElementsAre(page_in(1, 10).key, page_in(1, 20).key));
  const auto used = leases.find(first);
  leases.release(first);
  EXPECT_EQ(leases.find(first), nullptr);
  EXPECT_EQ(used->offset, 10u);  // a reader keeps what it found
  leases.release(first);
  leases.release(99);
  EXPECT_EQ(leases.count(), 1u);
  EXPECT_EQ(leases.add(page_in(2, 30)), first);
}

TEST(PageLeases, say_which_files_have_some) {
  PageLeases leases;
  const uint32_t first = leases.add(page_in(1, 10));
  const uint32_t second = leases.add(page_in(1, 20));
  leases.add(page_in(2, 20));
  EXPECT_TRUE(leases.has_file(1));
  leases.release(first);
  EXPECT_TRUE(leases.has_file(1));
  leases.release(second);
  EXPECT_FALSE(leases.has_file(1));
  EXPECT_TRUE(leases.has_file(2));
  leases.release_all();
  EXPECT_FALSE(leases.has_file(2));
  EXPECT_EQ(leases.count(), 0u);
  EXPECT_EQ(leases.find(first), nullptr);
}

}  // namespace
}  // namespace cascade
