// Numbers beyond 64 bits keep their digits from text to text.
#include "base/exact_number.h"

#include <gtest/gtest.h>

#include <cmath>

namespace cascade {
namespace {

OrderedJson parsed(const std::string& text) {
  const auto json = parse_ordered_json(text, "doc");
  EXPECT_TRUE(json.ok()) << text;
  return json.ok() ? *json : OrderedJson();
}

std::string refusal(const std::string& text) {
  const auto json = parse_ordered_json(text, "doc");
  return json.ok() ? "" : json.error().message;
}

TEST(ExactNumber, digits_are_kept_at_every_place) {
  const std::string digits(kExactNumberBytesMax, '7');
  for (const std::string& text :
       {std::string("18446744073709551616"), std::string("-9223372036854775809"), digits,
        std::string("1e400"), "[[" + digits + R"(],{"a":-1E400,"":)" + digits + "},1.5]"}) {
    EXPECT_EQ(dump_exact(parsed(text)), text);
  }
}

TEST(ExactNumber, other_numbers_are_what_they_were) {
  EXPECT_TRUE(parsed("18446744073709551615").is_number_unsigned());
  EXPECT_TRUE(parsed("-9223372036854775808").is_number_integer());
  EXPECT_EQ(dump_exact(parsed("[1.0,1e5,-0,-0.0,0.1,123456789012345678901234567890.5,1e-400]")),
            "[1.0,100000.0,0,-0.0,0.1,1.2345678901234568e+29,0.0]");
  EXPECT_EQ(parsed("0.3").get<double>(), 0.3);
  EXPECT_EQ(parse_json("18446744073709551616", "doc")->get<double>(), 18446744073709551616.0);
}

TEST(ExactNumber, is_a_number) {
  const OrderedJson large = parsed("18446744073709551616");
  EXPECT_TRUE(is_exact_number(large));
  EXPECT_TRUE(is_any_number(large));
  EXPECT_STREQ(type_name_of(large), "number");
  EXPECT_EQ(nearest_double(large), 18446744073709551616.0);
  EXPECT_TRUE(std::isinf(nearest_double(parsed("-1e400"))));
  EXPECT_FALSE(is_any_number(OrderedJson::binary({1})));
  EXPECT_EQ(large, parsed("18446744073709551616"));
  EXPECT_NE(large, parsed("18446744073709551617"));
}

TEST(ExactNumber, text_has_a_limit) {
  EXPECT_EQ(refusal("[" + std::string(kExactNumberBytesMax + 1, '1') + "]"),
            "has a number of more than 1024 characters");
  EXPECT_EQ(refusal("[1e99999]").substr(0, 38), "has a number that is too large at byte");
  EXPECT_EQ(refusal("[" + std::string(6000, '1') + "]").substr(0, 38),
            "has a number that is too large at byte");
  EXPECT_EQ(parse_json("[1e400]", "doc").error().message, "has a number that is too large for f64");
  EXPECT_EQ(dump_exact(parsed("0." + std::string(5000, '3'))), "0.3333333333333333");
}

TEST(ExactNumber, text_beside_it_is_mended_and_escaped) {
  OrderedJson json = parsed(R"({"a\"b":18446744073709551616})");
  json["c"] = "\xff";
  EXPECT_EQ(dump_exact(json), "{\"a\\\"b\":18446744073709551616,\"c\":\"\xEF\xBF\xBD\"}");
}

}  // namespace
}  // namespace cascade
