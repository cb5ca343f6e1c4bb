// Which chains the pins of texts keep, which wait, and which are given up.
#include "actors/scheduler/keep/text_pins.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/cache/chain_memory.h"
#include "tests/cache/testing.h"

namespace cascade {
namespace {

using testing::ChainMemory;
using testing::count_up;
using testing::first_of;
using testing::join;
using testing::kSecond;
using testing::page;

const TextPins::ChunkName kFacts = {"t", "facts"};
const TextPins::ChunkName kNotes = {"t", "notes"};

class HeldTexts : public ::testing::Test {
 protected:
  // The first `tokens` tokens of the chain, which are in memory.
  TextPin beginning(const testing::Tokens& chain, size_t tokens) {
    TextPin pin;
    pin.owner = memory_.tenant;
    pin.chain = first_of(chain, tokens);
    return pin;
  }
  bool hold(const TextPins::ChunkName& chunk, const Digest& end, TextPin pin,
            int64_t pages_max = 10, int64_t promised = 0) {
    return pins_.hold(chunk, end, std::move(pin), kPriorityNormal, pages_max, promised);
  }
  size_t pinned() const { return memory_.index.pinned_count(); }

  ChainMemory memory_{20};
  DiskIndex disk_;
  TextPins pins_{memory_.index, disk_};
  const testing::Tokens chain_ = count_up(0, 200);  // 4 pages
};

TEST_F(HeldTexts, keep_the_pages_up_to_the_texts_end) {
  memory_.run(chain_, kSecond);
  EXPECT_EQ(pins_.state_of(kFacts), KvState::kNone);
  ASSERT_TRUE(hold(kFacts, page(1), beginning(chain_, 150)));
  EXPECT_EQ(pins_.state_of(kFacts), KvState::kReady);
  EXPECT_EQ(pinned(), 3u);
  EXPECT_TRUE(pins_.ends_with(page(1)));
  ASSERT_TRUE(hold(kFacts, page(1), beginning(chain_, 150))) << "once more is no other chain";
  EXPECT_EQ(pinned(), 3u);
  // Another prompt, which diverges before the text's end.
  const testing::Tokens other = join(first_of(chain_, 130), count_up(1000, 20));
  memory_.run(other, kSecond);
  ASSERT_TRUE(hold(kFacts, page(2), beginning(other, 150)));
  EXPECT_EQ(pinned(), 4u);
  pins_.unpin(kFacts);
  EXPECT_EQ(pinned(), 0u);
  EXPECT_FALSE(pins_.ends_with(page(1)));
  EXPECT_EQ(pins_.state_of(kFacts), KvState::kNone);
}

TEST_F(HeldTexts, need_pages_in_memory) {
  memory_.run(first_of(chain_, 100), kSecond);
  EXPECT_FALSE(hold(kFacts, page(1), beginning(chain_, 150)));
  EXPECT_TRUE(pins_.of(kFacts).empty());
  EXPECT_EQ(pins_.without_room(), 0u);
}

TEST_F(HeldTexts, without_room_wait_if_there_is_nothing_else_of_the_chunk) {
  memory_.run(chain_, kSecond);
  EXPECT_FALSE(hold(kFacts, page(1), beginning(chain_, 150), 2));
  EXPECT_EQ(pins_.state_of(kFacts), KvState::kPending);
  EXPECT_EQ(pins_.without_room(), 1u);
  EXPECT_EQ(pins_.pages_promised(), 0);
  EXPECT_FALSE(hold(kFacts, page(2), beginning(chain_, 190), 2));
  EXPECT_EQ(pins_.of(kFacts).size(), 1u);
  EXPECT_TRUE(hold(kFacts, page(1), beginning(chain_, 150), 3));
  EXPECT_EQ(pins_.state_of(kFacts), KvState::kReady);
  EXPECT_EQ(pins_.without_room(), 0u);
}

TEST_F(HeldTexts, take_no_pages_that_others_were_promised_but_their_own) {
  memory_.run(chain_, kSecond);
  EXPECT_FALSE(hold(kFacts, page(1), beginning(chain_, 150), 10, 8));
  TextPin expected = beginning(chain_, 150);
  expected.promised = 3;
  pins_.expect(kFacts, page(1), TextPin(expected));
  EXPECT_EQ(pins_.pages_promised(), 3);
  EXPECT_TRUE(hold(kFacts, page(1), expected, 10, 11));
  EXPECT_EQ(pins_.pages_promised(), 0);
}

TEST_F(HeldTexts, are_given_up_only_while_they_wait) {
  memory_.run(chain_, kSecond);
  ASSERT_TRUE(hold(kFacts, page(1), beginning(chain_, 150)));
  pins_.expect(kFacts, page(2), {.chain = {}, .promised = 2});
  pins_.give_up(kFacts, page(1));
  pins_.give_up(kFacts, page(2));
  pins_.give_up(kNotes, page(2));
  EXPECT_EQ(pins_.of(kFacts).size(), 1u);
  EXPECT_NE(pins_.find(kFacts, page(1)), nullptr);
  EXPECT_FALSE(pins_.ends_with(page(2)));
}

TEST_F(HeldTexts, are_on_disk_with_all_their_pages) {
  memory_.run(chain_, kSecond);
  const TextPin pin = beginning(chain_, 150);
  EXPECT_FALSE(pins_.is_on_disk(page(150), pin));
  disk_.add(page(11), page(10), kPageTokens);
  disk_.add(page(150), page(11), 22);
  EXPECT_FALSE(pins_.is_on_disk(page(150), pin)) << "the first page does not exist";
  disk_.add(page(10), key_of(memory_.index.root()), kPageTokens);
  EXPECT_TRUE(pins_.is_on_disk(page(150), pin));
}

TEST_F(HeldTexts, go_with_a_text_that_stands_before_their_end) {
  memory_.run(chain_, kSecond);
  std::vector<Digest> keys;
  const auto match = memory_.index.match(memory_.tenant, chain_);
  for (ChainIndex::Node* node : path_to(match.node)) {
    keys.push_back(key_of(node));
  }
  ASSERT_TRUE(hold(kFacts, page(1), beginning(chain_, 150)));  // ends in the third page
  ASSERT_TRUE(hold(kNotes, page(1), beginning(chain_, 100)));  // ends in the second page
  const testing::Tokens after = count_up(160, 10);
  pins_.drop_behind({keys[2]}, after);
  EXPECT_EQ(pins_.state_of(kFacts), KvState::kReady) << "it stands after the text's end";
  const testing::Tokens before = count_up(130, 10);
  pins_.drop_behind({keys[2]}, before);
  EXPECT_EQ(pins_.state_of(kFacts), KvState::kNone);
  EXPECT_EQ(pins_.state_of(kNotes), KvState::kReady);
  EXPECT_EQ(pinned(), 2u);
  pins_.drop_behind({keys[0]}, count_up(0, 10));
  EXPECT_EQ(pins_.state_of(kNotes), KvState::kNone);
  EXPECT_EQ(pinned(), 0u);
}

TEST_F(HeldTexts, want_the_pages_that_no_pin_keeps_yet) {
  ChunkUses uses(100, [](const Digest&) { return true; });
  const auto text_ends_at = [&](const testing::Tokens& chain, size_t end) {
    const auto match = memory_.index.match(memory_.tenant, chain);
    ChainIndex::Node* node = match.partial != nullptr ? match.partial : match.node;
    const int64_t position = name_of(node).position;
    const auto ends = static_cast<int32_t>(end) - static_cast<int32_t>(position) + 1;
    uses.add(kFacts, {key_of(node), position, ends});
  };
  memory_.run(first_of(chain_, 180), kSecond);
  const testing::Tokens question = join(first_of(chain_, 150), count_up(1000, 40));
  memory_.run(question, kSecond);
  text_ends_at(first_of(chain_, 180), 150);
  EXPECT_EQ(pins_.pages_wanted(kFacts, uses), 3);
  text_ends_at(question, 150);
  EXPECT_EQ(pins_.pages_wanted(kFacts, uses), 3) << "they part after the text";
  const testing::Tokens other = join(first_of(chain_, 140), count_up(2000, 40));
  memory_.run(other, kSecond);
  text_ends_at(other, 150);
  EXPECT_EQ(pins_.pages_wanted(kFacts, uses), 4) << "they part before its end";
  ASSERT_TRUE(hold(kNotes, page(1), beginning(chain_, 100)));
  EXPECT_EQ(pins_.pages_wanted(kFacts, uses), 2);
  disk_.add(page(10), key_of(memory_.index.root()), kPageTokens);
  disk_.add(page(11), page(10), 9);
  uses.add(kFacts, {page(11), kPageTokens, 10});
  EXPECT_EQ(pins_.pages_wanted(kFacts, uses), 4);
}

}  // namespace
}  // namespace cascade
