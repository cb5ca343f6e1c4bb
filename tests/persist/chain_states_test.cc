// States on disk: they come back as they were, and never outlive the pages that they need.
#include "persist/chain_states.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/failing_file_calls.h"
#include "tests/long_tests.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"

namespace cascade {
namespace {

using testing::FailingFileCalls;
using testing::Fault;
using testing::kPageBytes;
using testing::make_chunk;
using testing::MemoryDisk;
using testing::model_digest;
using testing::ok;
using testing::open_store;
using testing::test_options;
using testing::TestChain;

constexpr size_t kStateBytes = 3 * 4096 + 100;

// A state after tokens of a page. Its bytes depend on its name.
struct TestState {
  // After the first `count` tokens of page `page` of the chain; SIZE_MAX: after all of them.
  TestState(const TestChain& chain, size_t page, size_t count = SIZE_MAX)
      : parent(page == 0 ? model_digest() : chain.keys[page - 1]),
        position(static_cast<int64_t>(64 * page)),
        tokens(chain.token_ids[page]) {
    const bool whole = count >= tokens.size();
    if (!whole) tokens.resize(count);
    key = whole ? chain.keys[page]
                : Hasher().field("parent", parent).field("tokens", tokens).finish();
    Random random(key.bytes[0]);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random());
  }

  StateRecord record() const {
    return {.tenant = tenant,
            .model = model_digest(),
            .key = key,
            .parent = parent,
            .position = position,
            .token_ids = tokens,
            .attention = attention,
            .bytes = bytes};
  }

  std::string tenant = "a";
  AttentionMode attention;
  Digest key, parent;
  int64_t position;
  std::vector<int32_t> tokens;
  std::vector<uint8_t> bytes = std::vector<uint8_t>(kStateBytes);
};

// Pages and states in a directory on `calls`.
struct TwoStores {
  explicit TwoStores(FileCalls& calls, const KvOptions& options = test_options().kv)
      : pages(open_store(calls)) {
    auto opened = ChainStates::open(*pages, options);
    EXPECT_TRUE(ok(opened));
    if (opened.ok()) states = *std::move(opened);
  }

  // What the store actor does.
  Status commit() {
    RETURN_IF_ERROR(states->commit());
    return pages->commit();
  }
  void append(const TestChain& chain) { EXPECT_TRUE(ok(pages->kv().append(chain.run(), 1))); }
  bool put(const TestState& state, int64_t now_us = 1) {
    const auto stored = states->put(state.record(), now_us);
    EXPECT_TRUE(ok(stored));
    return stored.ok() && *stored;
  }
  // Whether the state can be read. Fails the test if its bytes are wrong.
  bool has(const TestState& state) {
    std::vector<uint8_t> to(kStateBytes);
    const Status read = states->read(state.key, state.tokens, to, 2);
    if (read.ok()) {
      EXPECT_EQ(to, state.bytes);
    }
    return read.ok();
  }

  std::unique_ptr<Store> pages;
  std::unique_ptr<ChainStates> states;
};

TEST(ChainStates, come_back_after_a_loss_of_power) {
  MemoryDisk disk;
  const TestChain chain(1);
  const TestState whole(chain, 1), in_a_page(chain, 0, 5), at_the_end(chain, 2);
  {
    TwoStores stores(disk);
    stores.append(chain);
    for (const TestState* state : {&whole, &in_a_page, &at_the_end}) {
      EXPECT_TRUE(stores.put(*state));
      EXPECT_TRUE(stores.put(*state)) << "twice";
    }
    ASSERT_TRUE(ok(stores.commit()));
  }
  disk.cut_power();
  TwoStores stores(disk);
  EXPECT_EQ(stores.states->of_model(model_digest())->size(), 3u);
  for (const TestState* state : {&whole, &in_a_page, &at_the_end}) EXPECT_TRUE(stores.has(*state));
}

TEST(ChainStates, are_refused_without_a_page_that_has_their_tokens) {
  MemoryDisk disk;
  TwoStores stores(disk);
  const TestChain chain(1), other(2);
  EXPECT_FALSE(stores.put(TestState(chain, 0)));
  stores.append(chain);
  EXPECT_TRUE(stores.put(TestState(chain, 0)));
  EXPECT_FALSE(stores.put(TestState(other, 0, 5)));
  TestState of_other_tenant(chain, 1, 5);
  of_other_tenant.tenant = "b";
  EXPECT_FALSE(stores.put(of_other_tenant));
  TestState in_other_mode(chain, 1, 5);
  in_other_mode.attention = *parse_attention_mode("dense");
  in_other_mode.attention.selected = 64;
  EXPECT_FALSE(stores.put(in_other_mode));
  TestState with_one_token_more(chain, 2);
  with_one_token_more.tokens.push_back(7);
  with_one_token_more.key.bytes[0] ^= 1;
  EXPECT_FALSE(stores.put(with_one_token_more));
}

TEST(ChainStates, are_removed_with_the_last_page_that_has_their_tokens) {
  MemoryDisk disk;
  TwoStores stores(disk);
  const TestChain chain(1);
  // A page with the first 9 tokens of the last one.
  std::vector<int32_t> ids = chain.token_ids[2];
  ids.resize(9);
  const Digest short_key = Hasher().field("parent", chain.keys[1]).field("tokens", ids).finish();
  const RunPage short_page = {short_key, ids, chain.pages[2].data()};
  PageRun run = chain.run();
  run.parent = chain.keys[1];
  run.position = 128;
  run.pages = {&short_page, 1};
  stores.append(chain);
  ASSERT_TRUE(ok(stores.pages->kv().append(run, 1)));
  const TestState early(chain, 0), in_both(chain, 2, 5), in_one(chain, 2, 12);
  for (const TestState* state : {&early, &in_both, &in_one}) EXPECT_TRUE(stores.put(*state));
  ASSERT_TRUE(ok(stores.commit()));
  ASSERT_TRUE(ok(stores.pages->kv().remove({&chain.keys[2], 1})));
  ASSERT_TRUE(ok(stores.commit()));
  EXPECT_TRUE(stores.has(in_both));
  EXPECT_FALSE(stores.has(in_one));
  EXPECT_EQ(*stores.states->take_removed(), std::vector{in_one.key});
  EXPECT_TRUE(stores.states->take_removed()->empty());
  ASSERT_TRUE(ok(stores.pages->kv().remove({&short_key, 1})));
  ASSERT_TRUE(ok(stores.commit()));
  EXPECT_FALSE(stores.has(in_both));
  EXPECT_TRUE(stores.has(early));
  EXPECT_TRUE(stores.states->store().kv().is_clean());
}

TEST(ChainStates, leave_no_byte_of_a_removed_page_on_disk) {
  MemoryDisk disk;
  TwoStores stores(disk);
  const TestChain chain(1);
  TestState state(chain, 1);
  const std::string secret = "a text that somebody deletes";
  std::ranges::copy(secret, state.bytes.begin() + 50);
  stores.append(chain);
  EXPECT_TRUE(stores.put(state));
  ASSERT_TRUE(ok(stores.commit()));
  EXPECT_TRUE(disk.contains(secret));
  ASSERT_TRUE(ok(stores.pages->kv().remove(chain.keys)));
  ASSERT_TRUE(ok(stores.commit()));
  EXPECT_FALSE(disk.contains(secret));
  const std::string ids(reinterpret_cast<const char*>(state.tokens.data()), 64 * sizeof(int32_t));
  while (*stores.states->store().forget_step()) {
  }
  while (*stores.pages->forget_step()) {
  }
  EXPECT_FALSE(disk.contains(ids));
}

TEST(ChainStates, without_pages_are_removed_at_the_start) {
  MemoryDisk disk;
  const TestChain chain(1), other(2);
  const TestState gone(chain, 1), stays(other, 1);
  {
    TwoStores stores(disk);
    stores.append(chain);
    stores.append(other);
    EXPECT_TRUE(stores.put(gone));
    EXPECT_TRUE(stores.put(stays));
    ASSERT_TRUE(ok(stores.commit()));
  }
  {
    auto pages = open_store(disk);  // of a program that knows no states
    ASSERT_TRUE(ok(pages->kv().remove(chain.keys)));
    ASSERT_TRUE(ok(pages->commit()));
    EXPECT_TRUE(ChainStates::exists(*pages));
  }
  TwoStores stores(disk);
  EXPECT_FALSE(stores.has(gone));
  EXPECT_TRUE(stores.has(stays));
}

TEST(ChainStates, do_not_stay_when_the_commit_of_their_page_fails) {
  MemoryDisk disk;
  TwoStores stores(disk);
  const TestChain chain(1);
  stores.append(chain);
  const TestState state(chain, 1);
  EXPECT_TRUE(stores.put(state));
  ASSERT_TRUE(ok(stores.states->commit()));
  ASSERT_TRUE(ok(stores.pages->rollback()));
  ASSERT_TRUE(ok(stores.commit()));
  EXPECT_FALSE(stores.has(state));
}

// A chain with a state, both durable.
struct OneState {
  OneState() {
    stores.append(chain);
    EXPECT_TRUE(stores.put(state));
    EXPECT_TRUE(ok(stores.commit()));
  }

  MemoryDisk disk;
  TwoStores stores{disk};
  const TestChain chain{1};
  const TestState state{chain, 1};
};

TEST(ChainStates, follow_pages_whose_file_is_lost) {
  OneState one;
  auto& [disk, stores, chain, state] = one;
  ASSERT_EQ(disk.remove("/state/kv/00000001.kv"), 0);
  EXPECT_EQ(read_chain(stores.pages->kv(), chain).good, 0u);
  ASSERT_TRUE(ok(stores.commit()));
  EXPECT_FALSE(stores.has(state));
}

TEST(ChainStates, that_are_unused_for_longest_make_room) {
  MemoryDisk disk;
  KvOptions options = test_options().kv;
  // Two files' headers and three states.
  options.disk_bytes_max = 2 * 4096 + 3 * (5 * 4096);
  TwoStores stores(disk, options);
  const TestChain chain(1, 6);
  stores.append(chain);
  std::vector<TestState> states;
  for (size_t page = 0; page < 4; ++page) states.emplace_back(chain, page);
  for (size_t i = 0; i < 3; ++i) EXPECT_TRUE(stores.put(states[i], static_cast<int64_t>(10 + i)));
  ASSERT_TRUE(ok(stores.commit()));
  std::vector<uint8_t> to(kStateBytes);
  ASSERT_TRUE(ok(stores.states->read(states[0].key, states[0].tokens, to, 20)));
  EXPECT_TRUE(stores.put(states[3], 21));
  EXPECT_EQ(*stores.states->take_removed(), std::vector{states[1].key})
      << "although later states come after it";
  ASSERT_TRUE(ok(stores.commit()));
  for (const size_t i : {0, 2, 3}) EXPECT_TRUE(stores.has(states[i])) << i;
  EXPECT_LE(stores.states->store().kv().bytes_on_disk(), options.disk_bytes_max);
}

TEST(ChainStates, at_the_ends_of_pinned_chains_stay) {
  MemoryDisk disk;
  KvOptions options = test_options().kv;
  options.disk_bytes_max = 2 * 4096 + 2 * (5 * 4096);
  TwoStores stores(disk, options);
  const TestChain chain(1, 6);
  stores.append(chain);
  Chunk pinned = make_chunk(1);
  pinned.pinned = true;
  pinned.kv_key = chain.keys[0].hex();
  ASSERT_TRUE(ok(stores.pages->put(pinned)));
  const TestState first(chain, 0), second(chain, 1), third(chain, 2);
  EXPECT_TRUE(stores.put(first, 1));
  EXPECT_TRUE(stores.put(second, 2));
  EXPECT_TRUE(stores.put(third, 3));
  EXPECT_TRUE(stores.has(first));
  EXPECT_FALSE(stores.has(second));
  EXPECT_TRUE(stores.has(third));
}

TEST(ChainStates, beyond_a_budget_that_has_become_smaller_are_removed_at_the_start) {
  MemoryDisk disk;
  const TestChain chain(1, 10);
  KvOptions options = test_options().kv;
  {
    TwoStores stores(disk);
    stores.append(chain);
    for (size_t page = 0; page < 8; ++page) {
      EXPECT_TRUE(stores.put(TestState(chain, page), static_cast<int64_t>(page)));
    }
    ASSERT_TRUE(ok(stores.commit()));
  }
  options.disk_bytes_max = 3 * 4096 + 3 * (5 * 4096);
  TwoStores stores(disk, options);
  EXPECT_LE(stores.states->store().kv().bytes_on_disk(), options.disk_bytes_max);
  EXPECT_TRUE(stores.has(TestState(chain, 7)));
  EXPECT_FALSE(stores.has(TestState(chain, 2)));
  EXPECT_TRUE(stores.put(TestState(chain, 8), 9));
  EXPECT_TRUE(stores.has(TestState(chain, 8)));
}

TEST(ChainStates, follow_pages_in_every_commit_of_theirs) {
  OneState one;
  auto& [disk, stores, chain, state] = one;
  ASSERT_TRUE(ok(stores.pages->kv().remove(chain.keys)));
  ASSERT_TRUE(ok(stores.pages->commit()));
  EXPECT_FALSE(stores.has(state));
}

TEST(ChainStates, larger_than_the_budget_are_refused) {
  MemoryDisk disk;
  KvOptions options = test_options().kv;
  options.disk_bytes_max = 4 * 4096;
  TwoStores stores(disk, options);
  const TestChain chain(1);
  stores.append(chain);
  const auto stored = stores.states->put(TestState(chain, 0).record(), 1);
  ASSERT_FALSE(stored.ok());
  EXPECT_EQ(stored.error().field, "max_state_disk");
}

TEST(ChainStates, that_are_damaged_are_never_read) {
  OneState one;
  auto& [disk, stores, chain, state] = one;
  disk.bytes("/state/states/kv/00000001.kv")[3 * 4096 + 5] ^= 1;
  std::vector<uint8_t> to(kStateBytes);
  const Status read = stores.states->read(state.key, state.tokens, to, 2);
  EXPECT_EQ(read.error().code, ErrorCode::kDataCorrupt);
  EXPECT_EQ(*stores.states->take_removed(), std::vector{state.key});
  EXPECT_EQ(stores.states->read(state.key, state.tokens, to, 2).error().code, ErrorCode::kNotFound);
}

TEST(ChainStates, come_with_the_page_that_has_their_tokens) {
  MemoryDisk disk;
  TwoStores stores(disk);
  const TestChain chain(1);
  stores.append(chain);
  const TestState state(chain, 1, 5);
  EXPECT_TRUE(stores.put(state));
  std::vector<uint8_t> page(kPageBytes);
  const auto tokens = stores.states->read_cover(state.key, kPageBytes, {}, page.data());
  ASSERT_TRUE(ok(tokens));
  EXPECT_EQ(*tokens, chain.token_ids[1]);
  EXPECT_EQ(page, chain.pages[1]);
  const auto unknown =
      stores.states->read_cover(TestState(chain, 1, 6).key, kPageBytes, {}, page.data());
  EXPECT_EQ(unknown.error().code, ErrorCode::kNotFound);
}

// What a daemon was told to be durable.
struct Acknowledged {
  bool put = false, removal = false;
};

// Stores `kept` with a state, and removes `dropped`.
Acknowledged put_and_remove(FileCalls& calls, const TestChain& kept, const TestState& of_kept,
                            const TestChain& dropped) {
  Acknowledged told;
  auto pages = Store::open(calls, testing::kStateDir, test_options());
  if (!pages.ok()) return told;
  auto states = ChainStates::open(**pages, test_options().kv);
  if (!states.ok()) return told;
  const auto commit = [&] {
    return (*states)->commit().ok() && (*pages)->commit().ok() &&
           (*pages)->kv().take_unwritten().empty() &&
           (*states)->store().kv().take_unwritten().empty();
  };
  const bool appended = (*pages)->kv().append(kept.run(), 1).ok();
  const auto put = (*states)->put(of_kept.record(), 1);
  told.put = commit() && appended && put.ok() && *put;
  const bool removed = (*pages)->kv().remove(dropped.keys).ok();
  told.removal = commit() && removed;
  return told;
}

// Whatever fails, if the power is cut after it: a state that can be read has its bytes, and no
// state is left whose pages are gone.
TEST(ChainStates, survive_any_failed_operation) {
  const TestChain kept(1), dropped(2);
  const TestState of_kept(kept, 1, 9), of_dropped(dropped, 1);
  MemoryDisk before;
  {
    TwoStores stores(before);
    stores.append(dropped);
    EXPECT_TRUE(stores.put(of_dropped));
    ASSERT_TRUE(ok(stores.commit()));
  }
  for (const Fault fault : {Fault::kError, Fault::kSync}) {
    bool reached = true;
    for (int n = 1; reached; n += testing::long_or(1, 3)) {
      MemoryDisk disk = before.copy();
      FailingFileCalls calls(n, /*all_later=*/false, EIO, disk, fault);
      calls.on_failed_sync([&](int fd) { disk.lose_unsynced(fd); });
      const Acknowledged told = put_and_remove(calls, kept, of_kept, dropped);
      reached = calls.failed();
      disk.cut_power();
      TwoStores after(disk);
      EXPECT_TRUE(!told.put || after.has(of_kept)) << n;
      EXPECT_TRUE(!told.removal || !after.has(of_dropped)) << n;
      for (const auto& [chain, state] : {std::pair(&kept, &of_kept), {&dropped, &of_dropped}}) {
        const auto page = after.pages->kv().find(chain->keys[1]);
        EXPECT_TRUE(!after.has(*state) || (page.ok() && page->has_value())) << n;
      }
    }
  }
}

}  // namespace
}  // namespace cascade
