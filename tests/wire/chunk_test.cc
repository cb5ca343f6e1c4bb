// Names of the chunk enumerations and the levels of composition.
#include "wire/chunk.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

TEST(ChunkNames, are_the_inverse_of_parsing) {
  for (const char* name : {"SYSTEM_PROMPT", "CONTEXT", "OUTPUT", "QUERY"}) {
    const std::optional<ChunkType> type = chunk_type_from_string(name);
    ASSERT_TRUE(type.has_value()) << name;
    EXPECT_EQ(to_string(*type), name);
  }
  for (const char* name : {"reprefill", "keep", "drop"}) {
    const std::optional<ThinkPolicy> policy = think_policy_from_string(name);
    ASSERT_TRUE(policy.has_value()) << name;
    EXPECT_EQ(to_string(*policy), name);
  }
  for (const char* name : {"none", "pending", "ready"}) {
    const std::optional<KvState> state = kv_state_from_string(name);
    ASSERT_TRUE(state.has_value()) << name;
    EXPECT_EQ(to_string(*state), name);
  }
}

TEST(ChunkNames, refuse_what_is_no_name) {
  EXPECT_FALSE(chunk_type_from_string("output").has_value());
  EXPECT_FALSE(chunk_type_from_string("").has_value());
  EXPECT_FALSE(think_policy_from_string("Keep").has_value());
  EXPECT_FALSE(kv_state_from_string("gone").has_value());
}

TEST(ChunkNames, order_composition_by_level) {
  EXPECT_EQ(cascade_level(ChunkType::kSystemPrompt), 0);
  EXPECT_EQ(cascade_level(ChunkType::kContext), 1);
  EXPECT_EQ(cascade_level(ChunkType::kOutput), 1);
  EXPECT_EQ(cascade_level(ChunkType::kQuery), 2);
}

}  // namespace
}  // namespace cascade
