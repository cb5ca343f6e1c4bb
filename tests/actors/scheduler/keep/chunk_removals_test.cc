// Chunks are removed from everywhere.
#include "actors/scheduler/keep/chunk_removals.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/actors/scheduler/keep/keep_test.h"

namespace cascade {
namespace {

using testing::count_up;
using testing::Tokens;
using Texts = std::vector<std::string>;

class ChunkRemovalsTest : public testing::KeepTest {
 protected:
  // A chunk of alice whose chain is in memory, held and on disk.
  ChunkEntry& stored_output(const std::string& id, size_t pages) {
    ChunkEntry& entry = held_output(id, pages);
    chains_.keep(entry);
    write_all();
    acknowledge();
    return entry;
  }
  // Removes the chunk, and answers the client when it has been removed.
  void remove(ChunkEntry& entry) {
    const StoredName name = {"alice", entry.chunk.id};
    wire::ChunkReply reply;
    reply.chunk = removals_.remove(entry, Removal::kDeleted);
    removals_.reply_when_gone(client_, wire::RequestId{}, {name}, {name}, std::move(reply));
  }
  // The store answers all its jobs. It answers the removal of pages with an error, if one is given.
  void acknowledge(const std::optional<Error>& of_pages = {}) {
    for (uint64_t job = 1, last = jobs_.next(); job < last; ++job) {
      if (stored_.on(wire::StoreAck{job, of_pages})) continue;
      metadata_.on(wire::StoreAck{job, {}});
    }
  }
  // The answers since the last call: the id of a chunk, or an error.
  Texts answers() {
    Texts texts;
    for (const Outgoing& outgoing : outbox_.take()) {
      const wire::Message& message = outgoing.envelope.message;
      if (const auto* error = std::get_if<wire::ErrorReply>(&message)) {
        texts.push_back(error->error.message);
      } else if (const auto* reply = std::get_if<wire::ChunkReply>(&message)) {
        texts.push_back(reply->chunk.id);
      }
    }
    return texts;
  }
  bool is_found(const std::string& id) { return registry_.find_own("alice", id).ok(); }

  const Client client_ = {"alice", "c", Door::kIpc};
};

TEST_F(ChunkRemovalsTest, a_chunk_is_gone_at_once_and_the_answer_comes_when_the_disk_is_clean) {
  ChunkEntry& entry = stored_output("a", 3);
  const Tokens chain = entry.chain;
  EXPECT_EQ(stored_.disk().size(), 3u);
  remove(entry);
  EXPECT_FALSE(is_found("a"));
  EXPECT_EQ(memory_.index.match(alice_, chain).tokens(), 0);
  EXPECT_EQ(stored_.disk().size(), 0u);
  EXPECT_TRUE(answers().empty());
  acknowledge();
  EXPECT_TRUE(answers().empty()) << "its row is still there";
  acknowledge();
  EXPECT_EQ(answers(), Texts{"a"});
  EXPECT_TRUE(erasures_.empty());
  EXPECT_EQ(texts_gone_.size(), 1u);
}

TEST_F(ChunkRemovalsTest, a_failure_is_answered_and_tried_again) {
  remove(stored_output("a", 2));
  acknowledge(Error{ErrorCode::kInternal, "", "the disk failed"});
  const Texts texts = answers();
  ASSERT_EQ(texts.size(), 1u);
  EXPECT_NE(texts[0].find("the daemon tries again"), std::string::npos);
  removals_.retry();
  acknowledge();
  acknowledge();
  EXPECT_TRUE(erasures_.empty());
  EXPECT_TRUE(answers().empty()) << "it was answered already";
}

TEST_F(ChunkRemovalsTest, what_is_being_written_of_it_is_removed_when_it_is_written) {
  ChunkEntry& entry = held_output("a", 2);
  chains_.keep(entry);
  writer_.write_pages([] { return 100; });
  const auto messages = take<wire::StorePages>();
  ASSERT_EQ(messages.size(), 1u);
  remove(entry);
  acknowledge();
  acknowledge();
  EXPECT_TRUE(answers().empty());
  writer_.on(wire::StorePagesDone{.job = messages[0].job, .error = {}, .removed = {}});
  EXPECT_EQ(stored_.disk().size(), 0u);
  acknowledge();
  acknowledge();
  EXPECT_EQ(answers(), Texts{"a"});
}

TEST_F(ChunkRemovalsTest, a_history_that_is_tokenized_meanwhile_is_looked_for_when_it_is_known) {
  ChunkEntry& entry = add("a", ChunkType::kOutput, count_up(0, 10));
  Reprefill history;
  history.tenant = "alice";
  history.chunk_id = "a";
  history.sampled_chain = count_up(0, 128);
  compute(history.sampled_chain, alice_);
  idle_.tokenize({}, std::move(history));
  const uint64_t job = take<wire::EncodeJob>().at(0).job;
  outbox_.take();
  remove(entry);
  EXPECT_EQ(memory_.index.match(alice_, count_up(0, 128)).tokens(), 0);
  answer_read({});
  acknowledge();
  EXPECT_FALSE(erasures_.empty());
  ASSERT_TRUE(idle_.take_tokenized(job).has_value());
  compute(count_up(500, 128), alice_);
  removals_.end_piece({"alice", "a"}, {{count_up(500, 128), 0}});
  EXPECT_EQ(memory_.index.match(alice_, count_up(500, 128)).tokens(), 0);
  acknowledge();
  EXPECT_TRUE(erasures_.empty());
}

TEST_F(ChunkRemovalsTest, a_chain_that_is_not_known_is_removed_by_its_pages_and_read) {
  ChunkEntry& entry = stored_output("a", 3);
  const Tokens chain = std::exchange(entry.chain, {});
  holds_.clear(entry);
  remove(entry);
  EXPECT_EQ(stored_.disk().size(), 0u);
  answer_read(chain, 0);
  EXPECT_EQ(memory_.index.match(alice_, chain).tokens(), 0);
}

TEST_F(ChunkRemovalsTest, leases_and_waiting_writes_of_its_question_end) {
  ChunkEntry& entry = held_output("a", 2);
  Request request;
  request.client.tenant = "alice";
  request.prompt = entry.chain;
  request.params.prompt_priority = 3;
  request.params.prompt_priority_ms = 1000;
  ASSERT_TRUE(holds_.lease(request));
  writer_.write_behind(alice_, entry.chain);
  remove(entry);
  EXPECT_TRUE(writer_.is_idle());
  EXPECT_EQ(memory_.index.held_count(), 0u);
}

TEST_F(ChunkRemovalsTest, a_session_is_removed_after_its_outputs) {
  remove(stored_output("a", 1));
  EXPECT_TRUE(erasures_.remove_after({"alice", "chat", StoredKind::kSession}, {{"alice", "a"}}));
  acknowledge();
  EXPECT_TRUE(sessions_removed_.empty());
  acknowledge();
  EXPECT_EQ(sessions_removed_, Texts{"chat"});
}

TEST_F(ChunkRemovalsTest, who_asks_for_chunks_that_are_gone_is_answered_when_changes_are_durable) {
  removals_.reply_when_gone(client_, wire::RequestId{}, {{"alice", "gone"}}, {},
                            wire::ChunkReply{});
  EXPECT_EQ(answers().size(), 1u);
  removals_.end_piece({"alice", "gone"});
  removals_.row_is_removed({"alice", "gone"}, {});
}

}  // namespace
}  // namespace cascade
