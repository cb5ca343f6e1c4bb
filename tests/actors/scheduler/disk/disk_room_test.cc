// How much K and V the disk can take.
#include "actors/scheduler/disk/disk_room.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

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
  // A request whose prompt's first `stored` pages are on disk.
  Request& request_with(int64_t stored, bool pinned = false) {
    auto request = std::make_unique<Request>();
    request->handle = requests_.next_handle();
    request->client = {"alice", "client" + std::to_string(request->handle)};
    request->prompt = testing::count_up(0, 1000);
    request->params.output_pinned = pinned;
    compute(request->prompt, alice_);
    const auto nodes = testing::nodes_of(memory_.index, alice_, request->prompt);
    for (int64_t i = 0; i < stored; ++i) {
      const ChainIndex::PageName name = name_of(nodes[static_cast<size_t>(i)]);
      stored_.add(name.key, name.parent, static_cast<int32_t>(name.tokens.size()));
    }
    return requests_.add(std::move(request));
  }

  DiskLimits limits_;
  SpeedEstimate speed_;
  RequestTable requests_;
  PageSpills spills_ = spills_of(memory_.pool.page_count(), speed_, requests_);
  DiskRoom room_{limits_, stored_, spills_, memory_.index, tenants_};
};

TEST_F(DiskRoomTest, is_what_the_budget_allows_however_much_is_there) {
  EXPECT_EQ(room_.bytes(), 10'500);
  EXPECT_EQ(room_.tokens({}), 10 * kPageTokens);
  EXPECT_EQ(room_.used_bytes(), 0);
  stored_.add(chain_key({}, nullptr, std::vector<int32_t>{1}), {}, 1);
  EXPECT_EQ(room_.used_bytes(), 1000);
  EXPECT_EQ(room_.tokens({}), 10 * kPageTokens) << "pages that are there make room for others";
}

TEST_F(DiskRoomTest, is_the_free_space_if_that_is_less) {
  int64_t free = 3'999;
  limits_.free_bytes = [&] { return free; };
  EXPECT_EQ(room_.tokens({}), 3 * kPageTokens);
  Request& known = request_with(2);
  EXPECT_EQ(room_.used_bytes(), 2'000);
  EXPECT_EQ(room_.bytes(), 5'999);
  EXPECT_EQ(room_.tokens({}), 3 * kPageTokens)
      << "the store removes nothing for a disk without space";
  EXPECT_EQ(room_.tokens_for(known), 5 * kPageTokens) << "two of its pages are there";
  free = -5;
  EXPECT_EQ(room_.tokens({}), 0);
  EXPECT_EQ(room_.tokens_for(known), 2 * kPageTokens);
  free = 1'000'000;
  EXPECT_EQ(room_.tokens({}), 10 * kPageTokens);
  EXPECT_EQ(room_.tokens_for(known), 10 * kPageTokens);
}

TEST_F(DiskRoomTest, is_less_what_chains_on_disk_have_pinned) {
  const auto pin = [this](const AttentionMode& mode) {
    const TenantId owner = tenants_.id("alice", mode);
    const std::vector<int32_t> chain = testing::count_up(0, 3 * kPageTokens);
    compute(chain, owner);
    const auto hold = memory_.index.hold(owner, chain, 50);
    ASSERT_TRUE(hold.has_value());
    memory_.index.pin(*hold);
  };
  pin(kWindowMode);
  EXPECT_EQ(memory_.index.pinned_count(), 3u);
  EXPECT_EQ(tenants_.pinned_unwritten(), 3u);
  EXPECT_EQ(room_.tokens({}), 10 * kPageTokens) << "a window is not on disk";
  pin(kSelectMode);
  EXPECT_EQ(room_.tokens({}), 7 * kPageTokens);
  pin({});
  EXPECT_EQ(room_.tokens({}), 4 * kPageTokens);
}

TEST_F(DiskRoomTest, of_requests_that_select_is_also_what_memory_has_room_to_index) {
  const PageSpills spills = spills_of(20, speed_, requests_, {}, {}, true, /*indexes_in_page=*/2);
  const int64_t indexed = spills.tokens_max(kSelectMode);
  EXPECT_EQ(indexed, 5 * 2 * kPageTokens);
  const DiskRoom room(limits_, stored_, spills, memory_.index, tenants_);
  limits_.bytes_max = 8'500;
  EXPECT_EQ(room.tokens(kSelectMode), 8 * kPageTokens);
  Request& request = request_with(0);
  request.attention = kSelectMode;
  EXPECT_EQ(room.tokens_for(request), 8 * kPageTokens);
  EXPECT_EQ(tenants_.find("alice", kSelectMode), std::nullopt) << "asking makes no owner";
  limits_.bytes_max = 1'000'000;
  EXPECT_EQ(room.tokens(kSelectMode), indexed);
  EXPECT_EQ(room.tokens_for(request), indexed);
  EXPECT_EQ(room.tokens({}), 1000 * kPageTokens);
  request.attention = kWindowMode;
  EXPECT_EQ(room.tokens_for(request), std::nullopt);
  EXPECT_EQ(room.tokens(kWindowMode), 0);
}

TEST_F(DiskRoomTest, is_none_for_requests_that_must_fit_memory) {
  EXPECT_EQ(room_.tokens_for(request_with(0, /*pinned=*/true)), std::nullopt);
  const PageSpills none = spills_of(20, speed_, requests_, {}, {}, /*keeps_pages=*/false);
  const DiskRoom room(limits_, stored_, none, memory_.index, tenants_);
  EXPECT_EQ(room.tokens_for(request_with(0)), std::nullopt);
  EXPECT_EQ(room.tokens({}), 0);
}

TEST_F(DiskRoomTest, is_not_limited_if_nobody_knows_the_size_of_a_page) {
  limits_ = {};
  EXPECT_EQ(room_.tokens({}), INT64_MAX);
}

}  // namespace
}  // namespace cascade
