// Tests of field access beyond base/json.h, and of JSON with unique keys.
#include "model/json_fields.h"

#include <gtest/gtest.h>

#include "model/unique_json.h"

namespace cascade {
namespace {

constexpr JsonLimits kLimits = {.bytes_max = 1000, .depth_max = 4};

TEST(JsonFields, finds_members_that_are_not_null) {
  const Json object = {{"a", 1}, {"null", nullptr}};
  ASSERT_NE(find_field(object, "a"), nullptr);
  EXPECT_EQ(*find_field(object, "a"), 1);
  EXPECT_EQ(find_field(object, "null"), nullptr);
  EXPECT_EQ(find_field(object, "absent"), nullptr);
  EXPECT_EQ(find_field(Json::array({1}), "a"), nullptr);
  EXPECT_EQ(find_field(Json(), "a"), nullptr);
}

TEST(JsonFields, open_ranges_leave_out_their_lower_end) {
  const Json object = {{"zero", 0}, {"one", 1}, {"little", 1e-300}, {"over", 1.5}, {"text", "1"}};
  EXPECT_EQ(**number_above(object, "one", 0, 1), 1);
  EXPECT_EQ(**number_above(object, "little", 0, 1), 1e-300);
  EXPECT_EQ(*number_above(object, "absent", 0, 1), std::nullopt);
  const auto zero = number_above(object, "zero", 0, 1);
  ASSERT_FALSE(zero.ok());
  EXPECT_EQ(zero.error().to_string(),
            "invalid_argument: zero: must be greater than 0.0 and at most 1.0, got 0.0");
  EXPECT_FALSE(number_above(object, "over", 0, 1).ok());
  EXPECT_FALSE(number_above(object, "text", 0, 1).ok());
}

TEST(JsonFields, a_number_in_two_places_must_be_one_number) {
  const Json one = {{"n", 1}};
  const Json two = {{"n", 2}};
  const Json none = Json::object();
  EXPECT_EQ(**agreed_number_above(one, none, "n", 0, 9), 1);
  EXPECT_EQ(**agreed_number_above(none, two, "n", 0, 9), 2);
  EXPECT_EQ(**agreed_number_above(one, one, "n", 0, 9), 1);
  EXPECT_EQ(*agreed_number_above(none, none, "n", 0, 9), std::nullopt);
  EXPECT_FALSE(agreed_number_above(one, two, "n", 0, 9).ok());
  EXPECT_FALSE(agreed_number_above(one, {{"n", 10}}, "n", 0, 9).ok());
}

TEST(JsonFields, quotes_text_for_messages) {
  EXPECT_EQ(quote_text("a\"b\n"), R"("a\"b\n")");
  EXPECT_EQ(quote_text(""), R"("")");
  EXPECT_EQ(quote_text(std::string(64, 'x')).size(), 66u);
  EXPECT_EQ(quote_text(std::string(65, 'x')), "\"" + std::string(64, 'x') + "...\"");
  EXPECT_EQ(quote_text(std::string(63, 'x') + "\u00e9"),
            "\"" + std::string(63, 'x') + "\uFFFD...\"")
      << "cut inside a code point";
}

TEST(UniqueJson, accepts_equal_keys_in_different_objects) {
  const auto parsed =
      parse_unique_json(R"({"a":{"a":1},"b":[{"a":2},{"a":3}]})", "doc", kLimits, 100);
  ASSERT_TRUE(parsed.ok()) << parsed.error().to_string();
  EXPECT_EQ((*parsed)["b"][1]["a"], 3);
}

TEST(UniqueJson, refuses_equal_keys_in_one_object) {
  for (const char* text : {R"({"a":1,"a":1})", R"({"a":1,"b":2,"a":3})", R"([{"x":{"a":1,"a":2}}])",
                           R"({"a":{},"\u0061":{}})", R"({"":1,"":2})"}) {
    const auto parsed = parse_unique_json(text, "doc", kLimits, 100);
    ASSERT_FALSE(parsed.ok()) << text;
    EXPECT_EQ(parsed.error().code, ErrorCode::kDataCorrupt);
    EXPECT_EQ(parsed.error().field, "doc");
    EXPECT_NE(parsed.error().message.find("twice"), std::string::npos);
  }
}

TEST(UniqueJson, looks_for_equal_keys_in_text_of_the_largest_size) {
  std::string text = R"({"a":1,"a":2})";
  text += std::string(kLimits.bytes_max - text.size(), ' ');
  EXPECT_FALSE(parse_unique_json(text, "doc", kLimits, 100).ok());
}

TEST(UniqueJson, counts_values) {
  EXPECT_TRUE(parse_unique_json("[1,true,null,\"a\",-1,1.5,{}]", "doc", kLimits, 8).ok());
  const auto parsed = parse_unique_json("[1,true,null,\"a\",-1,1.5,{}]", "doc", kLimits, 7);
  ASSERT_FALSE(parsed.ok());
  EXPECT_EQ(parsed.error().to_string(), "data_corrupt: doc: has too many values");
}

TEST(UniqueJson, hands_on_the_errors_of_json_as_corrupt_data) {
  for (const std::string& text :
       {std::string("{"), std::string("[[[[[]]]]]"), std::string(1001, ' ')}) {
    const auto parsed = parse_unique_json(text, "doc", kLimits, 100);
    ASSERT_FALSE(parsed.ok());
    EXPECT_EQ(parsed.error().code, ErrorCode::kDataCorrupt);
    EXPECT_EQ(parsed.error().field, "doc");
  }
}

}  // namespace
}  // namespace cascade
