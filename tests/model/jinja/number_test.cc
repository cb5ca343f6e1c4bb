// Numbers as Python writes and reads them.
#include "model/jinja/number.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>

#include "base/random.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade::jinja {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(JinjaNumber, floats_are_written_as_python_writes_them) {
  const std::pair<double, const char*> cases[] = {
      {0.0, "0.0"},
      {-0.0, "-0.0"},
      {1.0, "1.0"},
      {-2.5, "-2.5"},
      {0.1, "0.1"},
      {1e15, "1000000000000000.0"},
      {9999999999999998.0, "9999999999999998.0"},
      {1e16, "1e+16"},
      {1.5e16, "1.5e+16"},
      {1e22, "1e+22"},
      {1e100, "1e+100"},
      {0.0001, "0.0001"},
      {0.00012345, "0.00012345"},
      {0.00001, "1e-05"},
      {1.25e-7, "1.25e-07"},
      {5e-324, "5e-324"},
      {1.7976931348623157e308, "1.7976931348623157e+308"},
      {123456789.125, "123456789.125"},
      {kInfinity, "inf"},
      {-kInfinity, "-inf"}};
  for (const auto& [number, text] : cases) EXPECT_EQ(float_text(number), text);
  EXPECT_EQ(float_text(std::nan("")), "nan");
}

TEST(JinjaNumber, written_floats_read_back) {
  Random random(testing::test_seed());
  for (int rounds = testing::long_or(100'000, 20'000); rounds > 0; --rounds) {
    const double number = std::bit_cast<double>(random());
    if (std::isnan(number)) continue;
    const std::string text = float_text(number);
    EXPECT_EQ(std::strtod(text.c_str(), nullptr), number) << text;
    const auto read = float_from_text(text);
    ASSERT_TRUE(read.has_value()) << text;
    EXPECT_EQ(std::bit_cast<uint64_t>(*read), std::bit_cast<uint64_t>(number)) << text;
  }
}

TEST(JinjaNumber, floats_are_read_as_python_reads_them) {
  const std::pair<const char*, double> good[] = {
      {"1", 1.0},           {" 1.5\n", 1.5},      {".5", 0.5},
      {"5.", 5.0},          {"1_000.5", 1000.5},  {"1e3", 1000.0},
      {"-1E+2", -100.0},    {"+2", 2.0},          {"Infinity", kInfinity},
      {"-inf", -kInfinity}, {"1e400", kInfinity}, {"-1e400", -kInfinity},
      {"1e-400", 0.0},      {"0e400", 0.0},       {"0.0000001", 1e-7}};
  for (const auto& [text, number] : good) EXPECT_EQ(float_from_text(text), number) << text;
  for (const char* text : {"", ".", "e5", "1e", "1e+", "--1", "1__0", "_1", "1_", "0x10", "1.2.3",
                           "1 2", "infin", "1,5", "1_.5", "1._5"}) {
    EXPECT_FALSE(float_from_text(text).has_value()) << text;
  }
}

TEST(JinjaNumber, integers_are_read_as_python_reads_them) {
  const auto read = [](std::string_view text, int64_t base) {
    const auto number = int_from_text(text, base);
    return number.ok() ? *number : std::nullopt;
  };
  EXPECT_EQ(read(" 42 ", 10), 42);
  EXPECT_EQ(read("-4_2", 10), -42);
  EXPECT_EQ(read("007", 10), 7);
  EXPECT_EQ(read("0x1F", 16), 31);
  EXPECT_EQ(read("1f", 16), 31);
  EXPECT_EQ(read("0x_1f", 0), 31);
  EXPECT_EQ(read("0b101", 0), 5);
  EXPECT_EQ(read("-0o17", 0), -15);
  EXPECT_EQ(read("0", 0), 0);
  EXPECT_EQ(read("zz", 36), 35 * 36 + 35);
  EXPECT_EQ(read("-9223372036854775808", 10), std::numeric_limits<int64_t>::min());
  for (const char* text : {"", "-", "+-5", "--5", "1.5", "1_", "_1", "1__2", "a", "0x10", "1 2"}) {
    EXPECT_EQ(read(text, 10), std::nullopt) << text;
  }
  EXPECT_EQ(read("010", 0), std::nullopt);
  EXPECT_EQ(read("2", 2), std::nullopt);
  EXPECT_FALSE(int_from_text("9223372036854775808", 10).ok());
  EXPECT_FALSE(int_from_text("1", 1).ok());
  EXPECT_FALSE(int_from_text("1", 37).ok());
}

TEST(JinjaNumber, floats_beyond_64_bits_are_no_integers) {
  EXPECT_EQ(*int_from_float(-2.9), -2);
  EXPECT_EQ(*int_from_float(-9223372036854775808.0), std::numeric_limits<int64_t>::min());
  EXPECT_FALSE(int_from_float(9223372036854775808.0).ok());
  EXPECT_FALSE(int_from_float(kInfinity).ok());
  EXPECT_FALSE(int_from_float(std::nan("")).ok());
}

}  // namespace
}  // namespace cascade::jinja
