// Files of tenants and keys, read and edited.
#include "wire/key_lines.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

TEST(KeyLines, have_a_tenant_and_a_key) {
  const auto lines = parse_key_lines("# ours\n\nalice  KEY one\r\n\t bob\tother \n#x y", "a key");
  ASSERT_TRUE(lines.ok()) << lines.error().to_string();
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ(lines->at(0).tenant, "alice");
  EXPECT_EQ(lines->at(0).key, "KEY one");
  EXPECT_EQ(lines->at(0).number, 3u);
  EXPECT_EQ(lines->at(1).tenant, "bob");
  EXPECT_EQ(lines->at(1).key, "other");
  EXPECT_EQ(lines->at(1).number, 4u);
}

TEST(KeyLines, that_are_none_are_named) {
  for (const std::string& line :
       std::vector<std::string>{"alice", "Alice key", "a.b key", std::string(33, 'a') + " key"}) {
    const auto lines = parse_key_lines("ok key\n" + line, "a key");
    ASSERT_FALSE(lines.ok()) << line;
    EXPECT_EQ(lines.error().field, "line 2");
  }
}

TEST(KeyLines, may_be_of_so_many_tenants) {
  std::string text;
  for (size_t i = 0; i < kKeyTenantsMax; ++i) text += "t" + std::to_string(i) + " key\n";
  EXPECT_TRUE(parse_key_lines(text + "t0 another\n", "a key").ok());
  const auto lines = parse_key_lines(text + "another key\n", "a key");
  ASSERT_FALSE(lines.ok());
  EXPECT_EQ(lines.error().field, "line 201");
  EXPECT_EQ(lines.error().message, "is of one tenant more than 200 tenants");
}

TEST(KeyLines, lose_a_key_and_keep_everything_else) {
  const std::string text = "# KEY\nalice KEY\n\n bob KEY \nbob KEY2\nlast KEY";
  EXPECT_EQ(without_key(text, "KEY"), "# KEY\n\nbob KEY2\n");
  EXPECT_EQ(without_key(text, "KEY2"), "# KEY\nalice KEY\n\n bob KEY \nlast KEY");
  EXPECT_EQ(without_key(text, "alice"), std::nullopt);
  EXPECT_EQ(without_key("", "KEY"), std::nullopt);
}

}  // namespace
}  // namespace cascade
