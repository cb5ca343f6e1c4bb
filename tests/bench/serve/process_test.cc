// Facts about processes, the folder for temporary files, and signals.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>

#include "bench/serve/daemon_process.h"
#include "bench/serve/interrupt.h"
#include "bench/serve/process_info.h"

namespace cascade::serve {
namespace {

using ::testing::HasSubstr;

TEST(ServeProcess, memory_is_read_in_bytes) {
  const ProcessMemory memory = parse_memory(
      "Name:\tcascaded\nVmPeak:\t  99 kB\nVmRSS:\t    1500 kB\nRssAnon:\t     700 kB\n"
      "RssFile:\t     800 kB\n");
  EXPECT_EQ(memory.resident_bytes, 1500 * 1024);
  EXPECT_EQ(memory.anonymous_bytes, 700 * 1024);
}

TEST(ServeProcess, memory_of_a_process_that_is_gone_is_nothing) {
  EXPECT_EQ(parse_memory("").resident_bytes, 0);
  EXPECT_EQ(memory_of(-1).resident_bytes, 0);
  EXPECT_GT(memory_of(::getpid()).anonymous_bytes, 0);
}

TEST(ServeProcess, cpu_time_goes_up) {
  const double begin = own_cpu_s();
  volatile int64_t sum = 0;
  while (own_cpu_s() <= begin) sum = sum + 1;
  EXPECT_GT(own_cpu_s(), begin);
}

TEST(ServeProcess, a_temporary_folder_is_private_and_goes_away_with_what_is_in_it) {
  std::filesystem::path path;
  {
    const auto folder = TemporaryFolder::create();
    ASSERT_TRUE(folder.ok()) << folder.error().to_string();
    path = (*folder)->path();
    struct stat info = {};
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0700u);
    std::filesystem::create_directories(path / "a" / "b");
    std::ofstream(path / "a" / "file") << "x";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(ServeProcess, a_program_that_is_no_daemon_ends_with_its_last_words) {
  const auto folder = TemporaryFolder::create();
  ASSERT_TRUE(folder.ok());
  const auto ended = DaemonProcess::start("/bin/false", {}, (*folder)->path() / "1");
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.error().code, ErrorCode::kUnavailable);
  EXPECT_THAT(ended.error().message, HasSubstr("exit code 1"));
  const auto missing = DaemonProcess::start("/no/such/program", {}, (*folder)->path() / "2");
  ASSERT_FALSE(missing.ok());
  EXPECT_THAT(missing.error().message, HasSubstr("exit code 127"));
}

TEST(ServeInterrupts, turn_a_signal_into_an_error_as_long_as_they_live) {
  struct sigaction before = {};
  ::sigaction(SIGINT, nullptr, &before);  // shells start background jobs with SIGINT ignored
  {
    const Interrupts interrupts;
    EXPECT_TRUE(check_interrupted().ok());
    std::raise(SIGINT);
    const Status status = check_interrupted();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, ErrorCode::kCancelled);
    EXPECT_EQ(status.error().message, "ended by signal 2");
  }
  EXPECT_TRUE(check_interrupted().ok());
  struct sigaction now = {};
  ::sigaction(SIGINT, nullptr, &now);
  EXPECT_EQ(now.sa_handler, before.sa_handler);
}

}  // namespace
}  // namespace cascade::serve
