// The allowed values of CASCADE_FAILPOINT; the process ends at the passage that the value names.
#include "base/failpoint.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <set>
#include <string>

namespace cascade {
namespace {

void pass_armed(const std::string& text, int passages) {
  if (!arm_failpoint(text).ok()) ::_exit(2);
  failpoint(Failpoint::kCommitBefore);
  for (int i = 0; i < passages; ++i) failpoint(Failpoint::kCommitAfter);
  ::_exit(0);
}

TEST(Failpoint, ends_the_process_at_the_passage_it_names) {
  EXPECT_EXIT(pass_armed("commit_after", 1), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(pass_armed("commit_after:3", 3), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_EXIT(pass_armed("commit_after:3", 2), ::testing::ExitedWithCode(0), "");
  EXPECT_EXIT(pass_armed("scrub", 5), ::testing::ExitedWithCode(0), "");
}

TEST(Failpoint, refuses_what_names_none) {
  for (const char* text : {"", ":", "commit", "commit_after:", "commit_after:0", "commit_after:-1",
                           "commit_after:1x", "commit_after:99999999999999999999"}) {
    const Status armed = arm_failpoint(text);
    ASSERT_FALSE(armed.ok()) << text;
    EXPECT_EQ(armed.error().field, "CASCADE_FAILPOINT");
  }
  EXPECT_TRUE(is_armed(Failpoint::kNone));
}

TEST(Failpoint, names_differ) {
  const auto names = failpoint_names();
  EXPECT_EQ(std::set<std::string_view>(names.begin(), names.end()).size(), names.size());
}

}  // namespace
}  // namespace cascade
