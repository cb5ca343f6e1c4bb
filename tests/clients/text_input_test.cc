// Files and standard input as texts.
#include "clients/ctl/text_input.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/temporary_folder.h"

namespace cascade::ctl {
namespace {

using cascade::testing::TemporaryFolder;

Result<std::string> read_stream(const std::string& text, size_t bytes_max = 1 << 20) {
  std::istringstream in(text);
  return read_text(in, bytes_max);
}

TEST(TextInput, reads_all_of_a_stream_but_a_byte_order_mark) {
  const std::string large = "a\n" + std::string(10'000, 'x');
  EXPECT_EQ(*read_stream(large), large);
  EXPECT_EQ(*read_stream("\xEF\xBB\xBF" + large), large);
  EXPECT_EQ(*read_stream(""), "");
  EXPECT_EQ(read_stream({"\xFF\xFEo\0", 4}).error().to_string(),
            "invalid_argument: stdin: is UTF-16 or UTF-32; save it as UTF-8");
}

TEST(TextInput, ends_at_its_limit) {
  EXPECT_EQ(read_stream("abc", 3)->size(), 3u);
  EXPECT_EQ(read_stream("abcd", 3).error().to_string(),
            "invalid_argument: stdin: has more than 3 bytes, the limit");
}

TEST(TextInput, a_file_may_be_standard_input) {
  const TemporaryFolder folder;
  std::istringstream in("from stdin");
  EXPECT_EQ(*read_text(folder.write("f", "\xEF\xBB\xBFof a file").string(), in, 100), "of a file");
  EXPECT_EQ(*read_text("-", in, 100), "from stdin");
}

}  // namespace
}  // namespace cascade::ctl
