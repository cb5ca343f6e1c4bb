// Hostile text cannot do anything to a log.
#include "daemon/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

namespace cascade {
namespace {

TEST(Log, is_a_line_for_each_message_and_shows_what_a_terminal_would_obey) {
  ::testing::internal::CaptureStderr();
  set_up_log("warn");
  spdlog::warn("the tensor \x1b[2J\"a\nb\" {}", 1);
  spdlog::info("not of this level");
  EXPECT_THAT(::testing::internal::GetCapturedStderr(),
              ::testing::EndsWith(" warning the tensor ␛[2J\"a␤b\" 1\n"));
  spdlog::set_level(spdlog::level::info);
}

}  // namespace
}  // namespace cascade
