// Tests of bounded JSON parsing and of typed access to members.
#include "base/json.h"

#include <gtest/gtest.h>

#include <limits>

namespace cascade {
namespace {

using namespace std::string_literals;

constexpr double kHuge = std::numeric_limits<double>::max();

std::string nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

std::string object_of(int members) {
  std::string text = "{";
  for (int i = 0; i < members; ++i) {
    text += (i == 0 ? "\"" : ",\"") + std::to_string(i) + "\":0";
  }
  return text + "}";
}

template <class AnyJson>
void expect_refused(const Result<AnyJson>& parsed, std::string_view message) {
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(parsed.error().field, "doc");
  EXPECT_EQ(parsed.error().message, message);
}

TEST(Json, parses_documents_of_every_type) {
  for (const char* text :
       {"null", "true", "1", "-1.5e3", "\"\\u00e9\"", "[]", "{}", " {\"a\":[1]} "}) {
    EXPECT_TRUE(parse_json(text, "doc").ok()) << text;
    EXPECT_TRUE(parse_ordered_json(text, "doc").ok()) << text;
  }
}

TEST(Json, keeps_the_order_of_keys_only_where_asked) {
  EXPECT_EQ(parse_ordered_json(R"({"b":1,"a":2})", "doc")->dump(), R"({"b":1,"a":2})");
  EXPECT_EQ(parse_json(R"({"b":1,"a":2})", "doc")->dump(), R"({"a":2,"b":1})");
}

TEST(Json, takes_the_last_of_two_equal_keys) {
  EXPECT_EQ(parse_json(R"({"a":1,"a":2})", "doc")->dump(), R"({"a":2})");
  EXPECT_EQ(parse_ordered_json(R"({"a":1,"b":0,"a":2})", "doc")->dump(), R"({"a":2,"b":0})");
}

TEST(Json, refuses_malformed_text) {
  const std::string bad[] = {
      "",
      " ",
      "{",
      "[1,]",
      "{\"a\"}",
      "{\"a\":1,}",
      "{a:1}",
      "'a'",
      "01",
      "1 2",
      "[1] x",
      "nul",
      "NaN",
      "Infinity",
      "\"\n\"",
      "\"\\x\"",
      "\"\\ud800\"",
      "\"\\udc00\"",
      "// c\n1",
      "\"a",
      "\"\xFF\"",
      "\"\xC0\xAF\"",
      "\"\xED\xA0\x80\"",
      "{}\0"s,
      "{}\0garbage"s,
      "\"a\0b\""s,
  };
  for (const std::string& text : bad) {
    const auto parsed = parse_json(text, "doc");
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(parsed.error().field, "doc");
    EXPECT_NE(parsed.error().message.find("at byte"), std::string::npos) << text;
    EXPECT_FALSE(parse_ordered_json(text, "doc").ok()) << text;
  }
}

TEST(Json, says_where_the_text_is_malformed) {
  expect_refused(parse_json("[1, x]", "doc"), "not valid JSON at byte 5");
  expect_refused(parse_json("{}\0x"s, "doc"), "not valid JSON at byte 3");
}

TEST(Json, nests_to_the_limit_and_not_deeper) {
  const JsonLimits limits = {.bytes_max = 1000, .depth_max = 5};
  EXPECT_TRUE(parse_json(nested(5), "doc", limits).ok());
  expect_refused(parse_json(nested(6), "doc", limits), "nested deeper than 5 levels");
  EXPECT_TRUE(parse_json(R"({"a":{"a":{"a":{"a":{}}}}})", "doc", limits).ok());
  EXPECT_FALSE(parse_json(R"({"a":{"a":{"a":{"a":{"a":{}}}}}})", "doc", limits).ok());
  EXPECT_TRUE(parse_json("[[],[],[],[],[],[],[]]", "doc", limits).ok()) << "wide is not deep";
}

TEST(Json, survives_absurd_nesting) {
  const std::string text(10'000'000, '[');
  expect_refused(parse_json(text, "doc"), "nested deeper than 64 levels");
  expect_refused(parse_ordered_json(text, "doc"), "nested deeper than 64 levels");
}

TEST(Json, refuses_text_over_the_size_limit) {
  const JsonLimits limits = {.bytes_max = 4, .depth_max = 5};
  EXPECT_TRUE(parse_json("[10]", "doc", limits).ok());
  expect_refused(parse_json("[100]", "doc", limits), "larger than 4 bytes");
  expect_refused(parse_ordered_json("[100]", "doc", limits), "larger than 4 bytes");
}

TEST(Json, bounds_members_only_where_looking_them_up_is_linear) {
  EXPECT_TRUE(parse_ordered_json(object_of(1024), "doc").ok());
  expect_refused(parse_ordered_json(object_of(1025), "doc"),
                 "has an object of more than 1024 members");
  EXPECT_TRUE(parse_ordered_json("[" + object_of(800) + "," + object_of(800) + "]", "doc").ok());
  EXPECT_EQ(parse_json(object_of(100'000), "doc")->size(), 100'000u);
}

template <class T>
void expect_error(const Result<T>& result, std::string_view text) {
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().to_string(), text);
}

TEST(JsonMember, whole_numbers_within_their_range) {
  const Json object = *parse_json(
      R"({"n":5,"low":-3,"big":9223372036854775807,"over":9223372036854775808,"half":1.5,
          "float":2.0,"text":"5","flag":true,"null":null})",
      "doc");
  EXPECT_EQ(*required_int(object, "n", 5, 5), 5);
  EXPECT_EQ(*required_int(object, "low", -3, 0), -3);
  EXPECT_EQ(*required_int(object, "big", 0, INT64_MAX), INT64_MAX);
  EXPECT_EQ(*optional_int(object, "n", 0, 10, 7), 5);
  EXPECT_EQ(*optional_int(object, "absent", 0, 10, 7), 7);
  EXPECT_EQ(*optional_int(object, "null", 0, 10, 7), 7);
  expect_error(required_int(object, "n", 6, 9),
               "invalid_argument: n: must be a whole number between 6 and 9, got 5");
  expect_error(required_int(object, "absent", 0, 9), "invalid_argument: absent: is missing");
  expect_error(required_int(object, "null", 0, 9), "invalid_argument: null: is missing");
  expect_error(optional_int(object, "text", 0, 9, 1),
               "invalid_argument: text: must be a whole number between 0 and 9, got string");
  for (const char* key : {"low", "over", "half", "float", "flag"}) {
    EXPECT_FALSE(required_int(object, key, 0, INT64_MAX).ok()) << key;
  }
}

TEST(JsonMember, numbers_within_their_range) {
  const Json object = *parse_json(R"({"x":0.5,"n":2,"text":"1","null":null})", "doc");
  EXPECT_EQ(*required_number(object, "x", 0, 1), 0.5);
  EXPECT_EQ(*required_number(object, "x", 0.5, 0.5), 0.5);
  EXPECT_EQ(*required_number(object, "n", 0, 2), 2.0);
  EXPECT_EQ(*optional_number(object, "null", 0, 1, 0.25), 0.25);
  expect_error(required_number(object, "n", 0, 1.5),
               "invalid_argument: n: must be between 0.0 and 1.5, got 2");
  expect_error(required_number(object, "text", 0, 1),
               "invalid_argument: text: must be a number, got string");
  expect_error(required_number(object, "absent", 0, 1), "invalid_argument: absent: is missing");
}

TEST(JsonMember, numbers_are_finite_whatever_the_range) {
  const Json object = {{"nan", std::numeric_limits<double>::quiet_NaN()},
                       {"inf", std::numeric_limits<double>::infinity()}};
  EXPECT_FALSE(required_number(object, "nan", -kHuge, kHuge).ok());
  EXPECT_FALSE(required_number(object, "inf", 0, std::numeric_limits<double>::infinity()).ok());
}

TEST(JsonMember, booleans_and_strings_by_type) {
  const Json object = *parse_json(R"({"flag":true,"text":"t","n":1,"null":null})", "doc");
  EXPECT_TRUE(*optional_bool(object, "flag", false));
  EXPECT_TRUE(*optional_bool(object, "absent", true));
  EXPECT_TRUE(*optional_bool(object, "null", true));
  expect_error(optional_bool(object, "n", false),
               "invalid_argument: n: must be true or false, got number");
  EXPECT_EQ(*required_string(object, "text"), "t");
  EXPECT_EQ(*optional_string(object, "null", "other"), "other");
  expect_error(required_string(object, "n"), "invalid_argument: n: must be a string, got number");
  expect_error(required_string(object, "null"), "invalid_argument: null: is missing");
  EXPECT_FALSE(optional_string(object, "flag", "").ok());
}

TEST(JsonMember, what_is_no_object_has_no_members) {
  for (const Json& value : {Json(), Json(3), Json("text"), Json::array({1})}) {
    EXPECT_FALSE(required_int(value, "key", 0, 9).ok());
    EXPECT_EQ(*optional_int(value, "key", 0, 9, 4), 4);
  }
}

}  // namespace
}  // namespace cascade
