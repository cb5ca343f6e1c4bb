// Clients that wait until a pin is on disk.
#include "actors/scheduler/keep/pin_replies.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/actors/scheduler/keep/keep_test.h"

namespace cascade {
namespace {

class PinRepliesTest : public testing::KeepTest {
 protected:
  // A client pins the chunk.
  void pin(ChunkEntry& entry, uint8_t number = 1) {
    PinReply change = {name_of(entry), client_, request(number), {}, {}};
    change.before = {entry.chunk.holders, entry.chunk.registrations, entry.chunk.published};
    set_pinned(entry, true);
    replies_.reply(entry, std::move(change), /*pins=*/true);
  }
  static StoredName name_of(const ChunkEntry& entry) {
    return {entry.chunk.tenant, entry.chunk.id};
  }
  static wire::RequestId request(uint8_t number) {
    wire::RequestId id{};
    id[0] = number;
    return id;
  }
  // The answers since the last call: "pinned", "not pinned", or the field and the message of the
  // error.
  std::vector<std::string> answers() {
    std::vector<std::string> texts;
    for (const Outgoing& outgoing : outbox_.take()) {
      const wire::Message& message = outgoing.envelope.message;
      if (const auto* error = std::get_if<wire::ErrorReply>(&message)) {
        texts.push_back(error->error.field + ": " + error->error.message);
      } else if (const auto* reply = std::get_if<wire::ChunkReply>(&message)) {
        texts.push_back(reply->chunk.pinned ? "pinned" : "not pinned");
      } else {
        kept_.push_back(outgoing);
      }
    }
    return texts;
  }
  // Writes all pages, after which the clients may be answered. The store has kept every change.
  void write() {
    for (const Outgoing& outgoing : std::exchange(kept_, {})) {
      outbox_.send(outgoing.to, outgoing.envelope.message);
    }
    write_all();
    for (uint64_t job = 1, last = jobs_.next(); job < last; ++job) {
      metadata_.on(wire::StoreAck{job, {}});
    }
    replies_.answer();
  }

  const Client client_ = {"alice", "c", Door::kIpc};
  std::vector<Outgoing> kept_;
};

TEST_F(PinRepliesTest, a_pin_is_answered_when_its_pages_are_on_disk) {
  ChunkEntry& entry = held_output("a", 2);
  pin(entry);
  EXPECT_TRUE(replies_.is_awaited(name_of(entry)));
  EXPECT_TRUE(answers().empty());
  write();
  EXPECT_EQ(answers(), std::vector<std::string>{"pinned"});
  EXPECT_FALSE(replies_.is_awaited(name_of(entry)));
  pin(entry, 2);
  EXPECT_EQ(answers(), std::vector<std::string>{"pinned"}) << "it promises nothing that is new";
}

TEST_F(PinRepliesTest, a_second_pin_waits_with_the_first) {
  ChunkEntry& entry = held_output("a", 2);
  pin(entry);
  pin(entry, 2);
  EXPECT_TRUE(answers().empty());
  write();
  EXPECT_EQ(answers().size(), 2u);
}

TEST_F(PinRepliesTest, what_is_not_in_memory_is_not_waited_for) {
  pin(output("a", 2));
  EXPECT_TRUE(answers().empty()) << "the change itself is not durable yet";
  write();
  EXPECT_EQ(answers(), std::vector<std::string>{"pinned"});
}

TEST_F(PinRepliesTest, a_chunk_that_is_unpinned_meanwhile_is_a_conflict) {
  ChunkEntry& entry = held_output("a", 2);
  pin(entry);
  set_pinned(entry, false);
  replies_.answer();
  const auto texts = answers();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_EQ(texts[0].substr(0, 7), "pinned:");
}

TEST_F(PinRepliesTest, a_chunk_that_is_removed_meanwhile_is_not_found) {
  ChunkEntry& entry = held_output("a", 2);
  pin(entry);
  holds_.clear(entry);
  registry_.remove(entry, Removal::kDeleted);
  replies_.answer();
  EXPECT_EQ(answers().size(), 1u);
}

TEST_F(PinRepliesTest, a_refused_pin_leaves_the_chunk_as_it_was) {
  ChunkEntry& entry = held_output("a", 2);
  ChunkEntry& other = held_output("b", 2);
  pin(entry);
  pin(other, 2);
  replies_.refuse({ErrorCode::kResourceExhausted, "max_disk", "no room"}, name_of(entry));
  EXPECT_FALSE(entry.chunk.pinned);
  EXPECT_FALSE(is_pinned(entry));
  const auto texts = answers();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_NE(texts[0].find("no room"), std::string::npos);
  EXPECT_TRUE(other.chunk.pinned) << "for another there may be room";
  EXPECT_TRUE(replies_.is_awaited(name_of(other)));
}

TEST_F(PinRepliesTest, refused_pins_of_one_chunk_are_undone_the_latest_first) {
  ChunkEntry& entry = held_output("a", 2);
  pin(entry);
  pin(entry, 2);
  replies_.refuse({ErrorCode::kInternal, "", "the disk failed"});
  EXPECT_FALSE(entry.chunk.pinned);
  EXPECT_EQ(answers().size(), 2u);
}

TEST_F(PinRepliesTest, what_only_the_refused_pin_had_kept_is_removed) {
  ChunkEntry& entry = held_output("a", 2);
  pin(entry);
  entry.chunk.holders.at(0).expires_us = 1;
  clock_.advance_us(10);
  replies_.refuse({ErrorCode::kInternal, "", "the disk failed"});
  EXPECT_FALSE(registry_.find_own("alice", "a").ok());
  const auto texts = answers();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_NE(texts[0].find("the chunk was deleted"), std::string::npos);
}

TEST_F(PinRepliesTest, publishing_that_came_with_a_refused_pin_is_undone) {
  ChunkEntry& entry = held_output("a", 2);
  PinReply change = {name_of(entry), client_, request(1), {}, {}};
  change.before = {entry.chunk.holders, entry.chunk.registrations, /*published=*/false};
  set_pinned(entry, true);
  registry_.publish(entry, true);
  replies_.reply(entry, std::move(change), /*pins=*/true);
  replies_.refuse({ErrorCode::kInternal, "", "the disk failed"});
  EXPECT_FALSE(entry.chunk.published);
}

TEST_F(PinRepliesTest, a_stop_refuses_who_waits_and_who_comes) {
  pin(held_output("a", 2));
  replies_.stop();
  EXPECT_EQ(answers().size(), 1u);
  ChunkEntry& later = held_output("b", 2);
  pin(later, 2);
  const auto texts = answers();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_NE(texts[0].find("is stopping"), std::string::npos);
  EXPECT_FALSE(later.chunk.pinned);
}

}  // namespace
}  // namespace cascade
