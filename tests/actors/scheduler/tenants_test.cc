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

TEST(TenantNumbers, differ_between_attention_modes) {
  PagePool pool(4);
  ChainIndex index(root_of_tenant(""), pool, EvictionPolicy::kLru);
  Tenants tenants(index, root_of_tenant);
  const TenantId dense = tenants.id("alice");
  const TenantId windowed = tenants.id("alice", {128, 64});
  EXPECT_NE(dense, windowed);
  EXPECT_NE(tenants.id("alice", {128, 0}), windowed);
  EXPECT_EQ(tenants.id("alice", {128, 64}), windowed);
  EXPECT_EQ(*tenants.name_of(windowed), "alice");
  EXPECT_NE(index.tenant(dense).key, index.tenant(windowed).key);
  EXPECT_EQ(index.tenant(windowed).mode, (AttentionMode{128, 64}));
  EXPECT_EQ(tenants.owners("alice").size(), 3u);
  EXPECT_TRUE(tenants.owners("bob").empty());
}

TEST(TenantNumbers, are_limited_for_each_tenant) {
  PagePool pool(4);
  ChainIndex index(root_of_tenant(""), pool, EvictionPolicy::kLru);
  Tenants tenants(index, root_of_tenant);
  tenants.id("alice", kSelectMode);  // as after a restart: it is not added
  for (size_t i = 0; i < Tenants::kModesMax; ++i) {
    EXPECT_TRUE(tenants.add("alice", {100 + static_cast<int>(i), 0}).ok());
  }
  const auto refused = tenants.add("alice", {99, 0});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "attention");
  EXPECT_EQ(tenants.find("alice", {99, 0}), std::nullopt);
  EXPECT_TRUE(tenants.add("alice", {100, 0}).ok());
  EXPECT_TRUE(tenants.add("alice", kSelectMode).ok());
  EXPECT_TRUE(tenants.add("alice", {}).ok());
  EXPECT_TRUE(tenants.add("bob", {99, 0}).ok());
}

TEST(TenantNumbers, of_the_daemons_own_mode_are_never_refused_and_do_not_count) {
  PagePool pool(4);
  ChainIndex index(root_of_tenant(""), pool, EvictionPolicy::kLru);
  Tenants tenants(index, root_of_tenant, {}, kSelectMode);
  EXPECT_TRUE(tenants.add("alice", kSelectMode).ok());
  for (size_t i = 0; i < Tenants::kModesMax; ++i) {
    EXPECT_TRUE(tenants.add("alice", {100 + static_cast<int>(i), 0}).ok());
  }
  const auto refused = tenants.add("alice", {99, 0});
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("\"select:4096:0\" or \"dense\""), std::string::npos)
      << refused.error().message;
  EXPECT_TRUE(tenants.add("alice", kSelectMode).ok());
}

TEST(TenantNumbers, know_what_layers_with_windows_of_their_own_see) {
  PagePool pool(4);
  ChainIndex index(root_of_tenant(""), pool, EvictionPolicy::kLru);
  Tenants tenants(index, root_of_tenant, {512, 0, 512});
  EXPECT_EQ(tenants.widest({128, 64}), (AttentionMode{512, 64}));
  EXPECT_EQ(tenants.widest({4096, 0}), (AttentionMode{4096, 0}));
  EXPECT_EQ(tenants.widest({}), AttentionMode{});
  EXPECT_EQ(index.tenant(tenants.id("alice", {128, 64})).mode, (AttentionMode{512, 64}));
}

}  // namespace
}  // namespace cascade
