// Texts of chunks in pages.
#include "actors/scheduler/text_uses.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "tests/cache/chain_memory.h"

namespace cascade {
namespace {

using testing::ChainMemory;
using testing::count_up;
using testing::Tokens;

class TextUsesTest : public ::testing::Test {
 protected:
  TextUsesTest() {
    outbox_.connect(Actor::kStore, "");
    add("context_a", count_up(40, 50));
    add("context_b", count_up(150, 20));
  }

  void add(const std::string& id, Tokens text) {
    Chunk chunk;
    chunk.id = id;
    chunk.tenant = "alice";
    chunk.type = ChunkType::kContext;
    chunk.token_ids = std::move(text);
    chunk.content_hash = Hasher().field("id", chunk.id).finish().hex();
    chunk.holders.push_back({.kind = HolderKind::kRetention, .label = ""});
    ASSERT_TRUE(registry_.add(chunk).ok());
  }
  void remove(const std::string& id) {
    registry_.remove(**registry_.find_own("alice", id), Removal::kDeleted);
  }
  // Computes the chain for alice; returns the keys of its pages.
  std::vector<Digest> compute(const Tokens& tokens) {
    const auto sequence = memory_.sequence_of(alice_);
    EXPECT_TRUE(memory_.compute(*sequence, tokens, 0));
    sequence->finish(0);
    std::vector<Digest> keys;
    const ChainIndex::Match match = memory_.index.match(alice_, tokens);
    for (ChainIndex::Node* node : ChainIndex::path_to(match.node)) {
      keys.push_back(ChainIndex::key_of(node));
    }
    if (match.partial != nullptr) keys.push_back(ChainIndex::key_of(match.partial));
    return keys;
  }
  // What the store was told, as "id position ends".
  std::vector<std::string> told() {
    std::vector<std::string> uses;
    for (const Outgoing& outgoing : outbox_.take()) {
      const auto* stored = std::get_if<wire::StoreUses>(&outgoing.envelope.message);
      for (size_t i = 0; stored != nullptr && i < stored->uses.size(); ++i) {
        const wire::PageUse use = stored->uses.at(i);
        uses.push_back(use.chunk_id + " " + std::to_string(use.position) + " " +
                       std::to_string(use.ends));
      }
    }
    return uses;
  }
  size_t pages_with(const std::string& id) { return uses_.uses().of({"alice", id}).size(); }

  ChainMemory memory_{20};
  FakeClock clock_;
  Jobs jobs_;
  Outbox outbox_{clock_, 10, [] { return 1; }};
  Tenants tenants_{memory_.index,
                   [](const std::string& name) { return Hasher().field("t", name).finish(); }};
  const TenantId alice_ = tenants_.id("alice");
  Erasures erasures_;
  StoredPages stored_{memory_.index,
                      erasures_,
                      jobs_,
                      outbox_,
                      [](const Digest&) { return false; },
                      [](const auto&, const auto&) {}};
  ChunkRegistry registry_;
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
  compute(prompt);
  const auto texts = uses_.find("alice", {"context_a", "context_b"}, prompt);
  uses_.note("alice", prompt, texts);
  EXPECT_EQ(pages_with("context_a"), 2u);
  EXPECT_EQ(pages_with("context_b"), 1u);
  EXPECT_EQ(ends_, (Ends{{"context_a", 90 - 64 + 1}, {"context_b", 170 - 128 + 1}}));
  EXPECT_TRUE(told().empty()) << "no page is on disk";
}

TEST_F(TextUsesTest, tells_the_store_of_pages_that_it_has_once) {
  const Tokens prompt = count_up(0, 200);
  const std::vector<Digest> keys = compute(prompt);
  stored_.add(keys[0], ChainIndex::key_of(memory_.index.root()), kPageTokens);
  const auto texts = uses_.find("alice", {"context_a"}, prompt);
  uses_.note("alice", prompt, texts);
  EXPECT_EQ(told(), std::vector<std::string>{"context_a 0 0"});
  uses_.note("alice", prompt, texts);
  EXPECT_TRUE(told().empty());
}

TEST_F(TextUsesTest, a_text_after_one_that_is_gone_does_not_end_anywhere) {
  const Tokens prompt = count_up(0, 200);
  compute(prompt);
  const auto texts = uses_.find("alice", {"context_a", "context_b"}, prompt);
  remove("context_a");
  uses_.note("alice", prompt, texts);
  EXPECT_EQ(pages_with("context_a"), 0u);
  EXPECT_EQ(pages_with("context_b"), 1u);
  EXPECT_TRUE(ends_.empty()) << "what has the text goes with the other one";
}

TEST_F(TextUsesTest, a_page_that_is_written_in_part_has_only_the_ends_in_that_part) {
  const Tokens prompt = count_up(0, 200);
  compute(prompt);
  uses_.note("alice", prompt, uses_.find("alice", {"context_a"}, prompt));
  ChainIndex::Node* node = memory_.index.match(alice_, prompt).pages.empty()
                               ? nullptr
                               : ChainIndex::path_to(memory_.index.match(alice_, prompt).node)[1];
  ASSERT_NE(node, nullptr);
  const ChainIndex::PageName name = ChainIndex::name_of(node);
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
  stored_.add(page, ChainIndex::key_of(memory_.index.root()), kPageTokens);
  wire::StoredPages stored;
  stored.uses.add({page.hex(), 0, "alice", "context_a", 5});
  uses_.load(stored);
  ASSERT_EQ(pages_with("context_a"), 1u);
  EXPECT_EQ(uses_.take({"alice", "context_a"}).at(0).ends, 5);
  EXPECT_EQ(pages_with("context_a"), 0u);
}

}  // namespace
}  // namespace cascade
