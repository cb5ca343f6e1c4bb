// Searches on their way to the store and back.
#include "actors/scheduler/doors/search_door.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/clock.h"

namespace cascade {
namespace {

class SearchDoorTest : public ::testing::Test {
 protected:
  SearchDoorTest() {
    outbox_.connect(Actor::kStore, "");
    Chunk chunk;
    chunk.tenant = "alice";
    chunk.id = "chunk_0123456789";
    chunk.text = "a text";
    chunk.content_hash = "hash";
    chunk.holders = {{.kind = HolderKind::kRetention, .label = ""}};
    EXPECT_TRUE(registry_.add(chunk).ok());
  }

  uint64_t search(const Client& client, uint8_t id) {
    door_.on(client, {id}, wire::ChunkSearch{"text"});
    for (const Outgoing& outgoing : outbox_.take()) {
      const auto* job = std::get_if<wire::StoreSearch>(&outgoing.envelope.message);
      if (job != nullptr) return job->job;
    }
    return 0;
  }
  template <class M>
  std::vector<M> answers() {
    std::vector<M> found;
    for (const Outgoing& outgoing : outbox_.take()) {
      const auto* answer = std::get_if<M>(&outgoing.envelope.message);
      if (answer != nullptr) found.push_back(*answer);
    }
    return found;
  }

  const Client alice_ = {"alice", "1"}, bob_ = {"bob", "1"};
  FakeClock clock_;
  Outbox outbox_{clock_, 10, [] { return 1; }};
  Jobs jobs_;
  ChunkRegistry registry_;
  SearchDoor door_{jobs_, outbox_, registry_, /*searches_max=*/2};
};

TEST_F(SearchDoorTest, leaves_out_what_is_gone_meanwhile_or_somebody_elses) {
  for (const Client& client : {alice_, bob_}) {
    wire::StoreFound found;
    found.job = search(client, 1);
    found.found = {{"chunk_9876543210", "gone"}, {"chunk_0123456789", "a <b>text</b>"}};
    door_.on(std::move(found));
    const auto replies = answers<wire::ChunkSearchReply>();
    ASSERT_EQ(replies.size(), 1u);
    EXPECT_EQ(replies[0].hits.size(), client == alice_ ? 1u : 0u);
  }
}

TEST_F(SearchDoorTest, gives_each_tenant_a_part_of_the_searches_at_a_time) {
  EXPECT_NE(search(alice_, 1), 0u);
  EXPECT_NE(search(alice_, 2), 0u);
  door_.on(alice_, {3}, wire::ChunkSearch{"text"});
  const auto refused = answers<wire::ErrorReply>();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].error.message, "2 searches are under way; the limit is 2");
  EXPECT_GT(refused[0].retry_after_ms, 0);
  EXPECT_NE(search(bob_, 1), 0u);
}

TEST_F(SearchDoorTest, answers_whoever_waits_when_the_store_fails_or_is_restarted) {
  wire::StoreFound failed;
  failed.job = search(alice_, 1);
  failed.error = Error{ErrorCode::kInternal, "", "the disk failed"};
  door_.on(std::move(failed));
  EXPECT_EQ(answers<wire::ErrorReply>().size(), 1u);
  search(alice_, 2);
  jobs_.lose(Actor::kStore);
  EXPECT_EQ(answers<wire::ErrorReply>().size(), 1u);
}

}  // namespace
}  // namespace cascade
