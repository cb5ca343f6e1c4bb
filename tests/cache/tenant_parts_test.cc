// Parts of a bounded amount: for a tenant that is alone, for one that comes late, and how much all
// can have together.
#include "cache/tenant_parts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

void take_all(TenantParts& parts, const std::string& tenant) {
  while (parts.may_take(tenant, 1)) parts.add(tenant, 1);
}

TEST(TenantParts, who_is_alone_may_have_all_of_it_and_no_more) {
  TenantParts parts(64);
  take_all(parts, "a");
  EXPECT_EQ(parts.of("a"), 64);
  EXPECT_EQ(parts.total(), 64);
  parts.add("a", -1);
  EXPECT_TRUE(parts.may_take("a", 1));
  EXPECT_FALSE(parts.may_take("a", 2));
}

TEST(TenantParts, who_comes_late_finds_its_part) {
  TenantParts parts(64);
  take_all(parts, "flood");
  EXPECT_TRUE(parts.may_take("light", 1));
  EXPECT_EQ(parts.part_of("light"), 16) << "half of what an equal division would give it";
  take_all(parts, "light");
  EXPECT_EQ(parts.of("light"), 16);
  EXPECT_FALSE(parts.may_take("flood", 1));
  EXPECT_EQ(parts.tenants(), 2);
}

TEST(TenantParts, what_a_flood_gives_back_others_may_take_as_well_as_it) {
  TenantParts parts(8);
  take_all(parts, "flood");
  parts.add("flood", -6);
  EXPECT_TRUE(parts.may_take("light", 6));
  parts.add("light", 6);
  EXPECT_FALSE(parts.may_take("flood", 1));
  parts.add("flood", -1);
  EXPECT_TRUE(parts.may_take("flood", 1));
}

TEST(TenantParts, who_has_nothing_may_take_one_thing_of_any_size) {
  TenantParts parts(100);
  EXPECT_TRUE(parts.may_take("a", 1000));
  parts.add("a", 1000);
  EXPECT_FALSE(parts.may_take("a", 1));
  EXPECT_TRUE(parts.may_take("b", 1000));
  parts.add("b", 3);
  EXPECT_TRUE(parts.may_take("b", 22));
  EXPECT_FALSE(parts.may_take("b", 23)) << "its part is 25";
}

TEST(TenantParts, of_more_tenants_than_there_are_places_each_gets_one) {
  TenantParts parts(4);
  take_all(parts, "flood");
  for (int i = 0; i < 100; ++i) {
    const std::string tenant = "t" + std::to_string(i);
    take_all(parts, tenant);
    EXPECT_EQ(parts.of(tenant), 1) << i;
  }
}

TEST(TenantParts, an_amount_that_is_lowered_takes_nothing_back) {
  TenantParts parts(10);
  parts.add("a", 10);
  parts.set_amount(4);
  EXPECT_EQ(parts.of("a"), 10);
  EXPECT_FALSE(parts.may_take("a", 1));
  EXPECT_TRUE(parts.may_take("b", 1));
  parts.add("a", -7);
  EXPECT_TRUE(parts.may_take("a", 1));
}

TEST(TenantParts, jobs_are_counted_by_whose_they_are) {
  std::vector<std::string> jobs(8, "flood");
  const auto whose = [](const std::string& job) { return job; };
  EXPECT_FALSE(may_begin(jobs, 8, "flood", whose));
  EXPECT_TRUE(may_begin(jobs, 8, "light", whose));
  jobs.insert(jobs.end(), 2, "light");
  EXPECT_FALSE(may_begin(jobs, 8, "light", whose));
}

// Tenants take and give back in random order; each finds its part, and the bound holds.
TEST(TenantParts, at_random_every_tenant_finds_its_part_and_the_whole_stays_bounded) {
  Random random(testing::test_seed());
  const int rounds = testing::long_or(300, 60);
  for (int round = 0; round < rounds; ++round) {
    const auto amount = static_cast<int64_t>(1 + random.below(200));
    const auto count = static_cast<int64_t>(1 + random.below(70));
    const auto largest = static_cast<int64_t>(1 + random.below(static_cast<uint64_t>(amount)));
    TenantParts parts(amount);
    std::vector<int64_t> has(static_cast<size_t>(count), 0);
    int64_t total = 0;
    for (int step = 0; step < 400; ++step) {
      const auto who = random.below(static_cast<uint64_t>(count));
      const std::string tenant = std::to_string(who);
      // Mostly the tenants want more.
      const bool gives = random.below(4) == 0 && has[who] > 0;
      const int64_t change =
          gives ? -static_cast<int64_t>(1 + random.below(static_cast<uint64_t>(has[who])))
                : static_cast<int64_t>(1 + random.below(static_cast<uint64_t>(largest)));
      const bool within_part = has[who] + change <= parts.part_of(tenant);
      const bool may = gives || parts.may_take(tenant, change);
      const bool fits = total + change <= amount;
      ASSERT_EQ(may, gives || has[who] == 0 || within_part || fits) << "round " << round;
      if (!may) continue;
      parts.add(tenant, change);
      has[who] += change;
      total += change;
      ASSERT_EQ(parts.total(), total);
      ASSERT_EQ(parts.of(tenant), has[who]);
      ASSERT_EQ(parts.tenants(), std::ranges::count_if(has, [](int64_t h) { return h > 0; }));
      ASSERT_LE(total, TenantParts::most_in_all(amount, count, largest)) << "round " << round;
    }
  }
}

}  // namespace
}  // namespace cascade
