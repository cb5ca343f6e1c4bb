// Byte order marks are not part of the text.
#include "base/text_file.h"

#include <gtest/gtest.h>

#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using namespace std::string_literals;

TEST(TextFile, begins_behind_the_byte_order_mark) {
  const testing::TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    return *read_text_file(folder.write("text", text), 100);
  };
  EXPECT_EQ(read("\xEF\xBB\xBFone\n"), "one\n");
  EXPECT_EQ(read("\xEF\xBB\xBF"), "");
  EXPECT_EQ(read("\xEF\xBB\xBF\xEF\xBB\xBFone"), "\xEF\xBB\xBFone");  // the second is a character
  for (const std::string& text : {""s, "\xEF"s, "\xEF\xBB"s, "\xFF"s, "a\xEF\xBB\xBF"s, "a\0b"s}) {
    EXPECT_EQ(read(text), text);
  }
}

TEST(TextFile, names_what_is_not_utf8_and_says_what_to_do) {
  const testing::TemporaryFolder folder;
  for (const std::string& text :
       {"\xFF\xFEo\0n\0"s, "\xFE\xFF\0o"s, "\xFF\xFE\0\0o\0\0\0"s, "\0\0\xFE\xFF\0\0\0o"s}) {
    const auto path = folder.write("text", text);
    const auto read = read_text_file(path, 100);
    ASSERT_FALSE(read.ok());
    EXPECT_EQ(read.error().to_string(),
              "invalid_argument: " + path.string() + ": is UTF-16 or UTF-32; save it as UTF-8");
  }
  for (const std::string& text : {"h\0i\0"s, "\0h\0i"s, "{\0\"\0a\0"s}) {
    const auto read = read_text_file(folder.write("text", text), 100);
    ASSERT_FALSE(read.ok());
    EXPECT_TRUE(read.error().message.starts_with("is UTF-16;"));
  }
}

TEST(TextFile, is_a_file_that_can_be_read) {
  EXPECT_EQ(read_text_file("/no/such/file", 100).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace cascade
