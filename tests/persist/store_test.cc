// The store over a disk in memory: what was committed is there after a restart, nothing else is.
#include "persist/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

using testing::make_chunk;
using testing::make_session;
using testing::MemoryDisk;
using testing::ok;
using testing::open_store;
using testing::TestChain;

TEST(Store, chunks_come_back_with_every_field) {
  MemoryDisk disk;
  auto store = open_store(disk);
  std::vector<Chunk> chunks;
  for (uint64_t n = 0; n < 30; ++n) chunks.push_back(make_chunk(n));
  for (const Chunk& chunk : chunks) ASSERT_TRUE(ok(store->put(chunk)));
  ASSERT_TRUE(ok(store->commit()));
  EXPECT_EQ(*store->load(), chunks);
  store.reset();
  store = open_store(disk);
  EXPECT_EQ(*store->load(), chunks);
  EXPECT_TRUE(store->findings().empty());
}

TEST(Store, a_chunk_is_replaced_touched_and_removed) {
  MemoryDisk disk;
  auto store = open_store(disk);
  Chunk chunk = make_chunk(2);
  ASSERT_TRUE(ok(store->put(chunk)));
  chunk.text = "another text";
  chunk.think_spans.clear();
  chunk.parent_ids = {"p", "q"};
  ASSERT_TRUE(ok(store->put(chunk)));
  EXPECT_EQ(store->load()->at(0), chunk);
  ASSERT_TRUE(ok(store->touch("a", chunk.id, 7, 8, 9)));
  chunk.hits = 7;
  chunk.registrations = 8;
  chunk.last_used_us = 9;
  EXPECT_EQ(store->load()->at(0), chunk);
  ASSERT_TRUE(ok(store->touch("b", chunk.id, 1, 1, 1)));
  ASSERT_TRUE(ok(store->remove("b", chunk.id)));
  EXPECT_EQ(store->load()->at(0), chunk);
  ASSERT_TRUE(ok(store->remove("a", chunk.id)));
  EXPECT_TRUE(store->load()->empty());
  EXPECT_TRUE(store->findings().empty());
}

TEST(Store, what_is_not_committed_is_not_there_after_a_restart) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain kept(1), lost(2);
  ASSERT_TRUE(ok(store->put(make_chunk(1))));
  ASSERT_TRUE(ok(store->kv().append(kept.run(), 1)));
  ASSERT_TRUE(ok(store->commit()));
  ASSERT_TRUE(ok(store->put(make_chunk(2))));
  ASSERT_TRUE(ok(store->kv().append(lost.run(), 1)));
  EXPECT_EQ(read_chain(store->kv(), lost).good, 3u);
  store.reset();
  disk.cut_power();
  store = open_store(disk);
  EXPECT_THAT(*store->load(), ::testing::ElementsAre(make_chunk(1)));
  EXPECT_EQ(read_chain(store->kv(), kept).good, 3u);
  EXPECT_EQ(read_chain(store->kv(), lost).good, 0u);
}

TEST(Store, a_rollback_undoes_rows_and_pages) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain first(1), second(2), third(3);
  ASSERT_TRUE(ok(store->kv().append(first.run(), 1)));
  ASSERT_TRUE(ok(store->put(make_chunk(1))));
  ASSERT_TRUE(ok(store->rollback()));
  EXPECT_TRUE(store->load()->empty());
  EXPECT_EQ(read_chain(store->kv(), first).good, 0u);
  EXPECT_EQ(store->kv().bytes_on_disk(), 0u);
  ASSERT_TRUE(ok(store->kv().append(second.run(), 1)));
  ASSERT_TRUE(ok(store->commit()));
  ASSERT_TRUE(ok(store->kv().append(third.run(), 1)));
  ASSERT_TRUE(ok(store->rollback()));
  ASSERT_TRUE(ok(store->kv().append(first.run(), 1)));
  ASSERT_TRUE(ok(store->commit()));
  store.reset();
  store = open_store(disk);
  EXPECT_EQ(read_chain(store->kv(), first).good, 3u);
  EXPECT_EQ(read_chain(store->kv(), second).good, 3u);
  EXPECT_EQ(read_chain(store->kv(), third).good, 0u);
}

TEST(Store, sessions_turns_and_policies_come_back) {
  MemoryDisk disk;
  auto store = open_store(disk);
  Session session = make_session(3);
  ASSERT_TRUE(ok(store->sessions().put(session)));
  ASSERT_TRUE(ok(store->sessions().put(make_session(2))));
  session.turns.push_back({3, "output_9"});
  session.last_used_us = 77;
  session.on_overflow = OnOverflow::kDropOldest;
  session.left_out_turns = 2;
  ASSERT_TRUE(ok(store->put_session(session)));
  ASSERT_TRUE(ok(store->sessions().put_policy({"a", "eviction", "lru"})));
  ASSERT_TRUE(ok(store->sessions().put_policy({"", "eviction", "lfu"})));
  ASSERT_TRUE(ok(store->sessions().put_policy({"", "eviction", "hybrid"})));
  ASSERT_TRUE(ok(store->sessions().remove_policy("a", "nothing")));
  ASSERT_TRUE(ok(store->commit()));
  store.reset();
  store = open_store(disk);
  Findings findings;
  EXPECT_THAT(*store->sessions().load(findings), ::testing::ElementsAre(make_session(2), session));
  EXPECT_THAT(
      *store->sessions().load_policies(findings),
      ::testing::ElementsAre(Policy{"", "eviction", "hybrid"}, Policy{"a", "eviction", "lru"}));
  ASSERT_TRUE(ok(store->sessions().remove("a", session.id)));
  EXPECT_THAT(*store->sessions().load(findings), ::testing::ElementsAre(make_session(2)));
  EXPECT_TRUE(findings.empty());
}

TEST(Store, a_search_finds_words_of_the_tenant_newest_first) {
  MemoryDisk disk;
  auto store = open_store(disk);
  Chunk chunk = make_chunk(1);
  chunk.text = "Quantum computers use Qubits, café";
  ASSERT_TRUE(ok(store->put(chunk)));
  Chunk other = make_chunk(2);
  other.text = "nothing";
  other.query_text = "what is a quantum?";
  ASSERT_TRUE(ok(store->put(other)));
  Chunk foreign = make_chunk(3, "b");
  foreign.text = "quantum of another";
  ASSERT_TRUE(ok(store->put(foreign)));
  const auto ids = [&](const std::string& query, size_t limit = 10) {
    std::vector<std::string> found;
    const auto hits = store->chunks().search("a", query, limit);
    EXPECT_TRUE(ok(hits));
    for (const SearchHit& hit : *hits) found.push_back(hit.id);
    return found;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(ids("quantum"), ElementsAre(other.id, chunk.id));
  EXPECT_THAT(ids("quantum", 1), ElementsAre(other.id));
  EXPECT_THAT(ids("QUBITS cafe"), ElementsAre(chunk.id));
  EXPECT_THAT(ids("quantum AND"), ElementsAre());
  EXPECT_THAT(ids("\"quantum"), ElementsAre(other.id, chunk.id));
  EXPECT_THAT(ids("a"), ElementsAre(other.id));  // not the tenant's name
  EXPECT_THAT(store->chunks().search("--", "quantum", 10)->size(), 0u);
  foreign.published = true;
  ASSERT_TRUE(ok(store->put(foreign)));
  EXPECT_THAT(ids("quantum"), ElementsAre(foreign.id, other.id, chunk.id));
  chunk.text = "replaced";
  ASSERT_TRUE(ok(store->put(chunk)));
  ASSERT_TRUE(ok(store->remove("a", other.id)));
  EXPECT_THAT(ids("quantum"), ElementsAre(foreign.id));
  for (const std::string& bad : {std::string(), std::string(" \t\0 ", 4), std::string(2000, 'x')}) {
    EXPECT_EQ(store->chunks().search("a", bad, 1).error().field, "query");
  }
  EXPECT_TRUE(ok(store->chunks().verify_search()));
}

TEST(Store, deleted_texts_are_gone_from_the_disk) {
  MemoryDisk disk;
  auto store = open_store(disk);
  Chunk chunk = make_chunk(1);
  chunk.text = "supersecret content";
  ASSERT_TRUE(ok(store->put(chunk)));
  for (uint64_t n = 2; n < 50; ++n) ASSERT_TRUE(ok(store->put(make_chunk(n))));
  ASSERT_TRUE(ok(store->commit()));
  ASSERT_TRUE(ok(store->remove("a", chunk.id)));
  ASSERT_TRUE(ok(store->commit()));
  int steps = 0;
  while (*store->forget_step() && steps < 100) ++steps;
  EXPECT_LT(steps, 100);
  EXPECT_FALSE(disk.contains("supersecret"));
  EXPECT_TRUE(disk.contains("text of chunk 49"));
}

TEST(Store, a_number_that_is_none_is_refused_and_nothing_else_suffers) {
  MemoryDisk disk;
  auto store = open_store(disk);
  ASSERT_TRUE(ok(store->put(make_chunk(1))));
  Chunk bad = make_chunk(2);
  bad.generation.temperature = std::nan("");
  EXPECT_EQ(store->put(bad).error().code, ErrorCode::kInvalidArgument);
  ASSERT_TRUE(ok(store->commit()));
  EXPECT_THAT(*store->load(), ::testing::ElementsAre(make_chunk(1)));
}

TEST(Store, a_second_one_is_refused) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const auto second = Store::open(disk, testing::kStateDir);
  ASSERT_FALSE(second.ok());
  EXPECT_EQ(second.error().code, ErrorCode::kConflict);
  EXPECT_EQ(second.error().field, testing::kStateDir);
  EXPECT_THAT(second.error().message, ::testing::HasSubstr("pid " + std::to_string(getpid())));
}

TEST(Store, a_folder_that_is_not_ours_is_refused) {
  MemoryDisk disk;
  open_store(disk).reset();
  disk.set_read_only(true);
  EXPECT_EQ(Store::open(disk, testing::kStateDir).error().code, ErrorCode::kIo);
  disk.set_read_only(false);
  disk.set_owner(getuid() + 1);
  const auto foreign = Store::open(disk, testing::kStateDir);
  EXPECT_EQ(foreign.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(foreign.error().message, ::testing::HasSubstr("belongs to user"));
}

TEST(Store, closes_every_file) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain chain(1, 20);
  ASSERT_TRUE(ok(store->kv().append(chain.run(), 1)));
  ASSERT_TRUE(ok(store->commit()));
  EXPECT_EQ(read_chain(store->kv(), chain).good, 20u);
  store.reset();
  EXPECT_EQ(disk.open_files(), 0u);
}

}  // namespace
}  // namespace cascade
