// The chains of chunks are computed when nobody waits.
#include "actors/scheduler/keep/chunk_reprefills.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/actors/scheduler/keep/keep_test.h"

namespace cascade {
namespace {

using testing::count_up;
using testing::Tokens;
using Names = std::vector<std::string>;

class ChunkReprefillsTest : public testing::KeepTest {
 protected:
  // An output of alice that was sampled as `tokens`, which are in memory. The first `prompt` of
  // them are its prompt.
  Reprefill sampled(const ChunkEntry& entry, const Tokens& tokens, size_t prompt) {
    compute(tokens, alice_);
    Reprefill next;
    next.tenant = entry.chunk.tenant;
    next.chunk_id = entry.chunk.id;
    next.sampled_chain = tokens;
    next.prompt_tokens = prompt;
    return next;
  }
  static wire::EncodeDone history(Tokens tokens) {
    wire::EncodeDone done;
    done.token_ids = std::move(tokens);
    return done;
  }
  int64_t tokens_in_memory(const Tokens& chain) {
    return memory_.index.match(alice_, chain).tokens();
  }
  // The first `same` of `tokens`, then other tokens up to `size`.
  static Tokens branch(const Tokens& tokens, size_t same, size_t size) {
    Tokens other(tokens.begin(), tokens.begin() + static_cast<ptrdiff_t>(same));
    while (other.size() < size) other.push_back(static_cast<int32_t>(50'000 + other.size()));
    return other;
  }
  void fill_queue() {
    while (!idle_.is_full()) idle_.push({});
  }

  ChunkReprefills& reprefills_ = keep_.reprefills;
};

TEST_F(ChunkReprefillsTest, a_chain_is_computed_and_then_held) {
  ChunkEntry& entry = output("a", 3);
  reprefills_.recompute(entry);
  EXPECT_EQ(queued(), Names{"a"});
  EXPECT_EQ(entry.chunk.kv_state, KvState::kPending);
  compute_idle();
  EXPECT_TRUE(queued().empty());
  EXPECT_EQ(entry.chunk.kv_state, KvState::kReady);
  EXPECT_TRUE(holds_.is_held(entry));
}

TEST_F(ChunkReprefillsTest, a_chain_that_is_held_is_not_computed_again) {
  ChunkEntry& entry = held_output("a", 3);
  entry.chunk.kv_state = KvState::kPending;
  reprefills_.recompute(entry);
  EXPECT_TRUE(queued().empty());
  EXPECT_EQ(entry.chunk.kv_state, KvState::kReady);
}

TEST_F(ChunkReprefillsTest, only_a_pinned_chunk_waits_when_too_many_do) {
  fill_queue();
  ChunkEntry& entry = output("a", 3);
  reprefills_.recompute(entry);
  EXPECT_EQ(entry.chunk.kv_state, KvState::kNone);
  ChunkEntry& pinned = output("b", 3);
  pinned.chunk.pinned = true;
  reprefills_.recompute(pinned);
  EXPECT_EQ(pinned.chunk.kv_state, KvState::kPending);
  EXPECT_EQ(budget_.pages_promised(), 3);
  EXPECT_EQ(queued().back(), "b");
}

TEST_F(ChunkReprefillsTest, an_output_is_kept_as_its_history_has_it) {
  ChunkEntry& entry = add("a", ChunkType::kOutput);
  const Tokens tokens = count_up(0, 4 * kPageTokens);
  const Tokens chain = branch(tokens, 3 * kPageTokens, 5 * kPageTokens);
  reprefills_.tokenized(sampled(entry, tokens, kPageTokens), history(chain));
  EXPECT_EQ(entry.chain, chain);
  EXPECT_EQ(entry.own_begin, kPageTokens);
  EXPECT_EQ(tokens_in_memory(tokens), std::ssize(tokens)) << "it may be needed until then";
  compute_idle();
  EXPECT_EQ(tokens_in_memory(chain), std::ssize(chain));
  EXPECT_EQ(tokens_in_memory(tokens), 3 * kPageTokens) << "no later turn reaches the rest";
}

TEST_F(ChunkReprefillsTest, a_history_with_another_prompt_belongs_to_the_chunk_from_there_on) {
  ChunkEntry& entry = add("a", ChunkType::kOutput);
  const Tokens tokens = count_up(0, 4 * kPageTokens);
  reprefills_.tokenized(sampled(entry, tokens, 2 * kPageTokens),
                        history(branch(tokens, kPageTokens, 4 * kPageTokens)));
  EXPECT_EQ(entry.own_begin, kPageTokens);
}

TEST_F(ChunkReprefillsTest, thoughts_that_are_dropped_leave_the_memory_at_once) {
  ChunkEntry& entry = add("a", ChunkType::kOutput);
  entry.chunk.think_policy = ThinkPolicy::kDrop;
  const Tokens tokens = count_up(0, 4 * kPageTokens);
  reprefills_.tokenized(sampled(entry, tokens, kPageTokens),
                        history(branch(tokens, kPageTokens, 2 * kPageTokens)));
  EXPECT_EQ(tokens_in_memory(tokens), kPageTokens);
  EXPECT_TRUE(queued().empty());
}

TEST_F(ChunkReprefillsTest, a_conversation_that_cannot_be_tokenized_leaves_no_kv) {
  ChunkEntry& entry = add("a", ChunkType::kOutput);
  entry.chunk.kv_state = KvState::kPending;
  entry.chunk.pinned = true;
  budget_.promise(entry, 4);
  wire::EncodeDone failed;
  failed.error = Error{ErrorCode::kInvalidArgument, "messages", "the template refuses it"};
  reprefills_.tokenized(sampled(entry, count_up(0, kPageTokens), 10), std::move(failed));
  EXPECT_EQ(entry.chunk.kv_state, KvState::kNone);
  EXPECT_EQ(budget_.pages_promised(), 0);
  EXPECT_TRUE(queued().empty());
}

TEST_F(ChunkReprefillsTest, texts_that_a_restart_lost_leave_no_kv) {
  ChunkEntry& entry = add("a", ChunkType::kOutput);
  entry.chunk.kv_state = KvState::kPending;
  idle_.tokenize({}, sampled(entry, count_up(0, kPageTokens), 10));
  jobs_.lose(Actor::kPrefill);
  EXPECT_EQ(entry.chunk.kv_state, KvState::kNone);
}

TEST_F(ChunkReprefillsTest, a_removal_waits_for_a_text_and_forgets_its_chain) {
  ChunkEntry& entry = add("a", ChunkType::kOutput);
  const Tokens tokens = count_up(0, 2 * kPageTokens);
  idle_.tokenize({}, sampled(entry, tokens, 10));
  const uint64_t job = take<wire::EncodeJob>().at(0).job;
  removals_.remove(entry, Removal::kDeleted);
  answer_read({});
  EXPECT_TRUE(take<wire::StoreDelete>().empty());
  const Tokens found = count_up(30'000, 2 * kPageTokens);
  compute(found, alice_);
  Reprefill next = *idle_.take_tokenized(job);
  next.prompt_tokens = 0;
  reprefills_.tokenized(std::move(next), history(found));
  EXPECT_EQ(take<wire::StoreDelete>().size(), 1u);
  EXPECT_EQ(tokens_in_memory(found), 0);
}

TEST_F(ChunkReprefillsTest, a_removal_waits_for_a_chain_that_is_computed) {
  ChunkEntry& entry = output("a", 2);
  const Tokens chain = entry.chain;
  entry.own_begin = 0;
  reprefills_.recompute(entry);
  ASSERT_TRUE(idle_.start());
  const wire::PrefillJob slice = idle_.slice(std::ssize(chain));
  outbox_.take();
  removals_.remove(entry, Removal::kDeleted);
  EXPECT_TRUE(take<wire::StoreDelete>().empty());
  idle_.ended(slice.token_ids, SliceEnd::kComputed);
  EXPECT_EQ(take<wire::StoreDelete>().size(), 1u);
  EXPECT_EQ(tokens_in_memory(chain), 0);
}

TEST_F(ChunkReprefillsTest, a_removal_ends_when_a_restart_lost_the_text) {
  ChunkEntry& entry = add("a", ChunkType::kOutput);
  idle_.tokenize({}, sampled(entry, count_up(0, kPageTokens), 10));
  removals_.remove(entry, Removal::kDeleted);
  answer_read({});
  jobs_.lose(Actor::kPrefill);
  EXPECT_EQ(take<wire::StoreDelete>().size(), 1u);
}

TEST_F(ChunkReprefillsTest, the_store_knows_what_is_pending_and_what_was_given_up) {
  ChunkEntry& entry = output("a", 2);
  reprefills_.recompute(entry);
  auto stored = take<wire::StoreChain>();
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_TRUE(stored[0].pending);
  EXPECT_EQ(stored[0].token_ids, entry.chain);
  ASSERT_TRUE(idle_.start());
  idle_.slice(std::ssize(entry.chain));
  idle_.ended({}, SliceEnd::kFailed);
  stored = take<wire::StoreChain>();
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_FALSE(stored[0].pending);
}

TEST_F(ChunkReprefillsTest, what_fails_is_given_up_unless_it_is_pinned) {
  for (const bool pinned : {false, true}) {
    ChunkEntry& entry = output(pinned ? "pinned" : "not pinned", 2);
    entry.chunk.pinned = pinned;
    reprefills_.recompute(entry);
    ASSERT_TRUE(idle_.start());
    idle_.slice(std::ssize(entry.chain));
    idle_.ended({}, SliceEnd::kFailed);
    EXPECT_EQ(entry.chunk.kv_state, pinned ? KvState::kPending : KvState::kNone);
    EXPECT_TRUE(queued().empty());
  }
}

}  // namespace
}  // namespace cascade
