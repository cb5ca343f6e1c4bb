// What a window hides, in pages and tokens.
#include "cache/attention_pages.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cache/kv_view.h"

namespace cascade {
namespace {

TEST(WindowPages, are_hidden_if_they_have_no_key_that_counts) {
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

TEST(WindowPages, a_sequence_never_needs_more_pages_than_the_working_ones) {
  for (const AttentionMode mode : {AttentionMode{64, 0}, {100, 1}, {640, 64}, {1000, 300}}) {
    for (const int64_t slice : {1, 64, 200, 512}) {
      for (int64_t position = 0; position < 5000; position += 7) {
        const PageRange unseen = unseen_behind(mode, position);
        int64_t seen = 0;
        for (int64_t page = 0; page * kPageTokens < position + slice; ++page) {
          seen += unseen.has(page) ? 0 : 1;
        }
        ASSERT_LE(seen, working_pages(mode, position + slice, slice)) << position;
      }
    }
  }
}

TEST(WindowPages, what_a_sequence_looks_away_from_no_token_after_its_last_full_page_sees) {
  for (const AttentionMode mode :
       {AttentionMode{64, 0}, {65, 1}, {100, 64}, {128, 0}, {4128, 64}}) {
    for (int64_t tokens = 0; tokens < 9000; tokens += 13) {
      const PageRange unseen = unseen_behind(mode, tokens);
      for (int64_t next = tokens / kPageTokens * kPageTokens; next <= tokens + 1; ++next) {
        const int64_t first_seen = std::max<int64_t>(0, next + 1 - mode.window);
        ASSERT_LE(unseen.end * kPageTokens, first_seen) << tokens;
        ASSERT_GE(unseen.begin * kPageTokens, mode.sinks);
      }
      ASSERT_EQ(unseen.end, unseen_behind(mode, tokens / kPageTokens * kPageTokens).end);
      const int64_t pages = (tokens + kPageTokens - 1) / kPageTokens;
      ASSERT_EQ(end_pages(mode, tokens), pages - std::max<int64_t>(0, unseen.end - unseen.begin));
    }
  }
}

TEST(WindowPages, a_dense_sequence_needs_all_its_pages) {
  EXPECT_EQ(working_pages({}, 1000, 512), 16);
  EXPECT_EQ(working_pages({}, 1024, 64), 16);
  EXPECT_EQ(working_pages({4096, 64}, 300, 512), 5) << "no more than there are";
}

TEST(SelectedPages, a_token_selects_if_it_has_twice_as_many_candidates_as_it_may_choose) {
  const AttentionMode mode = {0, 0, 256, 0};
  EXPECT_EQ(select_candidates(100 * 64).begin, 1);
  EXPECT_EQ(select_candidates(100 * 64).end, 85) << "the last 16 pages are seen in any case";
  EXPECT_EQ(select_candidates(100 * 64 + 63).end, 85);
  // Eight candidates: the pages 1 to 8, beside the pages 9 to 24.
  EXPECT_FALSE(selects(mode, 24 * 64 - 1));
  EXPECT_TRUE(selects(mode, 24 * 64));
  EXPECT_FALSE(selects({}, 1 << 20));
  EXPECT_FALSE(selects({4096, 64}, 1 << 20));
}

TEST(SelectedPages, keys_that_are_seen_are_counted) {
  EXPECT_EQ(keys_seen({}, 99), 100);
  EXPECT_EQ(keys_seen({64, 10}, 99), 74);
  EXPECT_EQ(keys_seen({0, 0, 128, 0}, 6410), 128 + 64 + 15 * 64 + 11);
  EXPECT_EQ(keys_seen({0, 0, 128, 0}, 500), 501);
}

TEST(AttentionWork, sums_of_positions_are_exact) {
  EXPECT_EQ(sum_of_positions(0, 0), 0);
  EXPECT_EQ(sum_of_positions(0, 4), 6);
  EXPECT_EQ(sum_of_positions(3, 5), 7);
}

TEST(AttentionWork, is_the_number_of_earlier_tokens_that_are_seen) {
  EXPECT_EQ(attention_work({}, 8, 100, 104), 100 + 101 + 102 + 103);
  EXPECT_EQ(attention_work({}, 8, 7, 7), 0);
  const AttentionMode window = {4096, 64};
  EXPECT_EQ(attention_work(window, 8, 0, 4160), sum_of_positions(0, 4160));
  EXPECT_EQ(attention_work(window, 8, 100'000, 100'010), 10 * 4160);
  EXPECT_EQ(attention_work(window, 8, 4158, 4162), 4158 + 4159 + 2 * 4160);
}

TEST(AttentionWork, of_tokens_that_select_counts_what_they_see_and_two_tokens_of_each_other_page) {
  const AttentionMode select = {0, 0, 4096, 0};
  constexpr int64_t kFirst = (16 + 2 * 64) * kPageTokens;
  EXPECT_EQ(attention_work(select, 8, 0, kFirst), sum_of_positions(0, kFirst));
  const int64_t far = 1000 * kPageTokens;
  EXPECT_EQ(attention_work(select, 8, far, far + 1), 4096 + 17 * 64 + 2 * 1000);
  EXPECT_EQ(attention_work(select, 8, kFirst - 1, kFirst + 1),
            kFirst - 1 + attention_work(select, 8, kFirst, kFirst + 1));
}

TEST(AttentionWork, counts_layers_that_do_not_select_as_dense) {
  const int64_t far = 1000 * kPageTokens;
  const double selecting = attention_work({0, 0, 4096, 0}, 8, far, far + 1);
  EXPECT_EQ(attention_work({0, 0, 4096, 2}, 8, far, far + 1), 0.25 * far + 0.75 * selecting);
  for (const int all : {8, 1000}) {
    EXPECT_EQ(attention_work({0, 0, 4096, all}, 8, far, far + 1), far) << all;
  }
}

}  // namespace
}  // namespace cascade
