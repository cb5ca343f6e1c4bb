// Paths in requests.
#include <gtest/gtest.h>

#include <string>

#include "wire/request_rules.h"

namespace cascade::wire {
namespace {

TEST(Rules, paths_are_absolute_and_bounded) {
  EXPECT_TRUE(check_request(BackupRequest{"/b", ""}).ok());
  for (const std::string& wrong :
       {std::string(), std::string("b"), std::string("/b\0", 3), "/" + std::string(4095, 'x')}) {
    EXPECT_EQ(check_request(BackupRequest{wrong, ""}).error().field, "directory");
    if (wrong.empty()) continue;
    EXPECT_EQ(check_request(BackupRequest{"/b", wrong}).error().field, "state_dir");
    EXPECT_EQ(check_request(FsckRequest{false, wrong}).error().field, "state_dir");
  }
  EXPECT_TRUE(check_request(FsckRequest{}).ok());
}

}  // namespace
}  // namespace cascade::wire
