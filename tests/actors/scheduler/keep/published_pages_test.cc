// Every tenant finds the pages of published chunks.
#include "actors/scheduler/keep/published_pages.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/actors/scheduler/keep/keep_test.h"

namespace cascade {
namespace {

using testing::Tokens;
using Queued = std::vector<std::string>;

class PublishedPagesTest : public testing::KeepTest {
 protected:
  // The number of tokens of the chain that a tenant finds without having computed any of it.
  int64_t found_by_bob(const Tokens& chain) {
    return memory_.index.match(tenants_.id("bob"), chain).tokens();
  }

  PublishedPages& published_ = keep_.published;
};

TEST_F(PublishedPagesTest, a_published_chain_is_computed_for_every_tenant) {
  ChunkEntry& entry = held_output("a", 3);
  EXPECT_EQ(found_by_bob(entry.chain), 0);
  published_.set_published(entry, true);
  EXPECT_EQ(queued(), Queued{"a"});
  compute_idle();
  EXPECT_EQ(found_by_bob(entry.chain), 3 * kPageTokens);
  EXPECT_EQ(write_all(), 3u);
}

TEST_F(PublishedPagesTest, what_is_there_is_not_computed_again) {
  ChunkEntry& entry = held_output("a", 3);
  published_.set_published(entry, true);
  compute_idle();
  published_.set_published(entry, true);
  EXPECT_TRUE(queued().empty());
}

TEST_F(PublishedPagesTest, pages_of_a_withdrawn_chunk_are_forgotten) {
  ChunkEntry& entry = held_output("a", 3);
  published_.set_published(entry, true);
  compute_idle();
  published_.set_published(entry, false);
  EXPECT_EQ(found_by_bob(entry.chain), 0);
  EXPECT_TRUE(holds_.is_held(entry)) << "the owner's own pages stay";
}

TEST_F(PublishedPagesTest, a_chunk_that_is_withdrawn_while_it_is_computed_leaves_no_pages) {
  ChunkEntry& entry = held_output("a", 3);
  published_.set_published(entry, true);
  ASSERT_TRUE(idle_.start());
  const wire::PrefillJob slice = idle_.slice(3 * kPageTokens);
  published_.set_published(entry, false);
  idle_.ended(slice.token_ids, SliceEnd::kComputed);
  EXPECT_EQ(found_by_bob(entry.chain), 0);
}

TEST_F(PublishedPagesTest, pages_that_could_not_be_computed_are_not_found) {
  ChunkEntry& entry = held_output("a", 3);
  published_.set_published(entry, true);
  ASSERT_TRUE(idle_.start());
  idle_.slice(3 * kPageTokens);
  idle_.ended({}, SliceEnd::kFailed);
  EXPECT_EQ(found_by_bob(entry.chain), 0);
  published_.compute(entry);
  compute_idle();
  EXPECT_EQ(found_by_bob(entry.chain), 3 * kPageTokens);
}

TEST_F(PublishedPagesTest, a_removal_waits_for_public_pages_that_are_computed) {
  ChunkEntry& entry = held_output("a", 3);
  const Tokens chain = entry.chain;
  published_.set_published(entry, true);
  ASSERT_TRUE(idle_.start());
  const wire::PrefillJob slice = idle_.slice(3 * kPageTokens);
  outbox_.take();
  removals_.remove(entry, Removal::kDeleted);
  EXPECT_TRUE(take<wire::StoreDelete>().empty());
  idle_.ended(slice.token_ids, SliceEnd::kComputed);
  EXPECT_EQ(take<wire::StoreDelete>().size(), 1u);
  EXPECT_EQ(found_by_bob(chain), 0);
}

TEST_F(PublishedPagesTest, a_chunk_whose_own_chain_is_pending_waits_for_that) {
  ChunkEntry& entry = output("a", 3);
  keep_.reprefills.recompute(entry);
  published_.set_published(entry, true);
  EXPECT_EQ(queued(), Queued{"a"});
  compute_idle();
  EXPECT_EQ(found_by_bob(entry.chain), 0);
  EXPECT_EQ(queued(), Queued{"a"}) << "now for every tenant";
  compute_idle();
  EXPECT_EQ(found_by_bob(entry.chain), 3 * kPageTokens);
}

TEST_F(PublishedPagesTest, a_system_prompt_is_tokenized_first_and_a_context_never) {
  ChunkEntry& system = add("system", ChunkType::kSystemPrompt);
  ChunkEntry& context = add("context", ChunkType::kContext);
  published_.set_published(system, true);
  EXPECT_EQ(system.chunk.kv_state, KvState::kPending);
  EXPECT_EQ(take<wire::EncodeJob>().size(), 1u);
  published_.set_published(context, true);
  EXPECT_TRUE(take<wire::EncodeJob>().empty());
  EXPECT_TRUE(context.chunk.published);
}

TEST_F(PublishedPagesTest, nothing_is_computed_while_too_much_waits) {
  ChunkEntry& entry = held_output("a", 3);
  while (!idle_.is_full()) idle_.push({});
  published_.set_published(entry, true);
  EXPECT_EQ(queued().back(), "");
}

}  // namespace
}  // namespace cascade
