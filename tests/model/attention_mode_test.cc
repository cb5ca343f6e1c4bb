// Tests of the text of attention modes, and of which pages they hide.
#include "model/attention_mode.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cache/attention_pages.h"
#include "cache/kv_view.h"

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
  const char* const form = "must be dense, window, window:W or window:W:S";
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

TEST(AttentionMode, of_a_layer_is_the_layers_own_window_if_it_has_one) {
  EXPECT_EQ(layer_mode({100, 5}, 0), (AttentionMode{100, 5}));
  EXPECT_EQ(layer_mode({100, 5}, 50), (AttentionMode{50, 0}));
  EXPECT_EQ(layer_mode({100, 5}, 200), (AttentionMode{200, 0}));
  EXPECT_EQ(layer_mode({}, 200), (AttentionMode{200, 0}));
}

TEST(AttentionMode, hides_the_pages_that_have_no_key_that_counts) {
  for (const AttentionMode mode :
       {AttentionMode{0, 0}, {1, 0}, {64, 1}, {65, 64}, {300, 65}, {100, 1000}, {1000, 0}}) {
    for (const int64_t position : {0, 1, 63, 64, 127, 128, 300, 363, 364, 1500}) {
      const PageRange unseen = unseen_pages(mode, position);
      for (int64_t page = 0; page <= position / kPageTokens; ++page) {
        bool seen = false;
        for (int64_t key = page * kPageTokens; key < (page + 1) * kPageTokens; ++key) {
          const bool near = mode.window == 0 || key > position - mode.window || key < mode.sinks;
          seen = seen || (near && key <= position);
        }
        EXPECT_EQ(unseen.has(page), !seen)
            << to_string(mode) << ", position " << position << ", page " << page;
      }
    }
  }
}

}  // namespace
}  // namespace cascade
