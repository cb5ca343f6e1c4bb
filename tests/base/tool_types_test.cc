// Values of arguments that are written without quotes.
#include "base/tool_types.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

constexpr std::string_view kTools = R"([{"type":"function","function":{"name":"f","parameters":{
    "type":"object",
    "$defs":{"Unit":{"enum":["c","f"]},"Loop":{"$ref":"#/$defs/Loop"},
      "Twice":{"anyOf":[{"$ref":"#/$defs/Twice"},{"$ref":"#/$defs/Twice"}]}},
    "properties":{
      "text":{"type":"string"},"maybe":{"type":["string","null"]},"n":{"type":"integer"},
      "any":{},"either":{"anyOf":[{"type":"string"},{"type":"integer"}]},
      "unit":{"$ref":"#/$defs/Unit"},"alias":{"$ref":"#/properties/text"},
      "loop":{"$ref":"#/$defs/Loop"},"twice":{"$ref":"#/$defs/Twice"},"one":{"const":"1"},
      "nullable":{"type":"string","nullable":true},"flag":{"type":"boolean"},
      "list":{"type":"array"}}}}},
    {"type":"function","function":{"name":"bare"}}, {"function":3}, 4])";

std::string value(std::string_view argument, std::string_view text) {
  static const ToolTypes types(kTools);
  return types.value("f", argument, text).dump();
}

TEST(ToolTypes, a_string_stays_text_whatever_it_spells) {
  for (const char* name : {"text", "unit", "one", "alias"}) {
    EXPECT_EQ(value(name, "3"), R"("3")") << name;
    EXPECT_EQ(value(name, "null"), R"("null")") << name;
    EXPECT_EQ(value(name, " {\"a\": 1}\n"), R"(" {\"a\": 1}\n")") << name;
  }
  EXPECT_EQ(value("maybe", "null"), "null");
  EXPECT_EQ(value("maybe", "None"), "null");
  EXPECT_EQ(value("maybe", "3"), R"("3")");
  EXPECT_EQ(value("nullable", "null"), "null");
}

TEST(ToolTypes, other_values_are_json) {
  EXPECT_EQ(value("n", " 3 "), "3");
  EXPECT_EQ(value("n", "null"), "null");
  EXPECT_EQ(value("flag", "True"), "true");
  EXPECT_EQ(value("flag", "false"), "false");
  EXPECT_EQ(value("list", "[1, \"a\"]"), R"([1,"a"])");
  EXPECT_EQ(value("list", "[1,"), R"("[1,")");
  EXPECT_EQ(value("either", "3"), "3");
  EXPECT_EQ(value("either", "three"), R"("three")");
  EXPECT_EQ(value("either", "\"3\""), R"("\"3\"")");
}

TEST(ToolTypes, without_a_type_the_text_decides) {
  for (const char* name : {"any", "loop", "twice", "unknown"}) {
    EXPECT_EQ(value(name, "3"), "3") << name;
    EXPECT_EQ(value(name, "None"), "null") << name;
    EXPECT_EQ(value(name, "Paris"), R"("Paris")") << name;
    EXPECT_EQ(value(name, "\"Paris\""), R"("Paris")") << name;
    EXPECT_EQ(value(name, ""), R"("")") << name;
  }
  EXPECT_EQ(ToolTypes().value("f", "x", "1").dump(), "1");
}

TEST(ToolTypes, how_an_argument_is_read_is_known_before) {
  const ToolTypes types(kTools);
  const auto reads_as = [&](const char* name) { return types.reads_as("f", name); };
  for (const char* name : {"text", "unit", "one", "alias"}) {
    EXPECT_EQ(reads_as(name), ArgumentText::kString) << name;
  }
  for (const char* name : {"maybe", "nullable"}) {
    EXPECT_EQ(reads_as(name), ArgumentText::kStringOrNull) << name;
  }
  for (const char* name : {"n", "any", "loop", "flag", "list", "unknown"}) {
    EXPECT_EQ(reads_as(name), ArgumentText::kJson) << name;
  }
  EXPECT_EQ(reads_as("either"), ArgumentText::kEither);
  EXPECT_EQ(types.reads_as("bare", "x"), ArgumentText::kJson);
}

TEST(ToolTypes, malformed_tools_are_left_out) {
  const ToolTypes types(kTools);
  EXPECT_TRUE(types.has("f") && types.has("bare"));
  EXPECT_FALSE(types.has("g") || types.has(""));
  for (const char* text : {"", "{", "{}", "[[]]", R"([{"function":{"name":1}}])"}) {
    EXPECT_FALSE(ToolTypes(text).has("f"));
  }
  EXPECT_EQ(ToolTypes(R"([{"function":{"name":"f","parameters":{"properties":3}}}])")
                .value("f", "x", "1")
                .dump(),
            "1");
}

TEST(ToolTypes, more_tools_may_be_added) {
  ToolTypes types(R"([{"function":{"name":"f"}}])");
  types.add(R"([{"function":{"name":"g"}}])");
  types.add("");
  EXPECT_TRUE(types.has("f") && types.has("g"));
  EXPECT_FALSE(types.has("h"));
  EXPECT_EQ(types.value("f", "x", "1").dump(), "1");
  types.add(R"([{"function":{"name":"f","parameters":{"properties":{"x":{"const":"1"}}}}}])");
  EXPECT_EQ(types.value("f", "x", "1").dump(), R"("1")");
}

}  // namespace
}  // namespace cascade
