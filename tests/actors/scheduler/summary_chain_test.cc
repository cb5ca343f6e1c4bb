// Summaries are found by what they summarise, and shortened level by level.
#include "actors/scheduler/summary_chain.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace cascade {
namespace {

ChatMessage message(const std::string& role, const std::string& content) {
  return {.role = role, .content = content, .reasoning = {}};
}

// A conversation of so many questions and answers.
std::vector<ChatMessage> turns(int count) {
  std::vector<ChatMessage> messages;
  for (int i = 0; i < count; ++i) {
    messages.push_back(message("user", "question " + std::to_string(i)));
    messages.push_back(message("assistant", "answer " + std::to_string(i)));
  }
  return messages;
}

class SummaryChain : public ::testing::Test {
 protected:
  // Adds a summary of so many tokens.
  void add(const std::string& id, const std::string& content_hash, size_t tokens = 10,
           const std::vector<std::string>& parents = {}) {
    Chunk chunk;
    chunk.id = id;
    chunk.type = ChunkType::kSummary;
    chunk.tenant = "alice";
    chunk.content_hash = content_hash;
    chunk.text = "summary " + id;
    chunk.token_ids.resize(tokens);
    chunk.parent_ids = parents;
    ASSERT_TRUE(registry_.add(chunk).ok());
  }
  // Adds a summary of the turns [begin, end) of turns().
  void add_of(const std::string& id, int begin, int end) {
    const std::vector<ChatMessage> messages = turns(end);
    const std::vector<size_t> begins = turn_begins(messages);
    add(id, hash_of_turns(messages, std::span(begins).subspan(static_cast<size_t>(begin))));
  }
  // The summaries of a conversation of so many turns: "id:end" for each.
  std::string found(int count, size_t turns_max, const std::string& tenant = "alice") {
    const std::vector<ChatMessage> messages = turns(count);
    std::string text;
    for (const FoundSummary& summary :
         find_summaries(tenant, messages, turn_begins(messages), turns_max, registry_)) {
      text += summary.chunk_id + ":" + std::to_string(summary.turns_end) + " ";
    }
    return text;
  }

  ChunkRegistry registry_;
};

TEST_F(SummaryChain, turns_begin_with_questions) {
  std::vector<ChatMessage> messages = turns(2);
  EXPECT_EQ(turn_begins(messages), (std::vector<size_t>{0, 2, 4}));
  messages.insert(messages.begin(), message("system", "Be brief."));
  messages.push_back(message("user", "question"));
  messages.push_back(message("user", "more of it"));
  messages.push_back(message("assistant", "a call"));
  messages.push_back(message("tool", "a result"));
  messages.push_back(message("assistant", "answer"));
  EXPECT_EQ(turn_begins(messages), (std::vector<size_t>{1, 3, 5, 10}));
  EXPECT_EQ(turn_begins({}), (std::vector<size_t>{0}));
}

TEST_F(SummaryChain, summaries_are_found_one_after_the_other) {
  add_of("a", 0, 2);
  add_of("b", 2, 5);
  add_of("d", 6, 8);  // nothing summarises turn 5
  EXPECT_EQ(found(10, 9), "a:2 b:5 ");
  EXPECT_EQ(found(10, 4), "a:2 ") << "the second summarises more than may be left out";
  EXPECT_EQ(found(10, 1), "");
  EXPECT_EQ(found(10, 9, "bob"), "") << "it is another tenant's";
}

TEST_F(SummaryChain, a_conversation_that_differs_finds_none) {
  add_of("a", 0, 2);
  const std::vector<ChatMessage> messages = turns(4);
  const std::vector<size_t> begins = turn_begins(messages);
  for (size_t i = 0; i < 4; ++i) {
    std::vector<ChatMessage> other = messages;
    other[i].content += "!";
    EXPECT_TRUE(find_summaries("alice", other, begins, 3, registry_).empty()) << i;
    other = messages;
    other[i].tool_calls = "[]";
    EXPECT_TRUE(find_summaries("alice", other, begins, 3, registry_).empty()) << i;
    other = messages;
    other[i].reasoning = "I think.";
    EXPECT_EQ(find_summaries("alice", other, begins, 3, registry_).size(), 1u) << i;
  }
}

TEST_F(SummaryChain, a_context_with_the_same_hash_is_no_summary) {
  const std::vector<ChatMessage> messages = turns(3);
  Chunk chunk;
  chunk.id = "context";
  chunk.tenant = "alice";
  chunk.content_hash = hash_of_turns(messages, turn_begins(messages));
  ASSERT_TRUE(registry_.add(chunk).ok());
  EXPECT_EQ(found(3, 3), "");
}

TEST_F(SummaryChain, the_oldest_neighbours_of_the_newest_level_with_a_quarter_are_merged) {
  add("old", "1", 10);
  add("m1", "2", 10, {"old"});
  add("m2", "3", 10, {"old", "output_x"});
  add("s1", "4", 8);
  add("s2", "5", 8, {"output_y"});
  const auto range = [&](const std::vector<std::string>& ids, int64_t tokens_max = 32) {
    const SummaryRange merged = range_to_merge("alice", ids, tokens_max, registry_);
    return std::to_string(merged.begin) + "-" + std::to_string(merged.end);
  };
  EXPECT_EQ(range({"m1", "m2", "s1", "s2"}), "2-4");
  EXPECT_EQ(range({"m1", "m2", "s1", "s2"}, 70), "0-2") << "the newest have too few";
  EXPECT_EQ(range({"m1", "m2", "s1", "s2", "s1", "s2", "s1"}), "2-4")
      << "later ones change nothing";
  EXPECT_EQ(range({"s1", "s2", "s1", "s2"}, 96), "0-3");
  EXPECT_EQ(range({"m1", "s1", "s2"}), "1-3");
  EXPECT_EQ(range({"m1", "s1", "s2"}, 100), "1-3") << "no level has half of that";
  EXPECT_EQ(range({"m1", "s1"}), "0-2") << "no two are of one level";
  EXPECT_EQ(range({"m1"}), "0-0");
  EXPECT_EQ(range({}), "0-0");
}

TEST_F(SummaryChain, summaries_of_summaries_take_their_places_once_they_are_needed) {
  add("a", "1", 10);
  add("b", "2", 10);
  add("c", "3", 10);
  const std::vector<std::string> all = {"a", "b", "c"};
  EXPECT_EQ(merged_summaries("alice", all, 29, registry_), all) << "there is none yet";
  const std::vector<std::string> two = {"a", "b"};
  add("ab", hash_of_summaries(two), 4, two);
  const std::vector<std::string> merged = {"ab", "c"};
  EXPECT_EQ(merged_summaries("alice", all, 29, registry_), merged);
  EXPECT_EQ(merged_summaries("alice", all, 30, registry_), all) << "they fit as they are";
  EXPECT_EQ(merged_summaries("alice", all, 30, registry_, 1), merged);
  EXPECT_EQ(summary_tokens("alice", all, registry_), 30);
  EXPECT_EQ(summary_tokens("alice", std::vector<std::string>{"ab", "gone"}, registry_), 4);
  EXPECT_EQ(summary_tokens("bob", all, registry_), 0);
}

}  // namespace
}  // namespace cascade
