// How much K and V the disk can take.
#include "actors/scheduler/disk/disk_room.h"

#include <gtest/gtest.h>

#include "cache/chain_key.h"
#include "tests/actors/scheduler/room_test.h"

namespace cascade {
namespace {

class DiskRoomTest : public testing::RoomTest {
 protected:
  void SetUp() override {
    limits_.page_bytes = 1000;
    limits_.bytes_max = 10'500;
  }
  DiskLimits limits_;
  DiskRoom room_{limits_, stored_};
};

TEST_F(DiskRoomTest, is_what_the_budget_allows_however_much_is_there) {
  EXPECT_EQ(room_.bytes(), 10'500);
  EXPECT_EQ(room_.tokens(), 10 * kPageTokens);
  EXPECT_EQ(room_.used_bytes(), 0);
  stored_.add(chain_key({}, nullptr, std::vector<int32_t>{1}), {}, 1);
  EXPECT_EQ(room_.used_bytes(), 1000);
  EXPECT_EQ(room_.tokens(), 10 * kPageTokens) << "pages that are there make room for others";
}

TEST_F(DiskRoomTest, is_less_on_a_disk_with_little_free_space) {
  int64_t free = 3'999;
  limits_.free_bytes = [&] { return free; };
  EXPECT_EQ(room_.tokens(), 3 * kPageTokens);
  stored_.add(chain_key({}, nullptr, std::vector<int32_t>{1}), {}, 1);
  EXPECT_EQ(room_.tokens(), 4 * kPageTokens);
  free = -5;
  EXPECT_EQ(room_.tokens(), kPageTokens);
  free = 1'000'000;
  EXPECT_EQ(room_.tokens(), 10 * kPageTokens);
}

TEST_F(DiskRoomTest, is_not_limited_if_nobody_knows_the_size_of_a_page) {
  limits_ = {};
  EXPECT_EQ(room_.tokens(), INT64_MAX);
}

}  // namespace
}  // namespace cascade
