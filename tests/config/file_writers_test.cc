// The check that names files that everybody may change.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "config/file_writers.h"
#include "tests/temporary_folder.h"

namespace cascade::config {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FileWriters, are_named_if_everybody_is_one) {
  const testing::TemporaryFolder folder;
  const fs::path file = folder.write("keys", "");
  fs::permissions(file, fs::perms{0664});
  EXPECT_THAT(warnings_of_writers(file), IsEmpty());
  fs::permissions(file, fs::perms{0666});
  EXPECT_THAT(warnings_of_writers(file), ElementsAre(HasSubstr("everybody may write to it")));
  fs::permissions(file, fs::perms{0600});
  fs::permissions(folder.path(), fs::perms{0777});
  EXPECT_THAT(warnings_of_writers(file), ElementsAre(HasSubstr("another file in its place")));
  fs::permissions(folder.path(), fs::perms{01777});
  EXPECT_THAT(warnings_of_writers(file), IsEmpty());
}

TEST(FileWriters, of_what_is_not_there_are_not_known) {
  EXPECT_THAT(warnings_of_writers("/nonexistent/keys"), IsEmpty());
}

}  // namespace
}  // namespace cascade::config
