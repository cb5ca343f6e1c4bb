// Tenants that want to be computed at the same time.
#include "actors/scheduler/tenant_shares.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

class TenantSharesTest : public ::testing::Test {
 protected:
  FakeClock clock_;
  TenantShares shares_{clock_};
};

TEST_F(TenantSharesTest, two_tenants_contend_as_long_as_both_have_asked_lately) {
  EXPECT_FALSE(shares_.contended());
  shares_.ask("alice");
  shares_.ask("alice");
  EXPECT_FALSE(shares_.contended()) << "she is alone";
  clock_.advance_us(TenantShares::kContendedUs);
  shares_.ask("bob");
  EXPECT_TRUE(shares_.contended());
  clock_.advance_us(1);
  EXPECT_FALSE(shares_.contended());
  shares_.ask("alice");
  EXPECT_TRUE(shares_.contended());
}

TEST_F(TenantSharesTest, what_one_tenant_is_charged_the_other_is_credited) {
  shares_.ask("alice");
  shares_.ask("bob");
  shares_.charge("alice", 100);
  EXPECT_LT(shares_.credit("alice"), shares_.credit("bob"));
  shares_.ask("alice");
  EXPECT_LT(shares_.credit("alice"), shares_.credit("bob")) << "asking again changes nothing";
  EXPECT_EQ(shares_.credit("carol"), 0);
}

}  // namespace
}  // namespace cascade
