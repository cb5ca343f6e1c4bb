// Which pages have the texts of chunks.
#include "actors/scheduler/keep/text_uses.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/actors/scheduler/room_test.h"

namespace cascade {
namespace {

using testing::ChainMemory;
using testing::count_up;
using testing::Tokens;

class TextUsesTest : public testing::RoomTest {
 protected:
  TextUsesTest() {
    add("context_a", ChunkType::kContext, count_up(40, 50));
    add("context_b", ChunkType::kContext, count_up(150, 20));
  }

  void remove(const std::string& id) {
    registry_.remove(**registry_.find_own("alice", id), Removal::kDeleted);
  }
  // The uses that the store was told of, as "id position ends".
  std::vector<std::string> told() {
    std::vector<std::string> uses;
    for (const wire::StoreUses& stored : take<wire::StoreUses>()) {
      for (size_t i = 0; i < stored.uses.size(); ++i) {
        const wire::PageUse use = stored.uses.at(i);
        uses.push_back(use.chunk_id + " " + std::to_string(use.position) + " " +
                       std::to_string(use.ends));
      }
    }
    return uses;
  }
  size_t pages_with(const std::string& id) { return uses_.uses().of({"alice", id}).size(); }

  std::vector<std::pair<std::string, int32_t>> ends_;
  TextUses uses_{1000,
                 outbox_,
                 memory_.index,
                 tenants_,
                 registry_,
                 stored_,
                 [this](const ChunkEntry& entry, const ChunkUses::Use& use) {
                   ends_.emplace_back(entry.chunk.id, use.ends);
                 }};
  using Ends = std::vector<std::pair<std::string, int32_t>>;
};

TEST_F(TextUsesTest, finds_where_the_texts_stand) {
  const auto texts = uses_.find("alice", {"context_a", "context_b", "context_c"}, count_up(0, 200));
  ASSERT_EQ(texts.size(), 3u);
  EXPECT_EQ(texts[0].where.begin, 40);
  EXPECT_EQ(texts[0].where.end, 90);
  EXPECT_EQ(texts[1].where.end, 170);
  EXPECT_EQ(texts[2].where.begin, 0) << "it was deleted: its text may be anywhere";
  EXPECT_EQ(texts[2].where.end, 200);
  EXPECT_TRUE(uses_.has_gone_text(texts));
  EXPECT_FALSE(uses_.has_gone_text(std::span(texts).first(2)));
}

TEST_F(TextUsesTest, notes_each_page_and_where_the_text_ends) {
  const Tokens prompt = count_up(0, 200);
  compute(prompt, alice_);
  const auto texts = uses_.find("alice", {"context_a", "context_b"}, prompt);
  uses_.note(tenants_.id("alice"), prompt, texts);
  EXPECT_EQ(pages_with("context_a"), 2u);
  EXPECT_EQ(pages_with("context_b"), 1u);
  EXPECT_EQ(ends_, (Ends{{"context_a", 90 - 64 + 1}, {"context_b", 170 - 128 + 1}}));
  EXPECT_TRUE(told().empty()) << "no page is on disk";
}

TEST_F(TextUsesTest, tells_the_store_of_pages_that_it_has_once) {
  const Tokens prompt = count_up(0, 200);
  compute(prompt, alice_);
  const auto nodes = testing::nodes_of(memory_.index, alice_, prompt);
  stored_.add(key_of(nodes[0]), key_of(memory_.index.root()), kPageTokens);
  const auto texts = uses_.find("alice", {"context_a"}, prompt);
  uses_.note(tenants_.id("alice"), prompt, texts);
  EXPECT_EQ(told(), std::vector<std::string>{"context_a 0 0"});
  uses_.note(tenants_.id("alice"), prompt, texts);
  EXPECT_TRUE(told().empty());
}

TEST_F(TextUsesTest, a_text_after_one_that_is_gone_does_not_end_anywhere) {
  const Tokens prompt = count_up(0, 200);
  compute(prompt, alice_);
  const auto texts = uses_.find("alice", {"context_a", "context_b"}, prompt);
  remove("context_a");
  uses_.note(tenants_.id("alice"), prompt, texts);
  EXPECT_EQ(pages_with("context_a"), 0u);
  EXPECT_EQ(pages_with("context_b"), 1u);
  EXPECT_TRUE(ends_.empty()) << "what has the text goes with the other one";
}

TEST_F(TextUsesTest, a_page_that_is_written_in_part_has_only_the_ends_in_that_part) {
  const Tokens prompt = count_up(0, 200);
  compute(prompt, alice_);
  uses_.note(tenants_.id("alice"), prompt, uses_.find("alice", {"context_a"}, prompt));
  ChainIndex::Node* node = testing::nodes_of(memory_.index, alice_, prompt).at(1);
  const ChainIndex::PageName name = name_of(node);
  const Digest part = Hasher().field("page", "part").finish();
  const auto ends_of = [&](size_t tokens) {
    const auto uses =
        uses_.of({part, name.parent, name.owner, name.position, name.tokens.first(tokens), node});
    return uses.size() == 1 ? uses[0].ends : -1;
  };
  EXPECT_EQ(ends_of(10), 0);
  EXPECT_EQ(ends_of(26), 27);
  EXPECT_EQ(pages_with("context_a"), 3u) << "the part is a page of its own on disk";
}

TEST_F(TextUsesTest, takes_over_what_the_store_has_noted) {
  const Digest page = Hasher().field("page", "stored").finish();
  stored_.add(page, key_of(memory_.index.root()), kPageTokens);
  wire::StoredPages stored;
  stored.uses.add({page.hex(), 0, "alice", "context_a", 5});
  uses_.load(stored);
  ASSERT_EQ(pages_with("context_a"), 1u);
  EXPECT_EQ(uses_.take({"alice", "context_a"}).at(0).ends, 5);
  EXPECT_EQ(pages_with("context_a"), 0u);
}

}  // namespace
}  // namespace cascade
