// Messages leave the scheduler at the right time, for the right receiver, once.
#include "actors/scheduler/outbox.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"

namespace cascade {
namespace {

class OutboxTest : public ::testing::Test {
 protected:
  // The types of the messages that left, in order.
  std::vector<std::string> left() {
    std::vector<std::string> names;
    for (const Outgoing& outgoing : outbox_.take()) {
      const wire::Message& message = outgoing.envelope.message;
      const std::string to = outgoing.to == Actor::kGateway
                                 ? outgoing.client.tenant + "/" + outgoing.client.name
                                 : std::to_string(static_cast<int>(outgoing.to));
      const char* what = std::holds_alternative<wire::Ack>(message)           ? "ack"
                         : std::holds_alternative<wire::ChunkReply>(message)  ? "chunk"
                         : std::holds_alternative<wire::ErrorReply>(message)  ? "error"
                         : std::holds_alternative<wire::EventNotice>(message) ? "event"
                                                                              : "job";
      names.push_back(to + " " + what);
    }
    return names;
  }
  using Left = std::vector<std::string>;

  const Client alice_ = {"alice", "1"};
  FakeClock clock_;
  Random random_{1};
  Outbox outbox_{clock_, /*events_max=*/10, [this] { return random_(); }};
};

TEST_F(OutboxTest, holds_what_is_for_an_actor_until_it_has_connected) {
  outbox_.send(Actor::kStore, wire::StoreSearch{});
  outbox_.send(Actor::kDecode, wire::DecodeJob{});
  outbox_.send(Actor::kStore, wire::StoreTouch{});
  EXPECT_EQ(left(), Left());
  EXPECT_FALSE(outbox_.connect(Actor::kStore, ""));
  outbox_.send(Actor::kStore, wire::StoreDelete{});
  const std::vector<Outgoing> to_store = outbox_.take();
  ASSERT_EQ(to_store.size(), 3u);
  EXPECT_TRUE(std::holds_alternative<wire::StoreSearch>(to_store[0].envelope.message));
  EXPECT_TRUE(std::holds_alternative<wire::StoreTouch>(to_store[1].envelope.message));
  EXPECT_TRUE(std::holds_alternative<wire::StoreDelete>(to_store[2].envelope.message));
  outbox_.connect(Actor::kDecode, "");
  EXPECT_EQ(left(), Left{"1 job"});
}

TEST_F(OutboxTest, knows_an_actor_that_was_restarted) {
  EXPECT_FALSE(outbox_.connect(Actor::kGateway, "alice"));
  EXPECT_FALSE(outbox_.connect(Actor::kGateway, "bob")) << "another door";
  EXPECT_TRUE(outbox_.connect(Actor::kGateway, "alice"));
  const std::string before = outbox_.boot_id();
  outbox_.renew_boot_id();
  EXPECT_NE(outbox_.boot_id(), before);
}

TEST_F(OutboxTest, does_not_answer_a_client_that_is_gone) {
  Request request;
  request.client = alice_;
  outbox_.reply(request, wire::Ack{});
  request.client_gone = true;
  outbox_.reply(request, wire::Ack{});
  EXPECT_EQ(left(), Left{"alice/1 ack"});
}

TEST_F(OutboxTest, answers_a_change_to_whoever_has_sent_it) {
  const wire::Message change = wire::ChunkDelete{"chunk_01234567"};
  EXPECT_FALSE(outbox_.repeats(alice_, {1}, change));
  const Client again = {"alice", "2"};
  EXPECT_TRUE(outbox_.repeats(again, {1}, change)) << "it is under way";
  EXPECT_EQ(left(), Left());
  outbox_.reply(alice_, {1}, wire::ChunkReply{});
  EXPECT_EQ(left(), (Left{"alice/2 chunk", "alice/1 chunk"}));
  EXPECT_TRUE(outbox_.repeats(again, {1}, change));
  EXPECT_EQ(left(), Left{"alice/2 chunk"}) << "from what was kept";
}

TEST_F(OutboxTest, lets_a_change_that_failed_be_tried_again) {
  const wire::Message change = wire::ChunkDelete{"chunk_01234567"};
  EXPECT_FALSE(outbox_.repeats(alice_, {1}, change));
  outbox_.reply_error(alice_, {1}, not_found("id", "there is none"));
  EXPECT_EQ(left(), Left{"alice/1 error"});
  EXPECT_FALSE(outbox_.repeats(alice_, {1}, change));
}

TEST_F(OutboxTest, keeps_events_and_sends_them_where_somebody_listens) {
  Chunk chunk;
  chunk.tenant = "alice";
  chunk.id = "chunk_01234567";
  outbox_.tell_of(chunk, EventKind::kChunkStored);
  EXPECT_EQ(left(), Left());
  outbox_.connect(Actor::kGateway, "alice");
  outbox_.tell_of(chunk, EventKind::kChunkUsed);
  EXPECT_EQ(left(), Left{"alice/ event"});
  const wire::EventsReply kept = outbox_.events("alice", {});
  ASSERT_EQ(kept.events.size(), 2u);
  EXPECT_EQ(kept.events[0].kind, EventKind::kChunkStored);
  EXPECT_EQ(kept.events[1].sequence, 2);
  EXPECT_EQ(kept.boot_id, outbox_.boot_id());
  EXPECT_TRUE(outbox_.events("bob", {}).events.empty());
}

TEST_F(OutboxTest, tells_of_a_request_by_its_id_in_hexadecimal) {
  Request request;
  request.client = alice_;
  request.id = {0xab, 1};
  request.prompt = {1, 2, 3};
  request.sampled = {4};
  outbox_.tell_of(request, EventKind::kRequestStarted);
  outbox_.tell_of(request, EventKind::kRequestFinished, "stop");
  const wire::EventsReply kept = outbox_.events("alice", {});
  ASSERT_EQ(kept.events.size(), 2u);
  EXPECT_EQ(kept.events[0].id, "ab01" + std::string(28, '0'));
  EXPECT_EQ(kept.events[0].tokens, 3) << "of the prompt";
  EXPECT_EQ(kept.events[1].tokens, 1) << "of the answer";
  EXPECT_EQ(kept.events[1].reason, "stop");
}

}  // namespace
}  // namespace cascade
