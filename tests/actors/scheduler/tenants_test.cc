// From tenants' names to numbers, and back.
#include "actors/scheduler/tenants.h"

#include <gtest/gtest.h>

#include "cache/page_pool.h"

namespace cascade {
namespace {

Digest root_of_tenant(const std::string& name) {
  return Hasher().field("tenant", name).finish();
}

TEST(TenantNumbers, get_a_number_when_they_are_first_asked_for) {
  PagePool pool(4);
  ChainIndex index(root_of_tenant(""), pool, EvictionPolicy::kLru);
  Tenants tenants(index, root_of_tenant);
  EXPECT_EQ(tenants.find("alice"), std::nullopt);
  const TenantId alice = tenants.id("alice");
  const TenantId bob = tenants.id("bob");
  EXPECT_NE(alice, bob);
  EXPECT_NE(alice, kPublic);
  EXPECT_EQ(tenants.id("alice"), alice);
  EXPECT_EQ(tenants.find("alice"), alice);
}

TEST(TenantNumbers, are_found_by_their_numbers) {
  PagePool pool(4);
  ChainIndex index(root_of_tenant(""), pool, EvictionPolicy::kLru);
  Tenants tenants(index, root_of_tenant);
  const TenantId alice = tenants.id("alice");
  ASSERT_NE(tenants.name_of(alice), nullptr);
  EXPECT_EQ(*tenants.name_of(alice), "alice");
  EXPECT_EQ(tenants.name_of(kPublic), nullptr);
  EXPECT_EQ(tenants.name_of(alice + 1), nullptr);
}

}  // namespace
}  // namespace cascade
