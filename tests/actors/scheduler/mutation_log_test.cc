// Changes that are asked for more than once.
#include "actors/scheduler/mutation_log.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

const Client kAlice = {"alice", "g1"};
const Client kAgain = {"alice", "g2"};
const Client kBob = {"bob", "g1"};

wire::RequestId id_of(size_t number) {
  wire::RequestId id{};
  for (size_t i = 0; i < sizeof number; ++i) id[i] = static_cast<uint8_t>(number >> (8 * i));
  return id;
}

wire::Message put(const std::string& text) {
  wire::ChunkPut message;
  message.text = text;
  return message;
}

wire::Message reply(const std::string& text) {
  wire::ChunkReply message;
  message.chunk.text = text;
  return message;
}

std::string text_of(const wire::Message* message) {
  return message == nullptr ? "none" : std::get<wire::ChunkReply>(*message).chunk.text;
}

TEST(MutationLog, gives_the_answer_of_the_first_time) {
  MutationLog log;
  EXPECT_TRUE(log.begin(kAlice, id_of(1), put("a")).is_new);
  EXPECT_EQ(log.end("alice", id_of(1), reply("done")), std::vector<Client>{kAlice});
  const MutationLog::Begin again = log.begin(kAgain, id_of(1), put("a"));
  EXPECT_FALSE(again.is_new);
  EXPECT_EQ(text_of(again.answer), "done");
}

TEST(MutationLog, tells_all_who_asked_meanwhile) {
  MutationLog log;
  EXPECT_TRUE(log.begin(kAlice, id_of(1), put("a")).is_new);
  const MutationLog::Begin meanwhile = log.begin(kAgain, id_of(1), put("a"));
  EXPECT_FALSE(meanwhile.is_new);
  EXPECT_EQ(meanwhile.answer, nullptr);
  EXPECT_EQ(log.end("alice", id_of(1), reply("done")), (std::vector<Client>{kAlice, kAgain}));
  EXPECT_TRUE(log.end("alice", id_of(1), reply("done")).empty());
}

TEST(MutationLog, keeps_tenants_and_messages_apart) {
  MutationLog log;
  EXPECT_TRUE(log.begin(kAlice, id_of(1), put("a")).is_new);
  EXPECT_TRUE(log.begin(kBob, id_of(1), put("a")).is_new);
  log.end("alice", id_of(1), reply("done"));
  EXPECT_TRUE(log.begin(kAlice, id_of(1), put("b")).is_new) << "another message";
  EXPECT_TRUE(log.begin(kAlice, id_of(2), put("a")).is_new);
}

TEST(MutationLog, keeps_no_errors) {
  MutationLog log;
  EXPECT_TRUE(log.begin(kAlice, id_of(1), put("a")).is_new);
  log.end("alice", id_of(1), wire::ErrorReply{{ErrorCode::kNotFound, "id", "no"}, 0});
  EXPECT_TRUE(log.begin(kAlice, id_of(1), put("a")).is_new);
}

TEST(MutationLog, forgets_the_oldest_beyond_its_limits) {
  MutationLog log;
  for (size_t i = 0; i <= MutationLog::kChangesMax; ++i) {
    EXPECT_TRUE(log.begin(kAlice, id_of(i), put("a")).is_new);
    log.end("alice", id_of(i), reply("done"));
  }
  EXPECT_FALSE(log.begin(kAlice, id_of(1), put("a")).is_new);
  EXPECT_TRUE(log.begin(kAlice, id_of(0), put("a")).is_new);
  const std::string large(MutationLog::kAnswerBytesMax / 2, 'x');
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_TRUE(log.begin(kBob, id_of(i), put("b")).is_new);
    log.end("bob", id_of(i), reply(large));
  }
  EXPECT_TRUE(log.begin(kBob, id_of(0), put("b")).is_new);
  EXPECT_FALSE(log.begin(kBob, id_of(2), put("b")).is_new);
}

TEST(MutationLog, remembers_some_of_those_who_wait) {
  MutationLog log;
  for (size_t i = 0; i < 2 * MutationLog::kClientsMax; ++i) {
    log.begin({"alice", "g" + std::to_string(i)}, id_of(1), put("a"));
  }
  const std::vector<Client> told = log.end("alice", id_of(1), reply("done"));
  EXPECT_EQ(told.size(), MutationLog::kClientsMax);
  EXPECT_EQ(told.back().name, "g" + std::to_string(2 * MutationLog::kClientsMax - 1));
}

}  // namespace
}  // namespace cascade
