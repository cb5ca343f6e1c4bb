// Where chains begin, and what they leave.
#include "cache/chain_start.h"

#include <gtest/gtest.h>

#include <optional>
#include <vector>

#include "tests/cache/chain_memory.h"

namespace cascade::testing {
namespace {

using Worth = StateTable::Worth;

class ChainStartTest : public ::testing::Test {
 protected:
  std::optional<StartedChain> start(const Tokens& tokens) {
    return start_chain(caches_, memory_.tenant, tokens, {}, 1);
  }
  // Computes the chain up to `end`, and keeps the state there.
  void compute(const Tokens& chain, int64_t end) {
    const auto started = start(first_of(chain, end));
    ASSERT_TRUE(started);
    go_on(*started, chain, end);
    started->recurrent->keep(Worth::kEnd);
    finish_chain(*started->sequence, *started->recurrent, 1);
  }
  void go_on(const StartedChain& started, const Tokens& chain, int64_t end) {
    const int64_t begin = started.sequence->committed();
    if (begin == end) return;
    ASSERT_TRUE(started.recurrent->next_job(end));
    const auto next = std::span(chain).subspan(size_t(begin), size_t(end - begin));
    ASSERT_TRUE(memory_.compute(*started.sequence, next, 1));
    started.recurrent->advanced(end);
  }

  ChainMemory memory_{8};
  StateTable states_{3, memory_.index};
  const ChainCaches caches_{memory_.index, memory_.pool, memory_.arena, states_};
  const Tokens chain_ = count_up(0, 300);
};

TEST_F(ChainStartTest, begins_where_pages_and_state_are) {
  compute(chain_, 100);
  Tokens other = first_of(chain_, 100);
  other.push_back(9000);
  const auto started = start(other);
  ASSERT_TRUE(started);
  EXPECT_EQ(started->sequence->committed(), 100);
  EXPECT_TRUE(memory_.intact(*started->sequence));
}

TEST_F(ChainStartTest, computes_again_what_has_pages_but_no_state) {
  compute(chain_, 100);
  {
    const auto longer = start(first_of(chain_, 200));
    go_on(*longer, chain_, 200);
    finish_chain(*longer->sequence, *longer->recurrent, 1);
  }
  EXPECT_EQ(memory_.index.match(memory_.tenant, chain_).tokens(), 200);
  EXPECT_EQ(start(chain_)->sequence->committed(), 100);
}

TEST_F(ChainStartTest, without_states_all_pages_count) {
  StateTable none(0, memory_.index);
  compute(chain_, 200);
  const ChainCaches caches = {memory_.index, memory_.pool, memory_.arena, none};
  EXPECT_EQ(start_chain(caches, memory_.tenant, chain_, {}, 1)->sequence->committed(), 200);
}

TEST_F(ChainStartTest, without_a_slot_nothing_changes) {
  std::vector<std::optional<StateTable::Slot>> slots;
  for (int i = 0; i < 3; ++i) slots.push_back(states_.allocate());
  EXPECT_FALSE(start(chain_));
  EXPECT_EQ(memory_.pool.used_count(), 0u);
  EXPECT_EQ(states_.slots_used(), 3u);
  states_.release(*slots[0]);
  EXPECT_TRUE(start(chain_));
}

TEST_F(ChainStartTest, without_a_page_for_a_copy_an_earlier_state_is_used) {
  compute(chain_, 64);
  compute(chain_, 100);
  // Another sequence takes all other pages, and the chain's last one stays.
  const auto user = start(first_of(chain_, 100));
  const auto rest = memory_.sequence();
  const auto free = static_cast<int64_t>(memory_.pool.free_count());
  ASSERT_TRUE(rest->reserve(free * 64));
  const auto started = start(first_of(chain_, 100));
  ASSERT_TRUE(started);
  EXPECT_EQ(started->sequence->committed(), 64);
}

TEST_F(ChainStartTest, a_finished_chain_leaves_its_states) {
  const auto started = start(chain_);
  ASSERT_TRUE(started->sequence->reserve(100));
  ASSERT_TRUE(started->recurrent->next_job(100, std::vector<KeptPoint>{{80, Worth::kEnd}}));
  advance_chain(*started->sequence, *started->recurrent, first_of(chain_, 100), 1);
  EXPECT_EQ(states_.find(memory_.tenant, chain_).tokens, 0) << "the last page is not in the index";
  finish_chain(*started->sequence, *started->recurrent, 1);
  finish_chain(*started->sequence, *started->recurrent, 1);
  EXPECT_EQ(states_.find(memory_.tenant, chain_).tokens, 80);
}

}  // namespace
}  // namespace cascade::testing
