// strftime_now against the C library's strftime.
#include "model/jinja/time.h"

#include <gtest/gtest.h>

#include <ctime>
#include <string>

#include "base/random.h"
#include "tests/seed.h"

namespace cascade::jinja {
namespace {

std::string formatted(std::string_view format, int64_t unix_s) {
  Runtime runtime({}, unix_s);
  const auto text = format_time(runtime, MarkedText(std::string(format), true), unix_s);
  return text.ok() ? std::string(text->view()) : "error: " + text.error().message;
}

std::string reference(const std::string& format, int64_t unix_s) {
  const std::time_t time = unix_s;
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char buffer[1000];
  return std::string(buffer, std::strftime(buffer, sizeof buffer, format.c_str(), &parts));
}

constexpr const char* kFormat =
    "%a %A %b %B %h %c|%x|%X|%C %d %D %e %F %G %H %I %j %k %l %m %M %n %p %r %R %S %t %T %u %U %V "
    "%w %W %y %Y %% %-d %-m %-H %-I %-M %-S %-j %-y %-e";

TEST(JinjaTime, every_day_is_formatted_as_the_c_library_does) {
  constexpr int64_t kDay = 86'400;
  for (int64_t day = -365 * 200; day < 365 * 200; ++day) {
    const int64_t time = day * kDay + (day * 7'919) % kDay;
    ASSERT_EQ(formatted(kFormat, time), reference(kFormat, time)) << time;
  }
}

TEST(JinjaTime, random_times_are_formatted_as_the_c_library_does) {
  Random random(testing::test_seed());
  for (int round = 0; round < 20'000; ++round) {
    const int64_t time = static_cast<int64_t>(random.below(255'000'000'000)) - 30'000'000'000;
    if (time >= 253'402'300'800) continue;
    ASSERT_EQ(formatted(kFormat, time), reference(kFormat, time)) << time;
  }
}

TEST(JinjaTime, what_datetime_now_does_not_have_is_empty) {
  EXPECT_EQ(formatted("[%z%Z]%f", 0), "[]000000");
}

TEST(JinjaTime, unknown_directives_and_times_are_errors) {
  EXPECT_EQ(formatted("%Q", 0), "error: the time format '%Q' is not supported");
  EXPECT_EQ(formatted("a%", 0), "error: a time format ends with '%'");
  EXPECT_EQ(formatted("a%-", 0), "error: a time format ends with '%'");
  EXPECT_EQ(formatted("%-A", 0), "error: the time format '%-A' is not supported");
  EXPECT_EQ(formatted("%Y", 253'402'300'800), "error: the clock is out of range");
  EXPECT_EQ(formatted("%Y", INT64_MIN), "error: the clock is out of range");
}

}  // namespace
}  // namespace cascade::jinja
