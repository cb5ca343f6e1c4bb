// Pins of texts that have no chain of their own.
#include "actors/scheduler/keep/pinned_texts.h"

#include <gtest/gtest.h>

#include <utility>

#include "tests/actors/scheduler/keep/keep_test.h"

namespace cascade {
namespace {

using testing::count_up;
using testing::first_of;
using testing::Tokens;

constexpr int64_t kTextEnd = 90;

class PinnedTextsTest : public testing::KeepTest {
 protected:
  PinnedTextsTest() : text_(add("a", ChunkType::kContext, count_up(40, 50))) {}

  // A prompt with the text is computed and noted.
  void prompt(const Tokens& tokens) {
    compute(tokens, alice_);
    uses_.note(tenants_.id("alice"), tokens, uses_.find("alice", {"a"}, tokens));
  }
  size_t pinned() const { return memory_.index.pinned_count(); }

  const Tokens prompt_ = count_up(0, 200);
  ChunkEntry& text_;
};

TEST_F(PinnedTextsTest, keeps_every_prompt_up_to_the_end_of_the_text) {
  prompt(prompt_);
  EXPECT_EQ(pinned(), 0u);
  set_pinned(text_, true);
  EXPECT_EQ(pinned(), 2u);
  EXPECT_EQ(keep_.text_pins.state_of({"alice", "a"}), KvState::kReady);
  prompt(testing::join(count_up(-100, 40), count_up(40, 100)));
  EXPECT_EQ(pinned(), 4u) << "a prompt that comes later, too";
  evict();
  EXPECT_EQ(memory_.available(prompt_), 0) << "of another tenant";
  EXPECT_EQ(memory_.index.match(alice_, prompt_).tokens(), 128);
  set_pinned(text_, false);
  EXPECT_EQ(pinned(), 0u);
}

TEST_F(PinnedTextsTest, is_written_up_to_the_end_of_the_text) {
  prompt(prompt_);
  set_pinned(text_, true);
  EXPECT_FALSE(texts_.is_on_disk(text_));
  EXPECT_EQ(write_all(), 2u);
  EXPECT_TRUE(texts_.is_on_disk(text_));
  EXPECT_EQ(stored_.path_of(alice_, first_of(prompt_, kTextEnd)).size(), 2u);
  texts_.write(text_);
  EXPECT_TRUE(writer_.is_idle()) << "it is there";
}

TEST_F(PinnedTextsTest, what_waits_to_be_written_is_dropped_with_the_pin) {
  prompt(prompt_);
  set_pinned(text_, true);
  EXPECT_FALSE(writer_.is_idle());
  set_pinned(text_, false);
  EXPECT_TRUE(writer_.is_idle());
}

TEST_F(PinnedTextsTest, a_text_that_is_only_on_disk_is_read_and_computed) {
  prompt(prompt_);
  set_pinned(text_, true);
  write_all();
  set_pinned(text_, false);
  evict();
  outbox_.take();
  set_pinned(text_, true);
  EXPECT_EQ(keep_.text_pins.state_of({"alice", "a"}), KvState::kPending);
  EXPECT_EQ(budget_.pages_promised(), 2);
  answer_read(first_of(prompt_, kTextEnd));
  EXPECT_TRUE(idle_.has({"alice", "a"}));
  speed_.add_prefill(1000, 1);  // computing is quicker than reading
  compute_idle();
  EXPECT_EQ(pinned(), 2u);
  EXPECT_EQ(budget_.pages_promised(), 0);
  EXPECT_EQ(text_.chunk.kv_state, KvState::kReady);
}

TEST_F(PinnedTextsTest, a_text_that_cannot_be_read_is_given_up) {
  prompt(prompt_);
  set_pinned(text_, true);
  write_all();
  set_pinned(text_, false);
  evict();
  outbox_.take();
  set_pinned(text_, true);
  answer_read({});
  EXPECT_EQ(keep_.text_pins.state_of({"alice", "a"}), KvState::kNone);
  EXPECT_EQ(budget_.pages_promised(), 0);
  EXPECT_FALSE(idle_.has({"alice", "a"}));
}

TEST_F(PinnedTextsTest, without_room_it_waits_and_is_computed_when_there_is_room) {
  prompt(prompt_);
  budget_.set_max_pinned(0.05);
  set_pinned(text_, true);
  EXPECT_EQ(pinned(), 0u);
  EXPECT_EQ(keep_.text_pins.without_room(), 1u);
  evict();
  texts_.heal();
  EXPECT_FALSE(idle_.has({"alice", "a"})) << "it would only be evicted again";
  budget_.set_max_pinned(0.5);
  texts_.heal();
  EXPECT_TRUE(idle_.has({"alice", "a"}));
  texts_.heal();
  EXPECT_EQ(idle_.queue().size(), 1u);
  compute_idle();
  EXPECT_EQ(pinned(), 2u);
}

TEST_F(PinnedTextsTest, counts_the_pages_that_a_pin_would_add) {
  prompt(prompt_);
  EXPECT_EQ(texts_.pages_wanted({"alice", "a"}), 2);
  set_pinned(text_, true);
  EXPECT_EQ(texts_.pages_wanted({"alice", "a"}), 0);
}

}  // namespace
}  // namespace cascade
