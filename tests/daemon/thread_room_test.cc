// Whether there is room for the daemon's threads, checked before they start.
#include "daemon/thread_room.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

TEST(ThreadRoom, is_there_for_an_ordinary_daemon) {
  EXPECT_TRUE(check_thread_room(threads_needed(DaemonOptions{})).ok());
  EXPECT_TRUE(check_thread_room(1).ok());
}

TEST(ThreadRoom, is_needed_for_each_thread_that_computes_and_each_tenant) {
  DaemonOptions options;
  options.threads = 1;
  const int least = threads_needed(options);
  options.threads = 9;
  EXPECT_EQ(threads_needed(options), least + 8);
  options.tenants = {"one", "two"};
  EXPECT_GT(threads_needed(options), least + 8 + 2);
}

}  // namespace
}  // namespace cascade
