// Chains that are longer than memory: pages leave memory while sequences use them, come back, and
// are lost; nobody ever sees other bytes.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <ranges>
#include <set>
#include <vector>

#include "tests/cache/paged_memory.h"
#include "tests/cache/testing.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::count_up;
using testing::join;
using testing::kSecond;
using testing::PagedMemory;
using testing::Tokens;
using Use = ChainIndex::Use;
using Where = ChainIndex::Where;

TEST(ChainAbsent, a_chain_can_be_longer_than_memory) {
  PagedMemory memory(6);
  auto reader = memory.reader();
  reader->reuse(count_up(0, 2000), kSecond);
  ASSERT_TRUE(memory.compute_long(*reader, count_up(0, 2000), kSecond));
  EXPECT_TRUE(memory.intact_anywhere(*reader));
  EXPECT_EQ(reader->pages().size(), 32u);
  // The first pages stay; the last ones make room for one another.
  for (size_t page = 0; page < 5; ++page) EXPECT_TRUE(in_memory(reader->pages()[page])) << page;
  for (size_t page = 5; page < 31; ++page) EXPECT_FALSE(in_memory(reader->pages()[page])) << page;
  EXPECT_EQ(memory.pool.used_count(), 6u);
  EXPECT_EQ(memory.index.node_count(), 5u);
  EXPECT_EQ(memory.index.spillable_count(), 5u);
  memory.finish(std::move(reader), kSecond);
  // The short last page is in memory, so what is before it stays known.
  EXPECT_EQ(memory.available(count_up(0, 2000)), 5 * 64);
  EXPECT_EQ(memory.index.match(memory.tenant, count_up(0, 2000), Where::kAnywhere).tokens(), 2000);
  EXPECT_EQ(memory.index.evictable_count(), 6u);
  EXPECT_EQ(memory.disk.size(), 26u);
  // When that page is evicted, absent pages have nothing after them any more.
  ASSERT_TRUE(memory.index.evict_one());
  EXPECT_EQ(memory.index.match(memory.tenant, count_up(0, 2000), Where::kAnywhere).tokens(),
            5 * 64);
  memory.take_unused();
  EXPECT_TRUE(memory.disk.empty());
}

TEST(ChainAbsent, a_short_end_is_kept_beside_a_longer_page_that_is_absent) {
  const Tokens tokens = count_up(0, 4 * kPageTokens);
  Tokens beginning = tokens;
  beginning.resize(3 * kPageTokens + 10);
  PagedMemory memory(20);
  auto reader = memory.reader();
  ASSERT_TRUE(memory.compute_long(*reader, tokens, 1));
  while (memory.spill_one(*reader)) {
  }
  {
    const auto other = memory.sequence_of(memory.tenant);
    other->reuse(beginning, 2);
    ASSERT_TRUE(memory.compute(*other, std::span(beginning).subspan(other->committed()), 2));
  }
  EXPECT_TRUE(memory.index.hold(memory.tenant, beginning)) << "all of it is in memory";
  EXPECT_TRUE(memory.intact_anywhere(*reader));
}

TEST(ChainAbsent, what_others_read_or_pin_is_not_spilled) {
  PagedMemory memory(8);
  auto reader = memory.reader();
  reader->reuse(count_up(0, 512), kSecond);
  ASSERT_TRUE(memory.compute_long(*reader, count_up(0, 512), kSecond));
  EXPECT_EQ(memory.index.spillable_count(), 8u);
  EXPECT_EQ(memory.index.taken_by(reader->nodes().back()), 8u);
  EXPECT_EQ(memory.index.taken_by(reader->nodes().back(), Use::kReader), 0u);
  auto other = memory.sequence();
  EXPECT_EQ(other->reuse(count_up(0, 128), kSecond), 128);
  EXPECT_EQ(memory.index.spillable_count(), 6u);
  const auto hold = memory.index.hold(memory.tenant, count_up(0, 256));
  ASSERT_TRUE(hold.has_value());
  memory.index.pin(*hold);
  EXPECT_EQ(memory.index.spillable_count(), 4u);
  ASSERT_TRUE(memory.compute_long(*reader, count_up(512, 640), kSecond));
  for (size_t page = 0; page < 4; ++page) EXPECT_TRUE(in_memory(reader->pages()[page]));
  EXPECT_TRUE(memory.intact(*other));
  EXPECT_TRUE(memory.index.is_held(*hold));
  // A hold alone keeps no page of a chain that needs the room.
  memory.index.unpin(*hold);
  other->finish(kSecond);
  auto large = memory.sequence();
  large->reuse({}, kSecond);
  EXPECT_TRUE(large->reserve(7 * 64));
  EXPECT_FALSE(memory.index.is_held(*hold));
  EXPECT_TRUE(memory.intact_anywhere(*reader));
}

TEST(ChainAbsent, another_sequence_that_computes_an_absent_page_brings_it_back) {
  PagedMemory memory(6);
  auto reader = memory.reader();
  reader->reuse(count_up(0, 640), kSecond);
  ASSERT_TRUE(memory.compute_long(*reader, count_up(0, 640), kSecond));
  while (memory.spill_one(*reader)) {
  }
  auto other = memory.sequence();
  EXPECT_EQ(other->reuse(count_up(0, 200), kSecond), 0);  // nothing of it is in memory
  ASSERT_TRUE(memory.compute(*other, count_up(0, 200), kSecond));
  EXPECT_TRUE(memory.intact(*other));
  EXPECT_TRUE(memory.intact_anywhere(*reader));
  for (size_t page = 0; page < 3; ++page) {
    EXPECT_EQ(reader->pages()[page], other->pages()[page]);
  }
  EXPECT_EQ(memory.index.explain(memory.tenant, count_up(0, 640)).reason, MissReason::kEvicted);
  EXPECT_EQ(
      memory.index.explain(memory.tenant, count_up(0, 640), ChainIndex::Where::kAnywhere).reason,
      MissReason::kNone);
}

TEST(ChainAbsent, pages_on_disk_are_adopted_without_reading_them) {
  PagedMemory memory(4);
  auto first = memory.reader();
  first->reuse(count_up(0, 640), kSecond);
  ASSERT_TRUE(memory.compute_long(*first, count_up(0, 640), kSecond));
  while (memory.spill_one(*first)) {
  }
  first->refresh();
  std::vector<std::vector<uint8_t>> stored;
  for (const PageIndex page : first->pages()) stored.push_back(memory.disk.at(page & ~kLeasedPage));
  memory.finish(std::move(first), kSecond);
  EXPECT_TRUE(memory.disk.empty());
  auto second = memory.reader();
  EXPECT_EQ(second->reuse(count_up(0, 640), kSecond), 0);
  std::vector<uint32_t> leases;
  for (uint32_t i = 0; i < 10; ++i) {
    memory.disk[500 + i] = stored[i];
    leases.push_back(500 + i);
  }
  second->adopt(count_up(0, 640), leases, kSecond);
  EXPECT_EQ(second->committed(), 640);
  EXPECT_TRUE(memory.intact_anywhere(*second));
  // A second reader that adopts the same pages has no use for its own leases.
  auto third = memory.reader();
  third->reuse({}, kSecond);
  memory.disk[900] = stored[0];
  third->adopt(count_up(0, 64), std::vector<uint32_t>{900}, kSecond);
  memory.take_unused();
  EXPECT_FALSE(memory.disk.contains(900));
  EXPECT_TRUE(memory.intact_anywhere(*third));
}

TEST(ChainAbsent, a_lost_page_is_not_found_until_it_is_restored) {
  PagedMemory memory(6);
  auto reader = memory.reader();
  reader->reuse(count_up(0, 640), kSecond);
  ASSERT_TRUE(memory.compute_long(*reader, count_up(0, 640), kSecond));
  while (memory.spill_one(*reader)) {
  }
  memory.index.lose(reader->nodes()[3]);
  reader->refresh();
  EXPECT_EQ(reader->pages()[3], kLostPage);
  EXPECT_EQ(memory.index.match(memory.tenant, count_up(0, 640), Where::kAnywhere).tokens(), 192);
  memory.restore(*reader, 3);
  EXPECT_TRUE(memory.intact_anywhere(*reader));
  EXPECT_TRUE(in_memory(reader->pages()[3]));
  EXPECT_EQ(memory.index.match(memory.tenant, count_up(0, 640), Where::kAnywhere).tokens(), 640);
  EXPECT_EQ(reader->pages_kept(), 1);
  memory.lease_all(*reader);
  EXPECT_EQ(reader->pages_kept(), 0);
}

// A million tokens are 16,000 pages deep.
TEST(ChainAbsent, a_long_chain_is_given_up_without_recursion) {
  PagedMemory memory(3);
  auto reader = memory.reader();
  reader->reuse({}, kSecond);
  const Tokens tokens = count_up(0, 16'000 * 64);
  std::vector<uint32_t> leases;
  for (uint32_t i = 0; i < 16'000; ++i) {
    memory.disk[i] = {};
    leases.push_back(i);
  }
  reader->adopt(tokens, leases, kSecond);
  memory.finish(std::move(reader), kSecond);
  EXPECT_TRUE(memory.disk.empty());
  EXPECT_EQ(memory.available(tokens), 0);
}

// Random readers and others, which share beginnings, in too little memory.
class AbsentRandom {
 public:
  explicit AbsentRandom(uint64_t seed) : random_(seed) {}

  void step() {
    switch (random_.below(8)) {
      case 0: start(); break;
      case 1: finish(); break;
      case 2: spill(); break;
      case 3: lose(); break;
      case 4: hold(); break;
      case 5: memory_.index.evict_one(); break;
      case 6: drop(); break;
      default: grow();
    }
    check();
  }

  void end() {
    while (!running_.empty()) finish();
    for (const auto id : holds_) memory_.index.drop_hold(id);
    while (memory_.index.evict_one()) {
    }
    memory_.take_unused();
    EXPECT_EQ(memory_.pool.used_count(), 0u);
    EXPECT_EQ(memory_.index.node_count(), 0u);
    EXPECT_EQ(memory_.index.spillable_count(), 0u);
    EXPECT_TRUE(memory_.disk.empty());
  }

 private:
  struct Running {
    std::unique_ptr<ChainSequence> sequence;
    Tokens chain;
    bool reads;
  };

  Tokens chain() {
    const auto shared = static_cast<int32_t>(random_.below(2)) * 10'000;
    const Tokens own = count_up(100'000 + static_cast<int32_t>(random_.below(3)) * 10'000, 1500);
    return join(count_up(shared, random_.below(500)), own);
  }

  void start() {
    if (running_.size() == 4) return;
    Running next = {nullptr, chain(), random_.below(2) == 0};
    next.sequence = next.reads ? memory_.reader() : memory_.sequence();
    next.sequence->reuse(next.chain, ++now_us_);
    running_.push_back(std::move(next));
  }

  void finish() {
    if (running_.empty()) return;
    const size_t which = random_.below(running_.size());
    memory_.finish(std::move(running_[which].sequence), ++now_us_);
    running_.erase(running_.begin() + static_cast<ptrdiff_t>(which));
  }

  void grow() {
    if (running_.empty()) return;
    Running& running = running_[random_.below(running_.size())];
    const auto done = static_cast<size_t>(running.sequence->committed());
    const size_t count = std::min<size_t>(random_.below(150), running.chain.size() - done);
    const auto more = std::span(running.chain).subspan(done, count);
    if (running.reads) {
      (void)memory_.compute_long(*running.sequence, more, ++now_us_);
    } else if (done < 200) {
      (void)memory_.compute(*running.sequence, more, ++now_us_);
    }
  }

  void spill() {
    if (running_.empty()) return;
    memory_.spill_one(*running_[random_.below(running_.size())].sequence);
  }

  void lose() {
    if (running_.empty()) return;
    const Running& running = running_[random_.below(running_.size())];
    const auto nodes = running.sequence->nodes();
    if (!running.reads || nodes.empty()) return;
    const size_t page = random_.below(nodes.size());
    if (in_memory(page_of(nodes[page]))) return;
    memory_.index.lose(nodes[page]);
    if (!memory_.pool.free_count() && !memory_.index.evictable_count() &&
        !memory_.index.spillable_count()) {
      return;
    }
    memory_.restore(*running.sequence, page);
  }

  void hold() {
    if (holds_.size() > 3) {
      memory_.index.drop_hold(holds_.front());
      holds_.erase(holds_.begin());
    }
    const Tokens tokens = chain();
    const auto id =
        memory_.index.hold(memory_.tenant, std::span(tokens).first(64 * random_.below(8)));
    if (!id) return;
    holds_.push_back(*id);
    if (random_.below(3) == 0) memory_.index.pin(*id);
  }

  void drop() {
    const Tokens tokens = chain();
    memory_.index.drop_subtree(memory_.tenant, tokens, 64 * static_cast<int64_t>(random_.below(6)),
                               Removal::kDeleted, random_.below(2) == 0);
  }

  void check() {
    memory_.take_unused();
    size_t spillable = 0;
    std::set<const ChainIndex::Node*> seen;
    for (Running& running : running_) {
      ASSERT_TRUE(memory_.intact_anywhere(*running.sequence));
      for (const ChainIndex::Node* node : running.sequence->nodes()) {
        if (seen.insert(node).second && can_spill(node)) ++spillable;
        ASSERT_TRUE(running.reads || in_memory(page_of(node)));
      }
    }
    ASSERT_EQ(memory_.index.spillable_count(), spillable);
    ASSERT_LE(memory_.index.node_count(), memory_.pool.used_count());
  }

  PagedMemory memory_{14};
  Random random_;
  std::vector<Running> running_;
  std::vector<ChainIndex::HoldId> holds_;
  int64_t now_us_ = kSecond;
};

TEST(ChainAbsent, random_readers_and_others_see_only_their_own_bytes) {
  const uint64_t seed = testing::test_seed();
  for (uint64_t round = 0; round < testing::long_or<uint64_t>(400, 30); ++round) {
    AbsentRandom world(seed + round);
    for (int i = 0; i < 300 && !::testing::Test::HasFatalFailure(); ++i) world.step();
    world.end();
    if (::testing::Test::HasFailure()) FAIL() << "round " << round;
  }
}

TEST(ChainAbsent, leases_of_chains_that_nobody_uses_can_be_given_up) {
  PagedMemory memory(8);
  auto reader = memory.reader();
  reader->reuse(count_up(0, 640), kSecond);
  ASSERT_TRUE(memory.compute_long(*reader, count_up(0, 640), kSecond));
  reader->finish(kSecond);
  memory.take_unused();
  // The last page is in memory, so the leases of the absent pages before it are still needed.
  const auto anywhere = [&] {
    return memory.index.match(memory.tenant, count_up(0, 640), ChainIndex::Where::kAnywhere)
        .tokens();
  };
  ASSERT_EQ(anywhere(), 640);
  const int64_t in_memory = memory.index.match(memory.tenant, count_up(0, 640)).tokens();
  ASSERT_LT(in_memory, 640);
  ASSERT_GT(in_memory, 0);
  memory.take_unused(/*of_idle=*/true);
  EXPECT_EQ(anywhere(), in_memory) << "pages that are in memory from the beginning on stay";
  EXPECT_TRUE(memory.disk.empty());
  // A reader's pages stay.
  auto other = memory.reader();
  ASSERT_TRUE(memory.compute_long(*other, count_up(1000, 1640), kSecond));
  memory.take_unused(/*of_idle=*/true);
  EXPECT_TRUE(memory.intact_anywhere(*other));
}

}  // namespace
}  // namespace cascade
