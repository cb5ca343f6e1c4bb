// Key files that people edit, too.
#include "clients/ctl/key_commands.h"

#include <gtest/gtest.h>

#include <sstream>

#include "base/file.h"
#include "clients/ctl/run.h"
#include "tests/temporary_folder.h"
#include "wire/http/api_keys.h"

namespace cascade::ctl {
namespace {

using cascade::testing::TemporaryFolder;

class KeyFiles : public ::testing::Test {
 protected:
  Screen screen{out, err, Style(false), /*terminal=*/false, /*json=*/false};
  std::ostringstream out, err;
  TemporaryFolder folder;
};

TEST_F(KeyFiles, a_new_key_has_a_line_of_its_own_behind_one_without_end) {
  KeyOptions options;
  options.file = folder.write("keys", "\xEF\xBB\xBF" + http::api_key_line("eve", "a key"));
  ASSERT_EQ(run_key_new(screen, options), kExitOk) << err.str();
  const std::string text = *read_file(options.file, 1000);
  const auto keys = http::ApiKeys::parse(text.substr(3));
  ASSERT_TRUE(keys.ok()) << keys.error().to_string();
  EXPECT_EQ(keys->tenant_count(), 2u);
}

TEST_F(KeyFiles, in_utf16_are_left_as_they_are) {
  KeyOptions options;
  const std::string text = {"\xFF\xFEo\0", 4};
  options.file = folder.write("keys", text);
  EXPECT_EQ(run_key_new(screen, options), kExitUsage);
  EXPECT_EQ(run_key_revoke(screen, options), kExitUsage);
  options.key = std::string(40, '0');
  EXPECT_EQ(run_key_allow(screen, options), kExitUsage);
  EXPECT_EQ(*read_file(options.file, 1000), text);
  EXPECT_NE(err.str().find("save it as UTF-8"), std::string::npos);
}

TEST_F(KeyFiles, a_key_of_the_first_line_is_revoked_behind_a_byte_order_mark) {
  KeyOptions options;
  options.file = folder.write("keys", "\xEF\xBB\xBF" + http::api_key_line("eve", "a key") + "\n");
  options.key = "a key";
  EXPECT_EQ(run_key_revoke(screen, options), kExitOk) << err.str();
  EXPECT_EQ(*read_file(options.file, 1000), "");
}

}  // namespace
}  // namespace cascade::ctl
