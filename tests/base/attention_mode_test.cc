// The texts of attention modes.
#include "base/attention_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace cascade {
namespace {

using ::testing::HasSubstr;

TEST(AttentionMode, is_read_from_its_text_and_written_as_it) {
  struct Case {
    const char* text;
    AttentionMode mode;
    const char* written;
  };
  for (const auto& [text, mode, written] :
       std::vector<Case>{{"dense", {0, 0}, "dense"},
                         {"window", {4096, 64}, "window:4096:64"},
                         {"window:64", {64, 64}, "window:64:64"},
                         {"window:1048576:0", {1 << 20, 0}, "window:1048576:0"},
                         {"window:1000:65536", {1000, 1 << 16}, "window:1000:65536"}}) {
    const auto read = parse_attention_mode(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(*read, mode) << text;
    EXPECT_EQ(to_string(mode), written);
    EXPECT_EQ(*parse_attention_mode(written), mode);
  }
}

TEST(AttentionMode, wrong_texts_get_errors_that_name_the_limits) {
  const char* const form =
      "must be dense, window, window:W, window:W:S, select, select:B, select:B:D, verify, verify:B "
      "or verify:B:D, such as";
  const char* const window = "the window W must be a whole number from 64 to 1048576, got";
  const char* const sinks = "the number of sinks S must be a whole number from 0 to 65536, got";
  struct Case {
    const char* text;
    const char* message;
  };
  for (const auto& [text, message] : std::vector<Case>{{"", form},
                                                       {"windows", form},
                                                       {"Dense", form},
                                                       {"dense:64", form},
                                                       {"window ", form},
                                                       {"window:", window},
                                                       {"window:63", window},
                                                       {"window:1048577", window},
                                                       {"window:-64", window},
                                                       {"window:99999999999", window},
                                                       {"window:64.5", window},
                                                       {"window::1", window},
                                                       {"window:64:", sinks},
                                                       {"window:64:-1", sinks},
                                                       {"window:64:65537", sinks},
                                                       {"window:64:1:2", sinks}}) {
    const auto read = parse_attention_mode(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(read.error().field, "attention");
    EXPECT_THAT(read.error().message, HasSubstr(message)) << text;
  }
}

TEST(AttentionMode, only_one_mode_is_dense) {
  EXPECT_TRUE(AttentionMode{}.is_dense());
  EXPECT_FALSE(kWindowMode.is_dense());
  EXPECT_FALSE(kSelectMode.is_dense());
}

TEST(AttentionMode, selection_is_read_from_its_text_and_written_as_it) {
  struct Case {
    const char* text;
    AttentionMode mode;
    const char* written;
  };
  for (const auto& [text, mode, written] :
       std::vector<Case>{{"select", {0, 0, 4096, 0}, "select:4096:0"},
                         {"select:64", {0, 0, 64, 0}, "select:64:0"},
                         {"select:65:2", {0, 0, 128, 2}, "select:128:2"},
                         {"select:1048576:1024", {0, 0, 1 << 20, 1024}, "select:1048576:1024"}}) {
    const auto read = parse_attention_mode(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(*read, mode) << text;
    EXPECT_EQ(to_string(mode), written);
    EXPECT_EQ(*parse_attention_mode(written), mode);
  }
  for (const auto& [text, message] : std::vector<std::pair<const char*, const char*>>{
           {"select:", "the number of selected tokens B must be a whole number from 64 to 1048576"},
           {"select:63", "the number of selected tokens B must be"},
           {"select:1048577", "the number of selected tokens B must be"},
           {"select:64:", "the number of dense layers D must be a whole number from 0 to 1024"},
           {"select:64:1:2", "the number of dense layers D must be"},
           {"selects", "such as window:4096:64 or select:4096, got \"selects\""},
           {"select ", "must be dense, window"}}) {
    const auto read = parse_attention_mode(text);
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_EQ(read.error().field, "attention");
    EXPECT_THAT(read.error().message, HasSubstr(message)) << text;
  }
}

TEST(AttentionChoice, drafts_are_read_from_their_text_and_written_as_it) {
  for (const auto& [text, drafts, written] :
       std::vector<std::tuple<const char*, AttentionMode, const char*>>{
           {"verify", {0, 0, 4096, 0}, "verify:4096:0"},
           {"verify:65:2", {0, 0, 128, 2}, "verify:128:2"}}) {
    const auto read = parse_attention(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_TRUE(read->mode.is_dense());
    EXPECT_EQ(read->drafts, drafts);
    EXPECT_EQ(to_string(*read), written);
    EXPECT_EQ(*parse_attention(written), *read);
    EXPECT_THAT(parse_attention_mode(text).error().message, HasSubstr("use dense here"));
  }
  for (const char* text : {"dense", "window:64:1", "select:64:2"}) {
    const auto read = parse_attention(text);
    ASSERT_TRUE(read.ok()) << text;
    EXPECT_EQ(read->mode, *parse_attention_mode(text));
    EXPECT_TRUE(read->drafts.is_dense());
    EXPECT_EQ(to_string(*read), text);
  }
  EXPECT_THAT(parse_attention("verify:63").error().message,
              HasSubstr("the number of selected tokens B must be"));
  EXPECT_THAT(parse_attention("verified").error().message, HasSubstr("must be dense, window"));
}

}  // namespace
}  // namespace cascade
