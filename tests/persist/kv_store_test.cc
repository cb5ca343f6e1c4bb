// Pages on disk: reading gives what was written, or an error.
#include "persist/kv_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/failing_file_calls.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

using testing::MemoryDisk;
using testing::ok;
using testing::open_store;
using testing::test_options;
using testing::TestChain;

const std::string kFile1 = "/state/kv/00000001.kv";

uint64_t record_bytes(uint64_t stored) {
  KvPageHeader header;
  header.stored_bytes = stored;
  return header.record_bytes();
}

TEST(KvStore, pages_come_back_in_one_stretch_and_one_by_one) {
  for (const bool compress : {false, true}) {
    for (const uint64_t page_bytes : {uint64_t{1}, uint64_t{4096}, testing::kPageBytes}) {
      MemoryDisk disk;
      StoreOptions options = test_options();
      options.kv.compress = compress;
      auto store = open_store(disk, options);
      const TestChain chain(1, 30, page_bytes);
      ASSERT_TRUE(ok(store->kv().append(chain.run(), 5)));
      EXPECT_EQ(read_chain(store->kv(), chain).good, 30u);
      ASSERT_TRUE(ok(store->commit()));
      store.reset();
      disk.cut_power();
      store = open_store(disk, options);
      EXPECT_EQ(read_chain(store->kv(), chain).good, 30u);
      EXPECT_EQ(count_pages(store->kv(), chain), 30u);
      EXPECT_EQ(store->kv().counters().pages_read, 60u);
      EXPECT_EQ(store->kv().pages(testing::model_digest())->size(), 30u);
    }
  }
}

TEST(KvStore, more_pages_than_a_system_call_takes_are_read_at_once) {
  MemoryDisk disk;
  StoreOptions options = test_options();
  options.kv.file_bytes_max = 1 << 30;
  auto store = open_store(disk, options);
  const TestChain chain(1, 700, 10);
  ASSERT_TRUE(ok(store->kv().append(chain.run(), 1)));
  EXPECT_EQ(read_chain(store->kv(), chain).good, 700u);
}

TEST(KvStore, a_page_is_stored_once_and_its_row_says_what_it_is) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain chain(1);
  ASSERT_TRUE(ok(store->kv().append(chain.run(), 5)));
  const uint64_t bytes = store->kv().bytes_on_disk();
  ASSERT_TRUE(ok(store->kv().append(chain.run(), 6)));
  EXPECT_EQ(store->kv().bytes_on_disk(), bytes);
  EXPECT_EQ(bytes, 4096 + 3 * record_bytes(testing::kPageBytes));
  const auto page = store->kv().find(chain.keys[1]);
  ASSERT_TRUE(page.ok() && page->has_value());
  EXPECT_EQ((*page)->header.parent, chain.keys[0]);
  EXPECT_EQ((*page)->header.position, 64);
  EXPECT_EQ((*page)->header.tenant, "a");
  EXPECT_EQ((*page)->header.token_ids, chain.token_ids[1]);
  EXPECT_EQ((*page)->last_used_us, 5);
}

TEST(KvStore, the_attention_mode_of_a_page_outlives_restarts_and_lost_rows) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain dense(1), selected(2);
  PageRun run = selected.run();
  run.attention = kSelectMode;
  ASSERT_TRUE(ok(store->kv().append(dense.run(), 5)));
  ASSERT_TRUE(ok(store->kv().append(run, 5)));
  ASSERT_TRUE(ok(store->commit()));
  for (const bool rows_are_lost : {false, true}) {
    store.reset();
    StoreOptions options = testing::test_options();
    options.rebuild = rows_are_lost;
    store = open_store(disk, options);
    EXPECT_EQ((*store->kv().find(dense.keys[1]))->header.attention, AttentionMode{});
    EXPECT_EQ((*store->kv().find(selected.keys[1]))->header.attention, kSelectMode);
    EXPECT_EQ(count_pages(store->kv(), selected), 3u);
  }
}

TEST(KvStore, wrong_runs_are_refused) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain chain(1);
  const auto field_of = [&](const PageRun& run) {
    return store->kv().append(run, 1).error().field;
  };
  PageRun run = chain.run();
  run.tenant = std::string(256, 't');
  EXPECT_EQ(field_of(run), "tenant");
  run = chain.run();
  run.page_bytes = 0;
  EXPECT_EQ(field_of(run), "page_bytes");
  run = chain.run();
  run.position = 3;
  EXPECT_EQ(field_of(run), "position");
  std::vector<RunPage> pages = chain.run_pages;
  std::swap(pages[0], pages[2]);  // a short page that is not the last
  run = chain.run();
  run.pages = pages;
  EXPECT_EQ(field_of(run), "token_ids");
}

TEST(KvStore, other_token_ids_and_other_sizes_are_not_served) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain chain(1);
  ASSERT_TRUE(ok(store->kv().append(chain.run(), 5)));
  std::vector<uint8_t> to(testing::kPageBytes);
  std::vector<int32_t> others = chain.token_ids[0];
  others[3] ^= 1;
  PageRead read = {chain.keys[0], chain.token_ids[0], to.data()};
  EXPECT_EQ(store->kv().read(100, {&read, 1}).error->field, "page_bytes");
  read.token_ids = others;
  EXPECT_EQ(store->kv().read(testing::kPageBytes, {&read, 1}).error->code, ErrorCode::kDataCorrupt);
  EXPECT_EQ(count_pages(store->kv(), chain), 2u);
}

TEST(KvStore, a_damaged_page_is_an_error_once_and_then_not_there) {
  for (const uint64_t at : {uint64_t{100}, uint64_t{kKvBlockBytes}, uint64_t{9000}}) {
    MemoryDisk disk;
    auto store = open_store(disk);
    const TestChain chain(1);
    ASSERT_TRUE(ok(store->kv().append(chain.run(), 5)));
    ASSERT_TRUE(ok(store->commit()));
    disk.bytes(kFile1)[4096 + record_bytes(testing::kPageBytes) + at] ^= 1;
    const PagesRead first = read_chain(store->kv(), chain);
    EXPECT_EQ(first.good, 1u);
    EXPECT_EQ(first.error->code, ErrorCode::kDataCorrupt);
    const PagesRead second = read_chain(store->kv(), chain);
    EXPECT_EQ(second.good, 1u);
    EXPECT_EQ(second.error->code, ErrorCode::kNotFound);
    EXPECT_EQ(store->kv().counters().pages_bad, 1u);
    ASSERT_TRUE(ok(store->kv().append(chain.run(), 6)));  // the pages are computed again
    EXPECT_EQ(read_chain(store->kv(), chain).good, 3u);
  }
}

// Otherwise the remaining pages could neither be found nor be deleted with the chunk.
TEST(KvStore, no_page_makes_room_before_those_that_stand_on_it) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain chain(0), other(1);
  ASSERT_TRUE(ok(store->kv().append(chain.run(), 1)));
  ASSERT_TRUE(ok(store->kv().append(other.run(), 5)));
  ASSERT_TRUE(ok(store->kv().touch(std::span(chain.keys).subspan(1), 9)));  // not the first page
  const uint64_t page = record_bytes(testing::kPageBytes);
  EXPECT_THAT(*store->kv().oldest(page, {}), ::testing::ElementsAre(chain.keys[2]));
  EXPECT_THAT(*store->kv().oldest(4 * page, {}),
              ::testing::ElementsAre(chain.keys[2], chain.keys[1], chain.keys[0], other.keys[2]));
  const std::vector<Digest> kept = {chain.keys[1]};
  EXPECT_THAT(*store->kv().oldest(2 * page, kept),
              ::testing::ElementsAre(other.keys[2], other.keys[1]));
}

TEST(KvStore, the_budget_and_free_space_are_kept) {
  MemoryDisk disk;
  StoreOptions options = test_options();
  options.kv.disk_bytes_max = 100'000;
  auto store = open_store(disk, options);
  std::vector<TestChain> chains;
  for (uint64_t n = 0; n < 4; ++n) chains.emplace_back(n);
  for (int64_t n = 0; n < 2; ++n) ASSERT_TRUE(ok(store->kv().append(chains[n].run(), n)));
  const Status full = store->kv().append(chains[2].run(), 2);
  EXPECT_EQ(full.error().code, ErrorCode::kResourceExhausted);
  EXPECT_EQ(full.error().field, "max_disk");
  ASSERT_TRUE(ok(store->commit()));
  EXPECT_LE(store->kv().bytes_on_disk(), 100'000u);
  // The oldest chain is removed first, from its end.
  const auto victims = store->kv().oldest(2 * record_bytes(testing::kPageBytes), {});
  EXPECT_THAT(*victims, ::testing::ElementsAre(chains[0].keys[2], chains[0].keys[1]));
  ASSERT_TRUE(ok(store->kv().touch(chains[0].keys, 9)));
  EXPECT_THAT(*store->kv().oldest(1, {}), ::testing::ElementsAre(chains[1].keys[2]));
  // A kept chain stays up to the last page that is given.
  const std::vector<Digest> kept = {chains[1].keys[1], chains[0].keys[2]};
  EXPECT_THAT(*store->kv().oldest(100'000, kept), ::testing::ElementsAre(chains[1].keys[2]));
  ASSERT_TRUE(ok(store->kv().remove(chains[1].keys)));
  ASSERT_TRUE(ok(store->commit()));
  ASSERT_TRUE(ok(store->kv().append(chains[2].run(), 3)));
  EXPECT_EQ(read_chain(store->kv(), chains[0]).good, 3u);

  options.kv.disk_bytes_max = UINT64_MAX;
  options.kv.free_bytes_min = uint64_t{1} << 40;
  store.reset();
  store = open_store(disk, options);
  EXPECT_EQ(store->kv().append(chains[3].run(), 3).error().field, "disk");
}

TEST(KvStore, removed_pages_are_overwritten) {
  for (const bool can_punch : {true, false}) {
    MemoryDisk disk;
    disk.set_can_punch(can_punch);
    auto store = open_store(disk);
    TestChain secret(1);
    const std::string text = "a secret in a page";
    std::copy(text.begin(), text.end(), secret.pages[1].begin() + 700);
    ASSERT_TRUE(ok(store->kv().append(secret.run(), 5)));
    ASSERT_TRUE(ok(store->commit()));
    EXPECT_TRUE(disk.contains(text));
    ASSERT_TRUE(ok(store->kv().remove(std::span(secret.keys).subspan(1, 1))));
    ASSERT_TRUE(ok(store->rollback()));
    EXPECT_EQ(read_chain(store->kv(), secret).good, 3u);
    ASSERT_TRUE(ok(store->kv().remove(std::span(secret.keys).subspan(1, 1))));
    ASSERT_TRUE(ok(store->commit()));
    EXPECT_FALSE(disk.contains(text));
    EXPECT_EQ(count_pages(store->kv(), secret), 2u);
    EXPECT_EQ(store->kv().bytes_on_disk(), 4096 + 2 * record_bytes(testing::kPageBytes));
  }
}

TEST(KvStore, pages_whose_removal_was_committed_are_overwritten_by_the_next_start) {
  MemoryDisk disk;
  disk.set_can_punch(false);
  TestChain secret(1);
  const std::string text = "a secret in a page";
  std::copy(text.begin(), text.end(), secret.pages[1].begin() + 700);
  auto store = open_store(disk);
  ASSERT_TRUE(ok(store->kv().append(secret.run(), 5)));
  ASSERT_TRUE(ok(store->commit()));
  ASSERT_TRUE(ok(store->kv().remove(secret.keys)));
  ASSERT_TRUE(ok(store->commit()));
  store.reset();
  disk.cut_power();  // the overwriting was not synchronised
  EXPECT_TRUE(disk.contains(text));
  store = open_store(disk);
  ASSERT_TRUE(ok(store->put(testing::make_chunk(1))));
  ASSERT_TRUE(ok(store->commit()));
  EXPECT_FALSE(disk.contains(text));
}

TEST(KvStore, compaction_returns_what_removed_pages_took) {
  MemoryDisk disk;
  disk.set_can_punch(false);
  StoreOptions options = test_options();
  options.kv.file_bytes_max = 128 << 10;  // four chains
  auto store = open_store(disk, options);
  std::vector<TestChain> chains;
  for (uint64_t n = 0; n < 12; ++n) {
    chains.emplace_back(n);
    ASSERT_TRUE(ok(store->kv().append(chains.back().run(), 1)));
    ASSERT_TRUE(ok(store->commit()));
  }
  const auto disk_bytes = [&] {
    uint64_t bytes = 0;
    for (const std::string& path : disk.paths()) {
      if (path.starts_with("/state/kv/")) bytes += disk.bytes(path).size();
    }
    return bytes;
  };
  const uint64_t before = disk_bytes();
  for (uint64_t n = 0; n < 12; n += 4) {
    for (uint64_t i = n; i < n + 3; ++i) ASSERT_TRUE(ok(store->kv().remove(chains[i].keys)));
  }
  ASSERT_TRUE(ok(store->commit()));
  int steps = 0;
  while (true) {
    const auto more = store->kv().compact(1);
    ASSERT_TRUE(ok(more));
    ASSERT_TRUE(ok(store->commit()));
    if (!*more) break;
    ASSERT_LT(++steps, 100);
  }
  EXPECT_GT(steps, 1);
  EXPECT_LT(disk_bytes(), before * 6 / 10);
  store.reset();
  store = open_store(disk);
  EXPECT_TRUE(store->findings().empty());
  for (uint64_t n = 0; n < 12; ++n) {
    EXPECT_EQ(read_chain(store->kv(), chains[n]).good, n % 4 == 3 ? 3u : 0u) << n;
  }
}

TEST(KvStore, a_file_whose_synchronisation_fails_is_not_written_to_again) {
  MemoryDisk disk;
  auto store = open_store(disk);
  const TestChain kept(1), lost(2), later(3);
  ASSERT_TRUE(ok(store->kv().append(kept.run(), 1)));
  ASSERT_TRUE(ok(store->commit()));
  store.reset();
  testing::FailingFileCalls calls(0, false, EIO, disk, testing::Fault::kSync);
  calls.on_failed_sync([&](int fd) { disk.lose_unsynced(fd); });
  store = open_store(calls);
  calls.start_over(1);  // the next fsync is that of the KV file
  ASSERT_TRUE(ok(store->put(testing::make_chunk(7))));
  ASSERT_TRUE(ok(store->kv().append(lost.run(), 1)));
  ASSERT_TRUE(ok(store->commit()));
  EXPECT_EQ(store->kv().take_unwritten().size(), 3u);
  EXPECT_EQ(store->kv().counters().files_abandoned, 1u);
  EXPECT_EQ(read_chain(store->kv(), lost).good, 0u);
  ASSERT_TRUE(ok(store->kv().append(later.run(), 1)));
  EXPECT_EQ((*store->kv().find(later.keys[0]))->place.file, 2);
  ASSERT_TRUE(ok(store->commit()));
  store.reset();
  disk.cut_power();
  store = open_store(disk);
  EXPECT_EQ(store->load()->size(), 1u);
  EXPECT_EQ(read_chain(store->kv(), kept).good, 3u);
  EXPECT_EQ(read_chain(store->kv(), later).good, 3u);
  EXPECT_EQ(read_chain(store->kv(), lost).good, 0u);
}

}  // namespace
}  // namespace cascade
