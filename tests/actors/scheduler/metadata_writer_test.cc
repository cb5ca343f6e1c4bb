// Changes on their way to the store, and who is told when they are durable.
#include "actors/scheduler/metadata_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace cascade {
namespace {

class MetadataWriterTest : public ::testing::Test {
 protected:
  MetadataWriterTest() { outbox_.connect(Actor::kStore, ""); }

  static Chunk chunk(const std::string& id) {
    Chunk chunk;
    chunk.tenant = "alice";
    chunk.id = id;
    return chunk;
  }
  void ask(uint8_t request, std::vector<StoredName> names) {
    writer_.reply(alice_, {request}, std::move(names), wire::ChunkReply{});
  }
  void ack(uint64_t job, bool fails = false) {
    wire::StoreAck ack{job, {}};
    if (fails) ack.error = Error{ErrorCode::kInternal, "", "the disk is full"};
    EXPECT_TRUE(writer_.on(ack));
  }
  // "+1": request 1 was answered, and its change is durable; "-1": it was answered, and its change
  // is not durable.
  std::string answers() {
    std::string told;
    for (const Outgoing& outgoing : outbox_.take()) {
      const auto* reply = std::get_if<wire::ChunkReply>(&outgoing.envelope.message);
      if (reply == nullptr) continue;
      told += (reply->durable ? "+" : "-") + std::to_string(outgoing.envelope.request[0]);
    }
    return told;
  }
  void pass_time() { clock_.advance_us(2'000'000); }

  const Client alice_ = {"alice", "1"};
  const StoredName a_ = {"alice", "chunk_a"}, b_ = {"alice", "chunk_b"};
  FakeClock clock_;
  Outbox outbox_{clock_, 10, [] { return 1; }};
  Jobs jobs_;
  std::vector<StoredName> again_;
  std::vector<std::pair<StoredName, bool>> removed_;  // each with whether its removal failed
  MetadataWriter writer_{clock_,
                         jobs_,
                         outbox_,
                         "model",
                         [this](const StoredName& name) {
                           again_.push_back(name);
                           writer_.put(chunk(name.id));
                         },
                         [this](const StoredName& name, const std::optional<Error>& error) {
                           removed_.emplace_back(name, error.has_value());
                         }};
};

TEST_F(MetadataWriterTest, answers_at_once_if_nothing_is_under_way) {
  ask(1, {a_});
  EXPECT_EQ(answers(), "+1");
}

TEST_F(MetadataWriterTest, answers_when_all_changes_before_are_durable) {
  writer_.put(chunk("chunk_a"));
  ask(1, {a_});
  writer_.use(chunk("chunk_b"));
  ask(2, {b_});
  EXPECT_EQ(answers(), "");
  ack(1);
  EXPECT_EQ(answers(), "+1");
  ack(2);
  EXPECT_EQ(answers(), "+2");
}

TEST_F(MetadataWriterTest, says_which_changes_the_store_could_not_keep) {
  writer_.put(chunk("chunk_a"));
  writer_.put(chunk("chunk_b"));
  ask(1, {a_});
  ask(2, {b_});
  ack(1, /*fails=*/true);
  ack(2);
  EXPECT_EQ(answers(), "-1+2");
  EXPECT_EQ(writer_.unsaved(), 1u);
  ASSERT_TRUE(writer_.error().has_value());
  EXPECT_EQ(writer_.error()->message, "the disk is full");
}

TEST_F(MetadataWriterTest, sends_again_what_is_not_durable) {
  pass_time();
  writer_.put(chunk("chunk_a"));
  ack(1, /*fails=*/true);
  EXPECT_FALSE(writer_.may_retry()) << "not at once";
  pass_time();
  EXPECT_TRUE(writer_.may_retry());
  writer_.retry();
  EXPECT_EQ(again_, std::vector<StoredName>{a_});
  writer_.retry();
  EXPECT_EQ(again_.size(), 1u) << "it is under way";
  ack(2);
  EXPECT_EQ(writer_.unsaved(), 0u);
  EXPECT_FALSE(writer_.error().has_value());
}

TEST_F(MetadataWriterTest, does_not_take_a_use_for_the_whole_chunk) {
  writer_.put(chunk("chunk_a"));
  ack(1, /*fails=*/true);
  writer_.use(chunk("chunk_a"));
  ack(2);
  EXPECT_EQ(writer_.unsaved(), 1u) << "its other changes are not there";
}

TEST_F(MetadataWriterTest, tells_of_rows_that_are_removed) {
  writer_.remove_chunk(a_);
  writer_.remove_session({"alice", "trip", StoredKind::kSession});
  writer_.remove_chunk(b_);
  ack(1);
  ack(2);
  ack(3, /*fails=*/true);
  ASSERT_EQ(removed_.size(), 2u) << "a session is no chunk";
  EXPECT_EQ(removed_[0], std::pair(a_, false));
  EXPECT_EQ(removed_[1], std::pair(b_, true));
}

TEST_F(MetadataWriterTest, leaves_other_answers_of_the_store_alone) {
  EXPECT_FALSE(writer_.on({7, Error{ErrorCode::kInternal, "", "a page"}}));
  EXPECT_FALSE(writer_.error().has_value());
}

TEST_F(MetadataWriterTest, sends_everything_again_when_the_store_is_restarted) {
  writer_.put(chunk("chunk_a"));
  ask(1, {a_});
  EXPECT_TRUE(jobs_.delay_stop());
  jobs_.lose(Actor::kStore);
  EXPECT_EQ(again_, std::vector<StoredName>{a_});
  EXPECT_EQ(answers(), "") << "it is under way once more";
  EXPECT_FALSE(writer_.on({1, {}})) << "of an earlier life of the store";
  ack(2);
  EXPECT_EQ(answers(), "+1");
  EXPECT_FALSE(jobs_.delay_stop());
}

TEST_F(MetadataWriterTest, stores_chains_under_the_model_that_they_are_of) {
  const std::vector<int32_t> chain = {1, 2, 3};
  writer_.put_chain(a_, chain, 2, /*pending=*/true, {});
  writer_.put_policy({"alice", "ttl_ms.output", StoredKind::kPolicy}, "5");
  const std::vector<Outgoing> left = outbox_.take();
  ASSERT_EQ(left.size(), 2u);
  const auto& stored = std::get<wire::StoreChain>(left[0].envelope.message);
  EXPECT_EQ(stored.model, "model");
  EXPECT_EQ(stored.token_ids, chain);
  EXPECT_EQ(stored.begin, 2);
  EXPECT_EQ(std::get<wire::StorePolicy>(left[1].envelope.message).value, "5");
}

}  // namespace
}  // namespace cascade
