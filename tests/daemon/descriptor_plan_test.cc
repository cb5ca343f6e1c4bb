// How a limit of descriptors is divided, and when it is too low.
#include "daemon/descriptor_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/seed.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;

int64_t sum(const DescriptorPlan& plan, const DescriptorNeeds& needs) {
  const size_t ipc = needs.ipc_tenants * (plan.ipc_each + plan.events_each);
  return static_cast<int64_t>(plan.own + ipc + plan.http + plan.tcp);
}

TEST(DescriptorPlan, with_enough_all_doors_have_what_they_want) {
  const DescriptorNeeds needs = {.ipc_tenants = 3, .http = true, .tcp = true};
  const auto plan = plan_descriptors(needs, descriptors_wanted(needs));
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->ipc_each, 4096u);
  EXPECT_EQ(plan->events_each, 1024u);
  EXPECT_EQ(plan->http, 4096u);
  EXPECT_EQ(plan->tcp, 4096u);
  EXPECT_EQ(sum(*plan, needs), descriptors_wanted(needs));
}

TEST(DescriptorPlan, with_the_limits_that_systems_have_every_door_can_be_used) {
  const DescriptorNeeds needs = {.ipc_tenants = 1, .http = true, .tcp = true, .key_tenants = 2};
  for (const int64_t limit : {256, 1024, 16'384}) {
    const auto plan = plan_descriptors(needs, limit);
    ASSERT_TRUE(plan.ok()) << limit << ": " << plan.error().to_string();
    for (const size_t door : {plan->ipc_each, plan->events_each, plan->http, plan->tcp}) {
      EXPECT_GE(door, 16u) << limit;
    }
    EXPECT_LE(sum(*plan, needs), limit);
  }
}

TEST(DescriptorPlan, a_limit_that_is_too_low_is_an_error_that_says_what_is_needed) {
  const DescriptorNeeds needs = {.ipc_tenants = 40, .http = true};
  const auto plan = plan_descriptors(needs, 1024);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(plan.error().field, "open files");
  EXPECT_THAT(plan.error().message, HasSubstr("the limit is 1024"));
  EXPECT_THAT(plan.error().message, HasSubstr("LimitNOFILE="));
  // The limit that the message names is enough.
  const std::string& text = plan.error().message;
  const int64_t least = std::stoll(text.substr(text.find("needs ") + 6));
  EXPECT_TRUE(plan_descriptors(needs, least).ok());
  EXPECT_FALSE(plan_descriptors(needs, least - 1).ok());
}

TEST(DescriptorPlan, doors_that_are_not_there_get_nothing) {
  const auto plan = plan_descriptors({}, 1024);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->http, 0u);
  EXPECT_EQ(plan->tcp, 0u);
}

TEST(DescriptorPlan, at_random_never_gives_out_more_than_there_is) {
  Random random(testing::test_seed());
  for (int i = 0; i < 20'000; ++i) {
    const DescriptorNeeds needs = {.ipc_tenants = 1 + random.below(100),
                                   .http = random.below(2) == 0,
                                   .tcp = random.below(2) == 0,
                                   .key_tenants = random.below(400),
                                   .other_models = random.below(2) == 0};
    const auto limit = static_cast<int64_t>(random.below(1'000'000 >> random.below(12)));
    const auto plan = plan_descriptors(needs, limit);
    if (!plan.ok()) continue;
    ASSERT_LE(sum(*plan, needs), limit);
    ASSERT_GE(plan->ipc_each, 8u);
    ASSERT_GE(plan->ipc_each, plan->events_each);
    ASSERT_EQ(plan->http > 0, needs.http);
    ASSERT_EQ(plan->tcp > 0, needs.tcp);
  }
}

TEST(DescriptorPlan, counts_what_is_free) {
  const int64_t before = free_descriptors();
  std::FILE* file = std::fopen("/dev/null", "r");
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(free_descriptors(), before - 1);
  std::fclose(file);
  EXPECT_EQ(raise_descriptor_limit(1), raise_descriptor_limit(0)) << "it is never lowered";
}

}  // namespace
}  // namespace cascade
