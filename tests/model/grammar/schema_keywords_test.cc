// Keywords of schemas that programs use beside the simple ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/long_tests.h"
#include "tests/model/grammar/grammar_testing.h"

namespace cascade {
namespace {

using testing::Accepting;
using ::testing::HasSubstr;
using testing::refusal;

void expect_takes(const std::string& schema, const std::vector<std::string>& taken,
                  const std::vector<std::string>& refused) {
  Accepting grammar(schema);
  for (const std::string& text : taken) EXPECT_TRUE(grammar.takes(text)) << schema << " " << text;
  for (const std::string& text : refused)
    EXPECT_FALSE(grammar.takes(text)) << schema << " " << text;
}

TEST(SchemaKeywords, a_pattern_and_a_format_both_hold) {
  expect_takes(R"({"type": "string", "format": "email", "pattern": "@example\\.com$"})",
               {"\"a.b@example.com\""}, {"\"a@b.com\"", "\"@example.com\"", "\"a b@example.com\""});
  expect_takes(R"({"type": "string", "format": "date", "pattern": "^2024-02"})", {"\"2024-02-29\""},
               {"\"2024-02-30\"", "\"2024-03-01\""});
  expect_takes(R"({"type": "string", "format": "uuid", "pattern": "^[0-9A-F-]+$"})",
               {"\"123E4567-E89B-12D3-A456-42661417400F\""},
               {"\"123e4567-e89b-12d3-a456-42661417400f\"", "\"123E4567\""});
}

TEST(SchemaKeywords, a_pattern_holds_where_no_text_of_it_is_of_the_format) {
  // URIs of other schemes than ours are also URIs; local times are not a date-time.
  expect_takes(R"({"format": "uri", "pattern": "^mailto:[a-z]+$"})", {"\"mailto:a\""},
               {"\"http://a\""});
  expect_takes(R"({"format": "date-time", "pattern": "^\\d{4}$"})", {"\"2024\""}, {"\"24\""});
  expect_takes(R"({"format": "starts_with", "pattern": "^ab.*"})", {"\"abc\""}, {"\"a\""});
}

TEST(SchemaKeywords, formats_that_contradict_each_other_allow_no_text_beside_a_pattern_either) {
  for (const char* pattern : {"", R"(, "pattern": "^ab")", R"(, "pattern": "^2024")"}) {
    expect_takes(R"({"anyOf": [{"const": 1}, {"type": "string", "allOf": [{"format": "date"},
                     {"format": "uuid"}])" +
                     std::string(pattern) + "}]}",
                 {"1"}, {"\"2024-02-29\"", "\"abc\"", "\"\""});
  }
}

TEST(SchemaKeywords, formats_that_say_nothing_of_the_text_are_any_text) {
  for (const char* format : {"password", "binary", "path", "int64"}) {
    expect_takes(R"({"type": "string", "format": ")" + std::string(format) + "\"}", {"\"x y\""},
                 {"1"});
  }
}

TEST(SchemaKeywords, several_patterns_hold_together) {
  expect_takes(R"({"type": "string", "minLength": 4, "allOf": [{"pattern": "^a"}, {"pattern": "z$"},
                  {"pattern": "^[^m]*$"}]})",
               {"\"abyz\"", "\"a\u00e9\u00e9z\""}, {"\"az\"", "\"amyz\"", "\"abcd\"", "\"bbbz\""});
  EXPECT_THAT(refusal(R"({"allOf": [{"pattern": "^a$"}, {"pattern": "^b$"}], "type": "string"})"),
              HasSubstr("no text satisfies it"));
}

TEST(SchemaKeywords, a_long_text_with_a_pattern_is_as_long_as_there_are_states_for) {
  Accepting uri(R"({"type": "string", "format": "uri", "minLength": 1, "maxLength": 2083})");
  EXPECT_TRUE(uri.takes("\"https://example.com/" + std::string(500, 'a') + "?b=c#d\""));
  EXPECT_FALSE(uri.takes("\"https://example.com/" + std::string(2083, 'a') + "\""));
  Accepting least(R"({"type": "string", "pattern": "^(ab)+$", "minLength": 1000})");
  EXPECT_FALSE(least.takes('"' + std::string(998, 'x') + '"'));
}

TEST(SchemaKeywords, formats_of_identifiers_and_networks) {
  const std::pair<const char*, std::pair<std::vector<std::string>, std::vector<std::string>>>
      formats[] = {
          {"uuid4",
           {{"123e4567-e89b-42d3-a456-426614174000"}, {"123e4567-e89b-12d3-a456-426614174000"}}},
          {"ipv6",
           {{"2001:DB8::1", "::", "1:2:3:4:5:6:7::", "::8", "fe80::1:2"},
            {"1::2::3", "12345::", ":::"}}},
          {"ipvanyaddress", {{"10.0.0.1", "::1"}, {"10.0.0.256"}}},
          {"ipv4network",
           {{"10.0.0.0/8", "192.168.1.0/24", "1.2.3.4"}, {"10.1.0.0/8", "1.2.3.4/33"}}},
          {"ipv4interface", {{"10.1.2.3/8"}, {"10.1.2.3/33"}}},
          {"base64", {{"", "QQ==", "QUI=", "QUJD"}, {"QQ=", "QR==", "Q"}}},
          {"json-pointer", {{"", "/a~1b/0"}, {"a", "/~2"}}},
          {"email", {{"a@b.example"}, {"a@b"}}},
          {"jwt", {{"eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJhIjoxfQ.c2ln"}, {"a.b.c"}}}};
  for (const auto& [format, texts] : formats) {
    Accepting schema(R"({"type": "string", "format": ")" + std::string(format) + "\"}");
    for (const auto& text : texts.first) EXPECT_TRUE(schema.takes('"' + text + '"')) << text;
    for (const auto& text : texts.second) EXPECT_FALSE(schema.takes('"' + text + '"')) << text;
  }
}

TEST(SchemaKeywords, listed_texts_are_judged_by_all_that_a_format_has) {
  expect_takes(R"({"enum": ["mailto:a@b", "a b", "http://x"], "format": "uri"})",
               {"\"mailto:a@b\"", "\"http://x\""}, {"\"a b\""});
  expect_takes(R"({"enum": ["2024-02-30", "2024-02-29"], "format": "date"})", {"\"2024-02-29\""},
               {"\"2024-02-30\""});
  expect_takes(R"({"enum": ["a"], "format": "made-up"})", {"\"a\""}, {});
}

TEST(SchemaKeywords, multiples) {
  Accepting seven(R"({"type": "integer", "multipleOf": 7, "minimum": -50, "maximum": 1000})");
  for (int i = -100; i < 1100; ++i) {
    EXPECT_EQ(seven.takes(std::to_string(i)), i % 7 == 0 && i >= -50 && i <= 1000) << i;
  }
  expect_takes(R"({"type": "number", "multipleOf": 0.01})", {"0", "19.99", "-0.07", "5", "1.2"},
               {"0.001", "1e1", "0.", "-"});
  expect_takes(R"({"type": "number", "multipleOf": 2.5})", {"0", "2.5", "5", "5.0", "10", "-7.5"},
               {"1", "2.55", "3", "2.50"});
  expect_takes(R"({"type": "integer", "multipleOf": 1.5})", {"0", "3", "-6", "999"},
               {"1", "1.5", "2", "4"});
  expect_takes(R"({"type": "number", "multipleOf": 1000, "exclusiveMaximum": 5000})",
               {"0", "1000", "-12000", "4000"}, {"5000", "100", "1500", "1000.5"});
  expect_takes(R"({"type": "integer", "multipleOf": 1024})", {"1024", "3072", "1048576", "0"},
               {"512", "1025", "102400000000000000001024"});
  expect_takes(R"({"allOf": [{"multipleOf": 4}, {"multipleOf": 0.6}], "type": "number"})",
               {"0", "12", "24", "-36"}, {"4", "6", "0.6", "8"});
  expect_takes(R"({"enum": [1, 2, 3, 4.5, 6], "multipleOf": 1.5})", {"3", "4.5", "6"}, {"1", "2"});
  EXPECT_THAT(refusal(R"({"type": "integer", "multipleOf": 7, "minimum": 1, "maximum": 6})"),
              HasSubstr("no text satisfies it"));
}

// Checks larger multiples by the rule itself.
TEST(SchemaKeywords, multiples_of_many_steps) {
  for (const int64_t step : {1, 3, 8, 12, 40, 96, 125, 333, 600, 999, 2500}) {
    Accepting schema(R"({"type": "integer", "multipleOf": )" + std::to_string(step) + "}");
    const int64_t end = testing::long_or<int64_t>(3000, step + 100);
    for (int64_t i = -end; i < end; ++i) {
      EXPECT_EQ(schema.takes(std::to_string(i)), i % step == 0) << step << " " << i;
    }
    EXPECT_TRUE(schema.takes(std::to_string(step * 100'000'000'003)));
    EXPECT_FALSE(step > 1 && schema.takes(std::to_string(step * 100'000'000'003 + 1)));
  }
}

TEST(SchemaKeywords, integers_of_64_bits_and_more) {
  const char* snowflake = "1234567890123456789";
  const char* largest = "18446744073709551615";
  for (const char* type : {"integer", "number"}) {
    const auto schema = [&](const std::string& rest) {
      return R"({"type": ")" + std::string(type) + "\"" + rest + "}";
    };
    expect_takes(schema(""), {snowflake, largest, "-9223372036854775808"},
                 {"123456789012345678901", "-123456789012345678901"});
    expect_takes(schema(R"(, "minimum": 0)"), {snowflake, largest, "0"},
                 {"-1", "123456789012345678901"});
    expect_takes(schema(R"(, "minimum": 1000000000000000000)"),
                 {"1000000000000000000", snowflake, largest}, {"999999999999999999", "0", "-1"});
    expect_takes(schema(R"(, "exclusiveMinimum": 1000000000000000000)"), {"1000000000000000001"},
                 {"1000000000000000000"});
    expect_takes(schema(R"(, "maximum": 18446744073709551615)"), {largest, "18446744073709551609"},
                 {"18446744073709551616", "28446744073709551615"});
    expect_takes(schema(R"(, "exclusiveMaximum": 18446744073709551615)"), {"18446744073709551614"},
                 {largest});
    expect_takes(schema(R"(, "maximum": -9223372036854775807)"),
                 {"-9223372036854775807", "-9223372036854775808", "-92233720368547758070"},
                 {"-9223372036854775806", "0", "1"});
    expect_takes(schema(R"(, "minimum": 1e30, "maximum": 1e31)"),
                 {"1" + std::string(30, '0'), "1" + std::string(31, '0'), std::string(31, '2')},
                 {std::string(30, '9'), std::string(32, '1')});
    // There are numbers above a limit that is all nines, and a limit beyond all numbers has no
    // effect.
    expect_takes(schema(R"(, "exclusiveMinimum": 9999999999999999999)"), {"10000000000000000000"},
                 {"9999999999999999999"});
    expect_takes(schema(R"(, "minimum": -1e300, "maximum": 1e300)"), {largest, "-7"},
                 {std::string(40, '1')});
    expect_takes(schema(R"(, "multipleOf": 7)"), {"12345678901234567889", "0"},
                 {"12345678901234567890"});
    expect_takes(schema(R"(, "multipleOf": 1e25)"), {"0", "1" + std::string(25, '0')}, {"1"});
    expect_takes(schema(R"(, "not": {"const": 18446744073709551615})"), {"18446744073709551614"},
                 {largest});
  }
  expect_takes(R"({"enum": [1234567890123456789, 18446744073709551615, -9223372036854775808]})",
               {snowflake, largest, "-9223372036854775808"}, {"1234567890123456788"});
  expect_takes(R"({"const": 18446744073709551615, "minimum": 18446744073709551615})", {largest},
               {});
  expect_takes(R"({"uniqueItems": true, "items": {"type": "integer",
                  "minimum": 100000000000000000, "maximum": 100000000000000002}})",
               {"[100000000000000000,100000000000000002]"},
               {"[100000000000000000,100000000000000000]"});
}

TEST(SchemaKeywords, numbers_beyond_64_bits_keep_their_digits) {
  const char* large = "123456789012345678901234567890";
  const char* next = "123456789012345678901234567891";
  for (const char* type : {"integer", "number"}) {
    const std::string begin = R"({"type": ")" + std::string(type) + "\", ";
    expect_takes(begin + R"("maximum": 123456789012345678901234567890})", {large, "0"}, {next});
    expect_takes(begin + R"("minimum": 123456789012345678901234567891})", {next}, {large});
    expect_takes(begin + R"("exclusiveMaximum": 123456789012345678901234567891})", {large}, {next});
    expect_takes(begin + R"("minimum": 5, "not": {"const": 123456789012345678901234567890},
                             "maximum": 123456789012345678901234567891})",
                 {next, "5"}, {large});
    expect_takes(begin + R"("multipleOf": 1000000000000000000000})",
                 {"0", "7000000000000000000000"}, {"7000000000000000000001", "1"});
    expect_takes(begin + R"("maximum": 1e400, "minimum": -1E400})", {"0", "18446744073709551615"},
                 {std::string(30, '1')});
  }
  expect_takes(R"({"const": 123456789012345678901234567890})", {large}, {next, "1.2345e+29"});
  expect_takes(R"({"enum": [123456789012345678901234567890, {"a": [18446744073709551616]}]})",
               {large, R"({"a":[18446744073709551616]})"}, {next});
  expect_takes(R"({"enum": [123456789012345678901234567890, 123456789012345678901234567891],
                  "minimum": 123456789012345678901234567891})",
               {next}, {large});
  expect_takes(R"({"oneOf": [{"const": 18446744073709551616}, {"const": 18446744073709551617}]})",
               {"18446744073709551616", "18446744073709551617"}, {});
  expect_takes(R"({"type": "string", "maxLength": 18446744073709551616})", {"\"abc\""}, {});
  EXPECT_THAT(refusal(R"({"minLength": -18446744073709551616})"),
              HasSubstr("must be a whole number from 0 on"));
}

TEST(SchemaKeywords, fractions_of_many_digits) {
  expect_takes(R"({"type": "number", "exclusiveMinimum": 0.1234567890123456,
                  "exclusiveMaximum": 0.1234567890123458})",
               {"0.1234567890123457"}, {"0.1234567890123456", "0.1234567890123458", "0.1"});
  expect_takes(R"({"type": "number", "exclusiveMinimum": 0, "maximum": 1e-20})",
               {"0.00000000000000000001", "0.000000000000000000005"}, {"0", "0.00001"});
  expect_takes(R"({"type": "number", "minimum": 1e-300})", {"0.00000000000001", "1"}, {"0", "0.0"});
}

TEST(SchemaKeywords, messages_about_numbers_of_too_many_digits) {
  for (const char* limit : {R"("minimum": 1e100)", R"("exclusiveMaximum": -1e200)"}) {
    EXPECT_THAT(
        refusal(R"({"properties": {"n": {"type": "integer", )" + std::string(limit) + "}}}"),
        HasSubstr("#/properties/n: its limits leave only numbers of more digits than the "
                  "limit of 100"))
        << limit;
  }
  EXPECT_THAT(refusal(R"({"enum": [1, 2], "multipleOf": 1234567890123456789})"),
              HasSubstr("#: multipleOf: has too many digits"));
}

TEST(SchemaKeywords, exclusive_limits_of_older_drafts) {
  expect_takes(R"({"type": "integer", "minimum": 3, "exclusiveMinimum": true, "maximum": 5,
                  "exclusiveMaximum": false})",
               {"4", "5"}, {"3", "6"});
}

TEST(SchemaKeywords, distinct_items_come_in_the_order_of_their_list) {
  const std::string tags =
      R"({"type": "array", "uniqueItems": true, "items": {"enum": ["a", "b", "c"]})";
  expect_takes(tags + "}", {"[]", R"(["a"])", R"(["a","c"])", R"(["a", "b", "c"])", R"(["c"])"},
               {R"(["a","a"])", R"(["b","a"])", R"(["d"])", R"(["a",])"});
  expect_takes(tags + R"(, "minItems": 2})", {R"(["a","b"])", R"(["b","c"])", R"(["a","b","c"])"},
               {"[]", R"(["a"])", R"(["b","b"])"});
  expect_takes(tags + R"(, "minItems": 1, "maxItems": 2})", {R"(["c"])", R"(["a","c"])"},
               {"[]", R"(["a","b","c"])"});
  expect_takes(R"({"uniqueItems": true, "items": {"type": "integer", "minimum": 1, "maximum": 49},
                  "minItems": 6, "maxItems": 6})",
               {"[1,7,13,20,48,49]"}, {"[1,7,13,20,48]", "[1,7,7,20,48,49]", "[0,1,2,3,4,5]"});
  expect_takes(R"({"uniqueItems": true, "items": {"anyOf": [{"type": "boolean"}, {"const": 1},
                  {"enum": [1.0, {"a": 1, "b": 2}, {"b": 2, "a": 1}]}]}})",
               {"[true,false,1]", R"([1,{"a":1,"b":2}])"},
               {"[1,1.0]", R"([{"a":1,"b":2},{"b":2,"a":1}])", "[true,true]"});
  expect_takes(R"({"uniqueItems": true, "prefixItems": [{"type": "integer"}, {"type": "string"}],
                  "items": false})",
               {R"([1,"a"])"}, {"[1,1]"});
  expect_takes(R"({"uniqueItems": true, "items": {"type": "string"}, "maxItems": 1})",
               {"[]", R"(["a"])"}, {R"(["a","b"])"});
  EXPECT_THAT(refusal(R"({"uniqueItems": true, "items": {"enum": [1, 2]}, "minItems": 3})"),
              HasSubstr("no text satisfies it"));
}

TEST(SchemaKeywords, property_names) {
  expect_takes(R"({"type": "object", "propertyNames": {"type": "string", "pattern": "^k_[a-z]+$"},
                  "additionalProperties": {"type": "boolean"}})",
               {"{}", R"({"k_a":true,"k_bc":false})"}, {R"({"a":true})", R"({"k_a":1})"});
  expect_takes(R"({"type": "object", "propertyNames": {"enum": ["a", "b"]},
                  "additionalProperties": {"type": "integer"}, "required": ["b"]})",
               {R"({"b":1})", R"({"b":1,"a":2})"}, {"{}", R"({"a":1})", R"({"b":1,"c":2})"});
  expect_takes(
      R"({"type": "object", "propertyNames": {"anyOf": [{"maxLength": 1}, {"const": "xyz"}]}})",
      {R"({"a":1,"":2,"xyz":3})"}, {R"({"ab":1})"});
  expect_takes(R"({"properties": {"long": {"type": "null"}, "a": {"type": "null"}},
                  "propertyNames": {"maxLength": 2}})",
               {"{}", R"({"a":null})"}, {R"({"long":null})"});
  EXPECT_THAT(refusal(R"({"required": ["long"], "propertyNames": {"maxLength": 2}})"),
              HasSubstr("no text satisfies it"));
  expect_takes(R"({"type": "object", "propertyNames": false})", {"{}"}, {R"({"a":1})"});
  expect_takes(R"({"type": "object", "propertyNames": {"format": "uuid"},
                  "additionalProperties": {"type": "integer"}})",
               {R"({"123e4567-e89b-12d3-a456-426614174000":1})"}, {R"({"1":1})"});
}

TEST(SchemaKeywords, patterns_of_properties) {
  const std::string patterns =
      R"("patternProperties": {"^a": {"type": "integer"}, "z$": {"minimum": 5}})";
  expect_takes(R"({"type": "object", )" + patterns + "}",
               {"{}", R"({"ab":1,"az":7})", R"({"bz":5})", R"({"z":5.5})"},
               {R"({"ab":"x"})", R"({"az":4})", R"({"az":7.5})", R"({"c":1})", R"({"bz":4})"});
  expect_takes(R"({"type": "object", "additionalProperties": {"type": "null"}, )" + patterns + "}",
               {R"({"c":null,"a":1})"}, {R"({"a":null})", R"({"c":1})"});
  expect_takes(
      R"({"properties": {"az": {"multipleOf": 2}, "q": {"type": "null"}}, )" + patterns + "}",
      {R"({"az":6})", R"({"az":6,"q":null,"ax":1})"},
      {R"({"az":7})", R"({"az":4})", R"({"q":null,"az":6})", R"({"r":1})"});
  expect_takes(R"({"type": "object", "patternProperties": {"^secret": false},
                  "additionalProperties": {"type": "integer"}})",
               {R"({"a":1})"}, {R"({"secret":1})", R"({"secrets":1})"});
}

TEST(SchemaKeywords, numbers_of_properties) {
  const std::string two = R"({"properties": {"a": {"type": "null"}, "b": {"type": "null"},
                             "c": {"type": "null"}})";
  expect_takes(
      two + R"(, "minProperties": 2})",
      {R"({"a":null,"b":null})", R"({"a":null,"c":null})", R"({"a":null,"b":null,"c":null})"},
      {"{}", R"({"a":null})"});
  expect_takes(two + R"(, "maxProperties": 1})", {"{}", R"({"b":null})"},
               {R"({"a":null,"b":null})"});
  expect_takes(two + R"(, "required": ["c"], "minProperties": 2, "maxProperties": 2})",
               {R"({"a":null,"c":null})"}, {R"({"c":null})", R"({"a":null,"b":null,"c":null})"});
  expect_takes(R"({"type": "object", "minProperties": 1, "maxProperties": 2,
                  "additionalProperties": {"type": "integer"}})",
               {R"({"x":1})", R"({"x":1,"y":2})"}, {"{}", R"({"x":1,"y":2,"z":3})"});
  expect_takes(R"({"properties": {"a": {"type": "null"}}, "additionalProperties": {"type": "null"},
                  "minProperties": 2})",
               {R"({"a":null,"x":null})", R"({"a":null,"x":null,"x":null})"},
               {R"({"a":null})", R"({"x":null,"x":null})"});
}

TEST(SchemaKeywords, denials_of_types_values_and_texts) {
  expect_takes(R"({"not": {"type": ["object", "array", "string"]}})", {"1", "null", "true"},
               {"{}", "[]", "\"a\""});
  expect_takes(R"({"type": "number", "not": {"type": "integer"}})", {"0.5", "-1.25", "10.01"},
               {"1", "1.0", "0", "1e2"});
  expect_takes(R"({"type": "string", "not": {"enum": ["a", "bc"]}})", {"\"\"", "\"b\"", "\"abc\""},
               {"\"a\"", "\"bc\""});
  expect_takes(R"({"type": "integer", "minimum": 1, "maximum": 5, "not": {"enum": [2, 4.0]}})",
               {"1", "3", "5"}, {"2", "4", "0"});
  expect_takes(R"({"type": ["boolean", "null"], "not": {"const": false}})", {"true", "null"},
               {"false"});
  expect_takes(R"({"type": "string", "not": {"pattern": "^test_"}})", {"\"x\"", "\"test\""},
               {"\"test_1\""});
  expect_takes(R"({"type": "string", "not": {"minLength": 3}})", {"\"ab\""}, {"\"abc\""});
  expect_takes(R"({"type": "integer", "not": {"minimum": 5}})", {"4", "-100"}, {"5", "6"});
  expect_takes(R"({"enum": [1, "a", "bb", null], "not": {"type": "string", "maxLength": 1}})",
               {"1", "\"bb\"", "null"}, {"\"a\""});
  expect_takes(R"({"type": "string", "not": {"not": {"pattern": "^a"}}})", {"\"ab\""}, {"\"b\""});
  EXPECT_THAT(refusal(R"({"not": {}})"), HasSubstr("no text satisfies it"));
  EXPECT_THAT(refusal(R"({"not": {"title": "x"}})"), HasSubstr("no text satisfies it"));
  expect_takes(R"({"properties": {"a": {"not": {}}, "b": {"type": "null"}}})",
               {"{}", R"({"b":null})"}, {R"({"a":1})"});
}

TEST(SchemaKeywords, denials_of_objects_and_choices) {
  const std::string two = R"({"type": "object", "properties": {"a": {"type": "integer"},
                             "b": {"type": "integer"}})";
  expect_takes(two + R"(, "not": {"required": ["a"]}})", {"{}", R"({"b":1})"}, {R"({"a":1})"});
  expect_takes(two + R"(, "not": {"required": ["a", "b"]}})", {"{}", R"({"a":1})", R"({"b":1})"},
               {R"({"a":1,"b":1})"});
  expect_takes(two + R"(, "not": {"properties": {"a": {"const": 3}}, "required": ["a"]}})",
               {"{}", R"({"b":1})", R"({"a":4,"b":1})"}, {R"({"a":3})"});
  expect_takes(two + R"(, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]})",
               {R"({"a":1})", R"({"b":1})"}, {"{}", R"({"a":1,"b":1})"});
  expect_takes(R"({"not": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "object"},
                  {"type": "array", "minItems": 1}, {"$ref": "#/$defs/n"}]},
                  "$defs": {"n": {"type": "null"}}})",
               {"true", "[]"}, {"1", "\"a\"", "null", "[1]", "{}"});
  expect_takes(R"({"type": "integer", "not": {"allOf": [{"minimum": 3}, {"maximum": 5}]}})",
               {"2", "6"}, {"3", "4", "5"});
  expect_takes(
      R"({"oneOf": [{"type": "integer", "multipleOf": 2}, {"type": "number", "minimum": 10}]})",
      {"2", "-4", "10.5", "8"}, {"1", "9.5"});
  EXPECT_THAT(refusal(R"({"not": {"const": {"a": 1}}})"),
              HasSubstr("#/not: const: has an object or array, which cannot be denied"));
}

TEST(SchemaKeywords, the_nearest_thing_that_can_be_denied_is) {
  // Items cannot be denied, but being an array can.
  expect_takes(
      R"({"not": {"type": "array", "items": {"type": "null"}}, "type": ["array", "null"]})",
      {"null"}, {"[]", "[1]"});
}

}  // namespace
}  // namespace cascade
