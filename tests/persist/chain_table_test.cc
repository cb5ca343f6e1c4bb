// Chains that are to be computed, and notes of texts in pages.
#include "persist/chain_table.h"

#include <gtest/gtest.h>

#include "persist/store.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

Digest model(const char* name) {
  return Hasher().field("model", std::string_view(name)).finish();
}

class Chains : public ::testing::Test {
 protected:
  void SetUp() override { open(); }
  void open() {
    store_.reset();
    auto opened = Store::open(disk_, "/state", {});
    ASSERT_TRUE(opened.ok()) << opened.error().to_string();
    store_ = *std::move(opened);
  }

  testing::MemoryDisk disk_;
  std::unique_ptr<Store> store_;
};

TEST_F(Chains, are_there_after_a_restart_for_the_model_that_they_are_of) {
  const Chunk chunk = testing::make_chunk(1);
  const ChunkChain chain = {model("a"), chunk.tenant, chunk.id, {1, 2, 3, 70'000}, 2, true};
  ASSERT_TRUE(store_->put(chunk).ok());
  const Chunk selected = testing::make_chunk(2);
  ChunkChain other = chain;
  other.chunk_id = selected.id;
  other.attention = kSelectMode;
  ASSERT_TRUE(store_->put(selected).ok());
  ASSERT_TRUE(store_->chains().put(chain).ok());
  ASSERT_TRUE(store_->chains().put(other).ok());
  ASSERT_TRUE(store_->commit().ok());
  open();
  EXPECT_EQ(*store_->chains().load(model("a")), (std::vector{chain, other}));
  EXPECT_TRUE(store_->chains().load(model("b"))->empty());
}

TEST_F(Chains, that_are_not_pending_are_still_known_and_of_pinned_chunks_given_out) {
  Chunk chunk = testing::make_chunk(1);
  chunk.pinned = false;
  ChunkChain chain = {model("a"), chunk.tenant, chunk.id, {1, 2, 3}, 2, true};
  ASSERT_TRUE(store_->put(chunk).ok());
  ASSERT_TRUE(store_->chains().put(chain).ok());
  ASSERT_TRUE(store_->chains().settle(chunk.tenant, chunk.id).ok());
  ASSERT_TRUE(store_->commit().ok());
  open();
  chain.pending = false;
  EXPECT_TRUE(store_->chains().load(model("a"))->empty());
  EXPECT_EQ(*store_->chains().find(model("a"), chunk.tenant, chunk.id), chain);
  EXPECT_EQ(*store_->chains().find(model("b"), chunk.tenant, chunk.id), std::nullopt);
  chunk.pinned = true;
  ASSERT_TRUE(store_->put(chunk).ok());
  EXPECT_EQ(*store_->chains().load(model("a")), std::vector{chain});
}

TEST_F(Chains, go_with_their_chunk_and_are_nothing_without) {
  const Chunk chunk = testing::make_chunk(1);
  const ChunkChain chain = {model("a"), chunk.tenant, chunk.id, {1, 2}, 0, true};
  ASSERT_TRUE(store_->chains().put(chain).ok());
  EXPECT_TRUE(store_->chains().load(model("a"))->empty());
  ASSERT_TRUE(store_->put(chunk).ok());
  ASSERT_TRUE(store_->chains().put(chain).ok());
  ASSERT_TRUE(store_->put(chunk).ok());  // again, with other hits, say
  EXPECT_EQ(store_->chains().load(model("a"))->size(), 1u);
  ASSERT_TRUE(store_->remove(chunk.tenant, chunk.id).ok());
  EXPECT_TRUE(store_->chains().load(model("a"))->empty());
}

TEST_F(Chains, that_were_changed_on_disk_are_left_out) {
  const Chunk chunk = testing::make_chunk(1);
  ASSERT_TRUE(store_->put(chunk).ok());
  const ChunkChain chain = {model("a"), chunk.tenant, chunk.id, {1, 2}, 0, true};
  for (const char* change :
       {"UPDATE chains SET begin_token=1", "UPDATE chains SET attention='select:64:0'",
        "UPDATE chains SET attention='?'"}) {
    ASSERT_TRUE(store_->chains().put(chain).ok());
    Database& database = store_->database();
    ASSERT_TRUE(database.change([&] { return database.execute(change); }).ok());
    EXPECT_TRUE(store_->chains().load(model("a"))->empty()) << change;
  }
}

TEST_F(Chains, of_a_damaged_database_without_attention_modes_are_saved) {
  const Chunk chunk = testing::make_chunk(1);
  const ChunkChain chain = {model("a"), chunk.tenant, chunk.id, {1, 2}, 0, true};
  ASSERT_TRUE(store_->put(chunk).ok());
  ASSERT_TRUE(store_->chains().put(chain).ok());
  Database& database = store_->database();
  const auto drop = [&] { return database.execute("ALTER TABLE chains DROP COLUMN attention"); };
  ASSERT_TRUE(database.change(drop).ok());
  EXPECT_EQ(store_->chains().salvage(), std::vector{chain});
}

}  // namespace
}  // namespace cascade
