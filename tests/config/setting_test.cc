// The table of settings, and which values it accepts.
#include "config/setting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "base/number_types.h"

namespace cascade::config {
namespace {

using ::testing::HasSubstr;

const Setting& the(std::string_view name) {
  const Setting* setting = find_setting(name);
  EXPECT_NE(setting, nullptr) << name;
  return *setting;
}

TEST(Settings, have_one_name_in_three_spellings) {
  const Setting& setting = the("kv-memory");
  EXPECT_EQ(flag_of(setting), "--kv-memory");
  EXPECT_EQ(key_of(setting), "kv_memory");
  EXPECT_EQ(variable_of(setting), "CASCADED_KV_MEMORY");
  EXPECT_EQ(find_setting("kv_memory"), nullptr);
  EXPECT_EQ(find_setting(""), nullptr);
}

TEST(Settings, say_all_that_a_reader_needs) {
  std::set<std::string_view> names;
  for (const Setting& setting : settings()) {
    EXPECT_TRUE(names.insert(setting.name).second) << setting.name << " is given twice";
    EXPECT_FALSE(setting.help.empty()) << setting.name;
    EXPECT_TRUE(setting.reason.ends_with('.')) << setting.name;
    EXPECT_FALSE(allowed_of(setting).empty()) << setting.name;
    EXPECT_TRUE(setting.fallback.empty() != setting.computed.empty())
        << setting.name << " needs a default, or where it comes from";
  }
}

TEST(Settings, have_defaults_that_they_allow) {
  for (const Setting& setting : settings()) {
    if (setting.fallback.empty()) continue;
    EXPECT_TRUE(check(setting, {std::string(setting.fallback)}, "x").ok()) << setting.name;
  }
}

TEST(Settings, take_integers_within_their_range) {
  const Setting& setting = the("max-waiting");
  for (const char* good : {"1", "64", "100000"}) EXPECT_TRUE(check(setting, {good}, "x").ok());
  for (const char* bad :
       {"", "0", "-1", "100001", "1.0", "1e3", " 1", "1 ", "+1", "0x1", "99999999999999999999"}) {
    const Status status = check(setting, {bad}, "file:3: max_waiting");
    ASSERT_FALSE(status.ok()) << bad;
    EXPECT_EQ(status.error().field, "file:3: max_waiting");
    EXPECT_THAT(status.error().message, HasSubstr("from 1 to 100000"));
    EXPECT_THAT(status.error().message, HasSubstr('"' + std::string(bad) + '"'));
  }
}

TEST(Settings, take_shares_from_0_to_1) {
  for (const char* good : {"0", "1", "0.5", "1e-3"}) {
    EXPECT_TRUE(check(the("max-pinned"), {good}, "x").ok()) << good;
  }
  for (const char* bad : {"", "nan", "inf", "-0.1", "1.1", "1,0", "half"}) {
    EXPECT_FALSE(check(the("max-pinned"), {bad}, "x").ok()) << bad;
  }
}

TEST(Settings, take_one_of_their_words_and_no_part_of_them) {
  EXPECT_TRUE(check(the("weights"), {"auto"}, "x").ok());
  for (const WeightType type : kWeightTypes) {
    const std::string name(to_string(type));
    EXPECT_TRUE(check(the("weights"), {name}, "x").ok()) << name;
  }
  for (const char* bad : {"", "f3", "32", "f32, bf16", "F32", ","}) {
    EXPECT_FALSE(check(the("weights"), {bad}, "x").ok()) << bad;
  }
}

TEST(Settings, take_one_text_but_for_lists) {
  EXPECT_TRUE(check(the("tenant"), {"a", "b"}, "x").ok());
  EXPECT_TRUE(check(the("tenant"), {}, "x").ok());
  EXPECT_FALSE(check(the("threads"), {"1", "2"}, "x").ok());
  EXPECT_FALSE(check(the("threads"), {}, "x").ok());
  EXPECT_FALSE(check(the("model"), {std::string("a\0b", 3)}, "x").ok());
}

TEST(ParseSize, takes_plain_numbers_and_binary_units) {
  EXPECT_EQ(*parse_size("x", "1"), 1);
  EXPECT_EQ(*parse_size("x", "3K"), 3 * 1024);
  EXPECT_EQ(*parse_size("x", "512M"), int64_t{512} << 20);
  EXPECT_EQ(*parse_size("x", "4G"), int64_t{4} << 30);
  EXPECT_EQ(*parse_size("x", "9223372036854775807"), INT64_MAX);
  EXPECT_EQ(*parse_size("x", "8589934591G"), INT64_MAX - (int64_t{1} << 30) + 1);
}

TEST(ParseSize, refuses_what_is_not_a_size) {
  for (const char* text : {"",
                           "G",
                           "0",
                           "0G",
                           "-1",
                           "-1G",
                           "+1",
                           " 1",
                           "1 ",
                           "1 G",
                           "1g",
                           "1k",
                           "1T",
                           "1GB",
                           "1GiB",
                           "1.5G",
                           "0x10",
                           "1e9",
                           "9223372036854775808",
                           "8589934592G",
                           "99999999999999999999",
                           "1KK"}) {
    const auto bytes = parse_size("--kv-memory", text);
    ASSERT_FALSE(bytes.ok()) << text;
    EXPECT_EQ(bytes.error().field, "--kv-memory");
    EXPECT_THAT(bytes.error().message, HasSubstr(text));
  }
}

}  // namespace
}  // namespace cascade::config
