// Numbers in variables print and compare as in Python, whatever their size.
#include <gtest/gtest.h>

#include <string>

#include "tests/model/chat_template_testing.h"

namespace cascade::testing {
namespace {

std::string rendered(std::string_view source, const std::string& x) {
  const auto variables = parse_ordered_json("{\"x\":" + x + "}", "variables");
  EXPECT_TRUE(variables.ok()) << x;
  if (!variables.ok()) return "";
  const auto text = render(source, *variables);
  return text.ok() ? plain_text(*text) : text.error().message;
}

TEST(ChatTemplateNumbers, print_as_in_python) {
  const std::string long_one(1000, '7');
  const std::pair<std::string, std::pair<std::string, std::string>> cases[] = {
      {"18446744073709551615", {"18446744073709551615", "18446744073709551615"}},
      {"18446744073709551616", {"18446744073709551616", "18446744073709551616"}},
      {"-9223372036854775809", {"-9223372036854775809", "-9223372036854775809"}},
      {long_one, {long_one, long_one}},
      {"1.0", {"1.0", "1.0"}},
      {"1e5", {"100000.0", "100000.0"}},
      {"1e16", {"1e+16", "1e+16"}},
      {"-0", {"0", "0"}},
      {"-0.0", {"-0.0", "-0.0"}},
      {"0.1", {"0.1", "0.1"}},
      {"1E400", {"inf", "Infinity"}},
      {"-1e400", {"-inf", "-Infinity"}},
      {"1e-400", {"0.0", "0.0"}},
      {"123456789012345678901234567890.5", {"1.2345678901234568e+29", "1.2345678901234568e+29"}}};
  for (const auto& [x, expected] : cases) {
    EXPECT_EQ(rendered("{{ x }}", x), expected.first) << x;
    EXPECT_EQ(rendered("{{ x | tojson }}", x), expected.second) << x;
    EXPECT_EQ(rendered("{{ [x] }}{{ x | string }}", x), "[" + expected.first + "]" + expected.first)
        << x;
    EXPECT_EQ(rendered("{{ {'a': x} | tojson }}", x), "{\"a\": " + expected.second + "}") << x;
  }
}

TEST(ChatTemplateNumbers, long_ones_are_integers) {
  const std::string x = "18446744073709551616";
  for (const char* test : {"x is number", "x is integer", "x is not float", "x is not string",
                           "x is not boolean", "x", "(x | int) == x", "x | float == x"}) {
    EXPECT_EQ(rendered("{{ " + std::string(test) + " }}", x), test == std::string("x") ? x : "True")
        << test;
  }
  EXPECT_EQ(rendered("{{ 'yes' if x else 'no' }}", x), "yes");
}

TEST(ChatTemplateNumbers, long_ones_compare_exactly) {
  const std::string list =
      "[18446744073709551616,18446744073709551617,-18446744073709551616,1,"
      "18446744073709551616.0,1e400,18446744073709551616]";
  for (const char* test :
       {"x[0] == x[6]", "x[0] != x[1]", "x[0] != x[2]", "x[0] != x[3]", "x[0] == x[4]",
        "x[1] != x[4]", "x[0] != x[5]", "x[0] < x[1]", "x[2] < x[0]", "x[2] < x[3]", "x[3] < x[0]",
        "x[0] < x[5]", "x[0] in [1, x[6]]", "x[1] not in [x[0]]", "x[0] != '18446744073709551616'",
        "x[0] != none", "x[0] != true", "{x[0]: 1}[x[6]] == 1", "x | max == x[5]"}) {
    EXPECT_EQ(rendered("{{ " + std::string(test) + " }}", list), "True") << test;
  }
  EXPECT_EQ(rendered("{{ x[:4] | sort }}", list),
            "[-18446744073709551616, 1, 18446744073709551616, 18446744073709551617]");
}

TEST(ChatTemplateNumbers, there_is_no_arithmetic_with_long_ones) {
  for (const char* source : {"{{ x + 1 }}", "{{ 2 * x }}", "{{ -x }}", "{{ x / 2.0 }}"}) {
    EXPECT_EQ(rendered(source, "18446744073709551616"),
              "line 1: there is no arithmetic with integers beyond 64 bits")
        << source;
  }
  EXPECT_EQ(rendered("{{ x | round }}", "18446744073709551616"),
            "line 1: filter 'round': does not work with integers beyond 64 bits");
}

}  // namespace
}  // namespace cascade::testing
