// Reading /proc, and refusing sizes that do not fit.
#include "bench/speed/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cascade::speed {
namespace {

TEST(Machine, values_are_found_by_their_whole_key) {
  const char* const text =
      "MemTotal:       24683700 kB\n"
      "Mem:\t1\n"
      "model name\t: Some CPU: fast\n"
      "no colon\n"
      "empty:\n"
      ": nothing\n";
  EXPECT_EQ(proc_value(text, "MemTotal"), "24683700 kB");
  EXPECT_EQ(proc_value(text, "Mem"), "1");
  EXPECT_EQ(proc_value(text, "model name"), "Some CPU: fast");
  EXPECT_EQ(proc_value(text, "model"), "");
  EXPECT_EQ(proc_value(text, "empty"), "");
  EXPECT_EQ(proc_value("", "MemTotal"), "");
}

TEST(Machine, what_does_not_fit_names_the_option_and_what_there_is) {
  ASSERT_TRUE(available_memory_bytes().has_value());
  EXPECT_GT(*available_memory_bytes(), 0);
  EXPECT_TRUE(fits_memory(1, "--batch", "a byte").ok());
  const Status status = fits_memory(2e18, "--batch", "K and V");
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(status.error().field, "--batch");
  EXPECT_THAT(status.error().message,
              ::testing::MatchesRegex("K and V takes 2000000000000 MB; the machine has [0-9]+ MB "
                                      "left"));
}

TEST(Machine, a_process_holds_some_memory) {
  EXPECT_GT(peak_memory_bytes(), 0);
  reset_peak_memory();
  EXPECT_GT(peak_memory_bytes(), 0);
}

}  // namespace
}  // namespace cascade::speed
