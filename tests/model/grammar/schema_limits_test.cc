// Schemas that ask for too much, and damaged schemas: each gets an answer in bounded time, and none
// causes a crash.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/random.h"
#include "base/utf8.h"
#include "tests/long_tests.h"
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
              HasSubstr("larger than 1048576 bytes"));
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
  // Each level doubles the number of schemas that apply together.
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
  EXPECT_THAT(refusal(R"({"type": "string", "pattern": "^(ab|c)*$", "minLength": 100000})"),
              HasSubstr("#: pattern: takes too many states together with the limits of length; the "
                        "limit is 16000"));
}

// The shortest text that matches both patterns has 16,637 characters.
TEST(SchemaLimits, of_patterns_together) {
  const auto together = [](const std::string& a, const std::string& b) {
    return refusal(R"({"items": {"properties": {"x": {"type": "string", "pattern": ")" + a +
                   R"(", "allOf": [{"pattern": ")" + b + R"("}]}}}})");
  };
  EXPECT_THAT(together("^(a{127})+$", "^(a{131})+$"),
              HasSubstr("#/items/properties/x/allOf/0: pattern: takes too many states together; "
                        "the limit is 16000"));
  EXPECT_EQ(together("^[ab]{300}c*$", "^[bc]{0,500}$"), "");
  EXPECT_THAT(refusal(R"({"type": "string", "not": {"pattern": "^(a|b)*a(a|b){11}c?$"}})"),
              HasSubstr("#/not: pattern: is too complex to tell what it does not match: it takes "
                        "more than 4000 states, the limit"));
  EXPECT_THAT(refusal(R"({"patternProperties": {"^(a|b)*a(a|b){11}c?$": true}})"),
              HasSubstr("#: patternProperties: is too complex to tell"));
}

TEST(SchemaLimits, of_patterns_of_property_names) {
  // Each name may or may not match each of the patterns, so there are many combinations.
  std::string patterns;
  for (char c = 'a'; c < 'k'; ++c) {
    patterns += (c == 'a' ? "\"" : ",\"") + std::string(1, c) + "\": true";
  }
  EXPECT_THAT(refusal(R"({"properties": {"x": {"patternProperties": {)" + patterns + "}}}}"),
              HasSubstr("#/properties/x: patternProperties: the patterns overlap in more ways than "
                        "the limit of 64"));
}

TEST(SchemaLimits, of_steps_between_numbers) {
  const auto step = [](const std::string& number) {
    return refusal(R"({"properties": {"n": {"type": "number", "multipleOf": )" + number + "}}}");
  };
  EXPECT_EQ(step("0"), "#/properties/n: multipleOf: must be a number greater than 0");
  EXPECT_EQ(step("-1"), "#/properties/n: multipleOf: must be a number greater than 0");
  for (const char* number : {"1009", "0.123456789", "3.1e-9", "123456789", "8192", "0.1e-320"}) {
    const std::string message = step(number);
    if (!message.empty()) {
      EXPECT_THAT(message, HasSubstr("#/properties/n: multipleOf: has too many digits: without "
                                     "zeros at its ends the limit is 4096"))
          << number;
    }
  }
  for (const char* number : {"1000", "4096", "1e-300", "0.000001", "997", "1e15"}) {
    EXPECT_EQ(step(number), "") << number;
  }
  EXPECT_THAT(refusal(R"({"allOf": [{"multipleOf": 997}, {"multipleOf": 991}]})"),
              HasSubstr("#/allOf/1: multipleOf: has too many digits"));
}

size_t memory_of(GrammarKind kind, const std::string& text) {
  const auto grammar = compile_grammar(kind, text, "schema");
  EXPECT_TRUE(grammar.ok()) << (grammar.ok() ? "" : grammar.error().to_string());
  return grammar.ok() ? grammar->memory_bytes() : 0;
}

// Such schemas occur with 200 tools, any of which may be called.
TEST(SchemaLimits, many_schemas_among_parts_share_what_is_equal) {
  const auto tools = [](size_t count, const std::string& others) {
    std::string any;
    for (size_t i = 0; i < count; ++i) {
      const std::string n = std::to_string(i);
      std::string properties;
      for (const char* value : {R"({"type": "string", "format": "date-time"})",
                                R"({"type": "string", "pattern": "^[a-z0-9_-]{1,40}$"})",
                                R"({"type": "integer", "minimum": 1, "maximum": 1000})",
                                R"({"type": "string", "format": "email"})",
                                R"({"enum": ["created", "updated", "closed"]})",
                                R"({"type": "array", "items": {"type": "string"}})"}) {
        const std::string name = "a_name_of_tool_" + n + "_" + std::to_string(properties.size());
        properties += (properties.empty() ? "\"" : ", \"") + name + "\": " + value;
      }
      any += (i == 0 ? "" : ", ") + std::string(R"({"sequence": [{"text": "call_)") + n +
             R"("}, {"json_schema": {"type": "object", "properties": {)" + properties +
             R"(}, "additionalProperties": )" + others + "}}]}";
    }
    return R"({"repeat": {"any_of": [)" + any + R"(]}, "min": 1, "separator": "\n"})";
  };
  EXPECT_LT(memory_of(GrammarKind::kParts, tools(200, "false")), 3'000'000);
  EXPECT_LT(memory_of(GrammarKind::kParts, tools(100, "true")), 6'000'000);
  testing::Accepting two(GrammarKind::kParts, tools(2, "false"));
  EXPECT_TRUE(two.takes("call_1{}\ncall_0{\"a_name_of_tool_0_0\":\"2024-02-29T10:00:00Z\"}"));
  EXPECT_FALSE(two.takes("call_1{\"a_name_of_tool_0_0\":\"2024-02-29T10:00:00Z\"}"));
  EXPECT_FALSE(two.takes("call_1{\"other\":1}"));
}

// The cost of a number grows with its digits and with the remainders of its step.
TEST(SchemaLimits, numbers_of_many_digits_take_few_states) {
  const auto memory = [](const std::string& schema) {
    return memory_of(GrammarKind::kJsonSchema, schema);
  };
  EXPECT_LT(memory(R"({"type": "integer"})"), 20'000);
  EXPECT_LT(memory(R"({"type": "number", "minimum": 0})"), 50'000);
  EXPECT_LT(memory(R"({"type": "integer", "minimum": -1e99, "maximum": 1e99})"), 100'000);
  EXPECT_LT(memory(R"({"type": "number", "minimum": -1e99, "maximum": 1e99})"), 200'000);
  EXPECT_LT(memory(R"({"type": "integer", "multipleOf": 999})"), 10'000'000);
  EXPECT_LT(memory(R"({"type": "integer", "multipleOf": 999, "maximum": 1e99})"), 10'000'000);
}

TEST(SchemaLimits, of_what_is_counted_or_held_apart) {
  EXPECT_THAT(refusal(R"({"type": "object", "minProperties": 2})"),
              HasSubstr("#: minProperties: can be held only up to the number of the names that are "
                        "known and one more, which is 1; name them in properties"));
  std::string many, denied;
  for (int i = 0; i < 300; ++i) {
    many += (i == 0 ? "" : ",") + std::to_string(i);
    denied += (i == 0 ? "" : ",") + std::to_string(i) + ".5";
  }
  EXPECT_THAT(refusal(R"({"items": {"uniqueItems": true, "items": {"enum": [)" + many + "]}}}"),
              HasSubstr("#/items: uniqueItems: can be held only where the items are at most 256"));
  EXPECT_THAT(refusal(R"({"type": "number", "not": {"enum": [)" + denied + "]}}"),
              HasSubstr("#: not: denies more numbers than the limit of 64"));
  const std::string few = many.substr(0, many.find(",200"));
  EXPECT_THAT(
      refusal(R"({"uniqueItems": true, "items": {"enum": [)" + few + R"(]}, "minItems": 99})"),
      HasSubstr("#: uniqueItems: takes too many states together with minItems or maxItems; "
                "the limit is 10000"));
}

// Denials multiply because each can be satisfied in several ways.
TEST(SchemaLimits, of_denials) {
  std::string all;
  for (int i = 0; i < 30; ++i) {
    const std::string name = "p" + std::to_string(i);
    all += (i == 0 ? "" : ",") + std::string(R"({"not": {"required": [")") + name + R"(", "q)" +
           name + R"("]}})";
  }
  EXPECT_THAT(refusal(R"({"type": "object", "properties": {"x": {"allOf": [)" + all + "]}}}"),
              HasSubstr("#/properties/x: there are more schemas, or combinations of them, than the "
                        "limit of 5000"));
  all += R"(,{"$ref": "#"})";
  EXPECT_THAT(refusal(R"({"not": {"anyOf": [)" + all + "]}}"), HasSubstr("leads back to itself"));
}

TEST(SchemaLimits, name_the_place_up_to_which_they_were_kept) {
  std::string properties;
  for (int i = 0; i < 900; ++i) {
    properties += (i == 0 ? "\"" : ",\"") + std::string("p") + std::to_string(i) +
                  R"(": {"type": "string", "maxLength": 200, "pattern": "^(a|b)*a(a|b){6}c{)" +
                  std::to_string(i) + "}$\"}";
  }
  EXPECT_THAT(refusal(R"({"type": "array", "items": {"properties": {)" + properties + "}}}"),
              ::testing::MatchesRegex(
                  "#/items(/properties/p[0-9]+)?: the schema is too (large|complex): .*limit.*"));
}

TEST(SchemaLimits, of_all_patterns_together) {
  std::string properties;
  for (int i = 0; i < 900; ++i) {
    properties += (i == 0 ? "\"" : ",\"") + std::to_string(i) +
                  R"(": {"type": "string", "pattern": "^(a|b)*a(a|b){9}x)" + std::to_string(i) +
                  "$\"}";
  }
  const std::string message = refusal(R"({"type": "object", "properties": {)" + properties + "}}");
  EXPECT_THAT(message, HasSubstr("#/properties/"));
  EXPECT_THAT(message, ::testing::AnyOf(HasSubstr("more than the limit of 20000000 steps"),
                                        HasSubstr("more than the limit of 100000 nodes")));
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

// A function that exceeds the limits of tags alone is written in the common form.
TEST(SchemaLimits, of_calls_with_tags) {
  const auto call = [](const std::string& parameters) {
    return R"({"tool_calls": [{"name": "f", "parameters": {"type": "object", )" + parameters +
           "}}]}";
  };
  const auto repeated = [](int times, const auto& part) {
    std::string all;
    for (int i = 0; i < times; ++i) all += std::string(i == 0 ? "" : ", ") + part(i);
    return all;
  };
  const std::string required = repeated(100'000, [](int) { return R"("a")"; });
  testing::Accepting tags(
      GrammarKind::kParts,
      call(R"("properties": {"a": {"type": "integer"}}, "required": [)" + required + "]"),
      AnswerForm::kQwenTags);
  EXPECT_TRUE(
      tags.begins("<tool_call>\n<function=f>\n<parameter=a>\n7\n</parameter>\n</function>"));
  const std::string properties = repeated(
      300, [](int i) { return "\"p" + std::to_string(i) + R"(": {"$ref": "#/$defs/d"})"; });
  const std::string values = repeated(5000, [](int i) { return std::to_string(i); });
  testing::Accepting common(
      GrammarKind::kParts,
      call(R"("properties": {)" + properties +
           R"(}, "$defs": {"d": {"type": "integer"}, "other": {"examples": [)" + values + "]}}"),
      AnswerForm::kQwenTags);
  EXPECT_TRUE(common.begins("<tool_call>\n{\"name\": \"f\", \"arguments\": {\"p7\": 4999}"));
  EXPECT_FALSE(common.begins("<tool_call>\n<function=f>"));
}

// Puts another value at a random place.
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
  const int schemas = testing::long_or(1500, 300);
  for (int i = 0; i < schemas; ++i) {
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
  EXPECT_GT(compiled, schemas / 15);
  EXPECT_GT(refused, schemas / 15);
}

}  // namespace
}  // namespace cascade
