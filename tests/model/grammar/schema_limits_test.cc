// Schemas that want too much, and schemas that are damaged: an answer in bounded time, never a
// crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/utf8.h"
#include "tests/model/grammar/grammar_testing.h"
#include "tests/model/grammar/random_schema.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using testing::refusal;

std::string repeated(size_t count, const std::string& text) {
  std::string all;
  for (size_t i = 0; i < count; ++i) all += text;
  return all;
}

TEST(SchemaLimits, of_size_and_depth) {
  EXPECT_THAT(refusal("{\"title\": \"" + std::string(kGrammarBytesMax, 'x') + "\"}"),
              HasSubstr("larger than 131072 bytes"));
  EXPECT_THAT(refusal(repeated(70, R"({"items":)") + "true" + std::string(70, '}')),
              HasSubstr("64"));
  EXPECT_THAT(refusal("{\"type\": "), HasSubstr("not valid JSON"));
}

TEST(SchemaLimits, names_in_messages_are_cut_between_characters) {
  const std::string e_acute = "\u00e9";
  for (const size_t before : {19, 199}) {
    const std::string name = std::string(before, 'x') + e_acute + e_acute;
    const std::string keyword = "{\"" + name + "\": 1}";
    const std::string property = R"({"properties": {")" + name + R"(": {"type": "date"}}})";
    for (const std::string& text : {keyword, property}) {
      EXPECT_TRUE(is_utf8(refusal(text))) << text;
      EXPECT_TRUE(is_utf8(refusal(text, GrammarKind::kParts))) << text;
    }
  }
}

TEST(SchemaLimits, of_combinations) {
  // Each level doubles the schemas that hold together.
  std::string all;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "p" + std::to_string(i);
    all += (i == 0 ? "" : ",") + std::string(R"({"anyOf": [{"properties": {")") + name +
           R"(": {"type": "null"}}}, {"properties": {")" + name + R"(": {"type": "string"}}}]})";
  }
  EXPECT_THAT(refusal(R"({"type": "object", "allOf": [)" + all + "]}"),
              HasSubstr("the limit of 5000"));
}

TEST(SchemaLimits, of_patterns) {
  const auto pattern = [](const std::string& text) {
    return refusal(R"({"type": "string", "pattern": ")" + text + "\"}");
  };
  EXPECT_THAT(pattern("^(a|b)*a(a|b){20}$"), HasSubstr("too complex"));
  EXPECT_THAT(pattern("^(((a{1000}){1000}){1000})$"), HasSubstr("too large"));
  EXPECT_THAT(pattern("^a{1001}$"), HasSubstr("the limit of 1000"));
  EXPECT_THAT(pattern(repeated(100, "(") + "a" + repeated(100, ")")), HasSubstr("limit of 50"));
  EXPECT_THAT(pattern(std::string(5000, 'a')), HasSubstr("the limit is 4096"));
  EXPECT_THAT(refusal(R"({"type": "string", "pattern": "^(ab|c)*$", "maxLength": 100000})"),
              HasSubstr("the limit is 4000"));
}

TEST(SchemaLimits, of_all_patterns_together) {
  std::string properties;
  for (int i = 0; i < 900; ++i) {
    properties += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
                  R"(": {"type": "string", "pattern": "^(a|b)*a(a|b){9}x)" + std::to_string(i) +
                  "$\"}";
  }
  const std::string message = refusal(R"({"type": "object", "properties": {)" + properties + "}}");
  EXPECT_THAT(message, ::testing::AnyOf(HasSubstr("too complex"), HasSubstr("too large")));
}

TEST(SchemaLimits, a_large_schema_within_them_is_compiled) {
  std::string properties;
  for (int i = 0; i < 1000; ++i) {
    properties += (i == 0 ? "\"" : ",\"") + std::string("property_") + std::to_string(i) +
                  R"(": {"type": "string", "maxLength": 5})";
  }
  testing::Accepting schema(R"({"type": "object", "properties": {)" + properties + "}}");
  EXPECT_TRUE(schema.takes(R"({"property_0":"a","property_500":"b","property_999":"c"})"));
  EXPECT_FALSE(schema.takes(R"({"property_500":"b","property_0":"a"})"));
}

// Another value at a random place.
void damage(OrderedJson& json, Random& random) {
  if (json.is_structured() && !json.empty() && random.below(4) != 0) {
    auto member = json.begin();
    std::advance(member, static_cast<ptrdiff_t>(random.below(json.size())));
    return damage(*member, random);
  }
  static const OrderedJson values = {nullptr,
                                     true,
                                     false,
                                     -1,
                                     1e300,
                                     "",
                                     "#",
                                     "string",
                                     "(",
                                     "^a$",
                                     OrderedJson::array(),
                                     OrderedJson::object(),
                                     {{"$ref", "#"}},
                                     {{"$ref", "#/$defs/d0"}},
                                     18446744073709551615u,
                                     {{"type", "object"}},
                                     OrderedJson::array({"a", 1}),
                                     0.1,
                                     {{"anyOf", OrderedJson::array({{{"$ref", "#"}}, true})}}};
  json = values[random.below(values.size())];
}

TEST(SchemaLimits, damaged_schemas_are_refused_or_give_grammars) {
  Random random(testing::test_seed());
  int compiled = 0, refused = 0;
  for (int i = 0; i < 1500; ++i) {
    OrderedJson schema = testing::random_schema(random);
    for (uint64_t n = random.below(4); n > 0; --n) damage(schema, random);
    std::string text = schema.dump();
    if (random.below(4) == 0)
      text[random.below(text.size())] = static_cast<char>(random.below(128));
    if (refusal(text).empty()) {
      ++compiled;
      testing::Accepting grammar(text);
      Matcher matcher(grammar.automaton());
      EXPECT_TRUE(matcher.is_complete() || matcher.can_continue());
    } else {
      ++refused;
    }
  }
  EXPECT_GT(compiled, 100);
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace cascade
