// The registry against a naive list: tenants, times, pins, publishing, in any order.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "base/random.h"
#include "cache/chunk_registry.h"
#include "cache/holders.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

constexpr const char* kTenants[] = {"local", "alice", "bob"};

// All chunks that were added and not removed, in order of creation; nothing is looked up by key.
class NaiveRegistry {
 public:
  static bool over(const Chunk& chunk, int64_t now_us) {
    return !chunk.pinned && chunk.expires_us != 0 && chunk.expires_us <= now_us;
  }
  Chunk* same_content(const Chunk& wanted, int64_t now_us) {
    for (Chunk& chunk : chunks) {
      const bool same = chunk.tenant == wanted.tenant && chunk.type == wanted.type &&
                        chunk.content_hash == wanted.content_hash;
      if (same && !over(chunk, now_us)) return &chunk;
    }
    return nullptr;
  }
  std::vector<Chunk*> found(const std::string& tenant, const std::string& id, int64_t now_us) {
    std::vector<Chunk*> begins;
    for (Chunk& chunk : chunks) {
      const bool may = chunk.tenant == tenant || chunk.published;
      if (!may || over(chunk, now_us) || !chunk.id.starts_with(id)) continue;
      if (chunk.id == id) return {&chunk};
      if (id.size() >= 8) begins.push_back(&chunk);
    }
    return begins;
  }
  std::vector<std::string> listed(const std::string& tenant, std::optional<ChunkType> type,
                                  int64_t now_us) const {
    std::vector<std::string> ids;
    for (auto chunk = chunks.rbegin(); chunk != chunks.rend(); ++chunk) {
      const bool may = chunk->tenant == tenant || chunk->published;
      if (may && !over(*chunk, now_us) && (!type || chunk->type == *type)) ids.push_back(chunk->id);
    }
    return ids;
  }
  std::deque<Chunk> chunks;
};

class RegistryModel : public ::testing::Test {
 protected:
  std::string some_tenant() { return kTenants[random_.below(3)]; }

  void put() {
    Chunk chunk;
    chunk.tenant = some_tenant();
    chunk.type = random_.below(3) == 0 ? ChunkType::kOutput : ChunkType::kContext;
    chunk.text = std::to_string(random_.below(60));
    // All ids have the same length, like real ones, so that no id is the beginning of another.
    chunk.id = "chunk_" + std::to_string((100 + random_.below(400)) * 100'000 + ++count_);
    chunk.content_hash = chunk_content_hash(chunk);
    if (random_.below(3) == 0) chunk.expires_us = now_us_ + 1 + int64_t(random_.below(50));
    Chunk* present = naive_.same_content(chunk, now_us_);
    const auto added = registry_.add(chunk);
    ASSERT_TRUE(added.ok());
    ASSERT_EQ((*added)->chunk.id, present == nullptr ? chunk.id : present->id);
    if (present == nullptr) {
      naive_.chunks.push_back(chunk);
    } else {
      ++present->registrations;
    }
    // Holders are tested in tests/cache/holders_test.cc.
    take_holders(present == nullptr ? naive_.chunks.back() : *present, (*added)->chunk);
  }

  static void take_holders(Chunk& to, const Chunk& from) {
    to.holders = from.holders;
    to.pinned = from.pinned;
    to.expires_us = from.expires_us;
    to.priority = from.priority;
    to.priority_until_us = from.priority_until_us;
    to.name = from.name;
  }

  // An id that exists, or the beginning of one, or an id that does not exist.
  std::string some_id() {
    if (naive_.chunks.empty() || random_.below(8) == 0) return "chunk_" + std::to_string(count_);
    const std::string id = naive_.chunks[random_.below(naive_.chunks.size())].id;
    return random_.below(3) == 0 ? id.substr(0, 7 + random_.below(5)) : id;
  }

  // The chunk that registry and model find; nullptr if both found none, or more than one.
  ChunkEntry* look_up(const std::string& tenant, const std::string& id) {
    const auto found = registry_.find(tenant, id);
    const std::vector<Chunk*> expected = naive_.found(tenant, id, now_us_);
    EXPECT_EQ(found.ok(), expected.size() == 1) << tenant << " " << id;
    if (!found.ok()) {
      const auto code = expected.empty() ? ErrorCode::kNotFound : ErrorCode::kInvalidArgument;
      EXPECT_EQ(found.error().code, code);
      return nullptr;
    }
    EXPECT_EQ((*found)->chunk, *expected.front());
    return *found;
  }

  Chunk& twin(const ChunkEntry& entry) {
    return *std::ranges::find_if(naive_.chunks, [&](const Chunk& chunk) {
      return chunk.id == entry.chunk.id && chunk.tenant == entry.chunk.tenant;
    });
  }

  void change() {
    const std::string tenant = some_tenant();
    ChunkEntry* entry = look_up(tenant, some_id());
    if (entry == nullptr) return;
    const auto own = registry_.find_own(tenant, entry->chunk.id);
    ASSERT_EQ(own.ok(), entry->chunk.tenant == tenant);
    if (!own.ok()) {
      ASSERT_EQ(own.error().code, ErrorCode::kConflict);
      return;
    }
    Chunk& expected = twin(*entry);
    Chunk& chunk = entry->chunk;
    HolderTerms terms;
    switch (random_.below(4)) {
      case 0: terms.pinned = random_.below(2) == 0; break;
      case 1: terms.expires_us = random_.below(3) == 0 ? 0 : now_us_ + 1 + random_.below(50); break;
      case 2: {
        const bool publish = random_.below(2) == 0;
        registry_.publish(*entry, publish);
        expected.published = publish;
        break;
      }
      default:
        terms.priority = 60;
        terms.priority_until_us = random_.below(2) == 0 ? 0 : now_us_ + 1 + random_.below(50);
    }
    change_unnamed(chunk, terms);
    take_holders(expected, chunk);
    registry_.reschedule(*entry);
  }

  void remove() {
    const std::string tenant = some_tenant();
    ChunkEntry* entry = look_up(tenant, some_id());
    const bool own = entry != nullptr && entry->chunk.tenant == tenant;
    if (!own) return;
    const Chunk expected = twin(*entry);
    const auto removed = registry_.remove(tenant, expected.id);
    ASSERT_TRUE(removed.ok());
    Chunk unpublished = expected;
    unpublished.published = false;
    ASSERT_EQ(removed->chunk, unpublished);
    forget(expected);
    const auto gone = registry_.find(tenant, expected.id);
    ASSERT_FALSE(gone.ok());
    ASSERT_NE(gone.error().message.find("was deleted"), std::string::npos) << gone.error().message;
  }

  void forget(const Chunk& gone) {
    const auto at = std::ranges::find_if(naive_.chunks, [&](const Chunk& chunk) {
      return chunk.id == gone.id && chunk.tenant == gone.tenant;
    });
    ASSERT_NE(at, naive_.chunks.end());
    naive_.chunks.erase(at);
  }

  // Time passes, or goes back. Some of the holders whose time is over are removed.
  void pass_time() {
    now_us_ += random_.below(10) == 0 ? -int64_t(random_.below(20)) : int64_t(random_.below(20));
    registry_.set_time(now_us_);
    for (ChunkEntry* entry : registry_.due(random_.below(4))) {
      const Chunk before = entry->chunk;
      ASSERT_TRUE(pass_holders_time(entry->chunk, now_us_)) << before.id;
      ASSERT_EQ(entry->chunk.holders.empty(), NaiveRegistry::over(before, now_us_)) << before.id;
      if (!entry->chunk.holders.empty()) {
        take_holders(twin(*entry), entry->chunk);
        registry_.reschedule(*entry);
        continue;
      }
      registry_.remove(*entry, Removal::kExpired);
      forget(before);
    }
  }

  void compare() {
    for (const char* tenant : kTenants) {
      for (const auto type :
           {std::optional<ChunkType>(), std::optional<ChunkType>(ChunkType::kOutput)}) {
        std::vector<std::string> ids;
        ChunkRegistry::Page page;
        do {  // page by page
          const size_t limit = 1 + random_.below(20);
          const auto next = registry_.list(tenant, type, limit, ids.empty() ? "" : ids.back());
          ASSERT_TRUE(next.ok()) << next.error().to_string();
          page = *next;
          ASSERT_TRUE(!page.more || page.entries.size() == limit);
          for (const ChunkEntry* entry : page.entries) ids.push_back(entry->chunk.id);
        } while (page.more);
        ASSERT_EQ(ids, naive_.listed(tenant, type, now_us_)) << tenant;
      }
    }
    ASSERT_EQ(registry_.count(false) + registry_.count(true), naive_.chunks.size());
    const auto over = std::ranges::count_if(
        naive_.chunks, [&](const Chunk& chunk) { return NaiveRegistry::over(chunk, now_us_); });
    ASSERT_GE(registry_.due(SIZE_MAX).size(), static_cast<size_t>(over));
  }

  Random random_{testing::test_seed()};
  ChunkRegistry registry_;
  NaiveRegistry naive_;
  int64_t now_us_ = 1000;
  int count_ = 0;
};

TEST_F(RegistryModel, agrees_with_a_naive_list_under_random_operations) {
  registry_.set_time(now_us_);
  const int steps = testing::long_or(20'000, 4'000);
  for (int step = 0; step < steps && !HasFatalFailure(); ++step) {
    switch (random_.below(6)) {
      case 0:
      case 1: put(); break;
      case 2:
      case 3: change(); break;
      case 4: remove(); break;
      default: pass_time();
    }
    if (step % 10 == 0) compare();
  }
}

TEST(ChunkRegistry, limits_are_of_each_tenant) {
  ChunkRegistry registry(4096);
  Chunk chunk;
  chunk.tenant = "greedy";
  for (int i = 0;; ++i) {
    chunk.id = "chunk_" + std::to_string(1000 + i);
    chunk.content_hash = std::to_string(i);
    if (!registry.add(chunk).ok()) break;
    ASSERT_LT(i, 1000);
  }
  chunk.tenant = "modest";
  EXPECT_TRUE(registry.add(chunk).ok());
}

// The bytes of all tenants together stay near the limit, however many tenants there are.
TEST(ChunkRegistry, the_bytes_of_all_tenants_are_shared_out) {
  constexpr int kChunkBytes = 100'000;
  constexpr int64_t kLimit = 100 * kChunkBytes;
  ChunkRegistry registry(kLimit);
  int number = 0;
  const auto fill = [&](const std::string& tenant) {
    for (int added = 0;; ++added) {
      Chunk chunk;
      chunk.tenant = tenant;
      chunk.id = "chunk_" + std::to_string(10'000 + number);
      chunk.content_hash = std::to_string(number++);
      chunk.client_data = std::string(kChunkBytes, 'x');
      if (!registry.add(chunk).ok()) return added;
    }
  };
  const int alone = fill("first");
  EXPECT_GT(alone, 95);
  EXPECT_EQ(fill("first"), 0);
  EXPECT_GE(fill("second"), 24) << "half of an equal part of two";
  int more = 0;
  for (int i = 0; i < 30; ++i) more += fill("tenant" + std::to_string(i));
  EXPECT_LT(more, 2 * alone) << "many together have little more than one has alone";
  EXPECT_GE(fill("last"), 1) << "who has nothing can keep something";
}

TEST(ChunkRegistry, what_was_stored_is_there_again_whatever_the_limits_are_now) {
  ChunkRegistry registry(4096);
  for (int i = 0; i < 100; ++i) {
    Chunk chunk;
    chunk.tenant = i % 2 == 0 ? "a" : "b";
    chunk.id = "chunk_" + std::to_string(10'000 + i);
    chunk.content_hash = std::to_string(i);
    ASSERT_TRUE(registry.restore(chunk).ok());
  }
  EXPECT_EQ(registry.all().size(), 100u);
  Chunk chunk;
  chunk.tenant = "a";
  chunk.id = "chunk_of_today";
  chunk.content_hash = "another";
  EXPECT_FALSE(registry.add(chunk).ok());
}

TEST(ChunkRegistry, a_chunk_whose_time_is_over_makes_way_for_the_same_content) {
  ChunkRegistry registry;
  Chunk chunk;
  chunk.tenant = "a";
  chunk.id = "chunk_00000001";
  chunk.content_hash = "x";
  chunk.expires_us = 10;
  ChunkEntry* first = *registry.add(chunk);
  registry.set_time(10);
  chunk.id = "chunk_00000002";
  chunk.expires_us = 0;
  ChunkEntry* second = *registry.add(chunk);
  EXPECT_EQ(second->chunk.id, "chunk_00000002");
  EXPECT_NE(registry.find("a", "chunk_00000001").error().message.find("has expired"),
            std::string::npos);
  registry.remove(*first, Removal::kExpired);
  // The remaining chunk is still found by its content.
  chunk.id = "chunk_00000003";
  EXPECT_EQ(*registry.add(chunk), second);
  EXPECT_NE(registry.find("a", "chunk_00000001").error().message.find("has expired"),
            std::string::npos);
}

TEST(ChunkRegistry, a_chunk_whose_time_is_over_may_outlive_the_one_that_took_its_place) {
  ChunkRegistry registry;
  Chunk chunk;
  chunk.tenant = "a";
  chunk.id = "chunk_00000001";
  chunk.content_hash = "x";
  chunk.expires_us = 10;
  ChunkEntry* first = *registry.add(chunk);
  registry.set_time(10);
  chunk.id = "chunk_00000002";
  chunk.expires_us = 0;
  ASSERT_NE(*registry.add(chunk), first);
  ASSERT_TRUE(registry.remove("a", "chunk_00000002").ok());
  registry.set_time(9);  // the clock went back
  chunk.id = "chunk_00000003";
  EXPECT_EQ(*registry.add(chunk), first);
  registry.remove(*first, Removal::kExpired);
  EXPECT_EQ(registry.count(false), 0U);
}

TEST(ChunkRegistry, remembers_a_bounded_number_of_removed_ids) {
  ChunkRegistry registry;
  Chunk chunk;
  chunk.tenant = "a";
  for (size_t i = 0; i <= ChunkRegistry::kGoneMax; ++i) {
    chunk.id = "chunk_" + std::to_string(100'000 + i);
    chunk.content_hash = std::to_string(i);
    ASSERT_TRUE(registry.add(chunk).ok());
    ASSERT_TRUE(registry.remove("a", chunk.id).ok());
  }
  EXPECT_EQ(registry.find("a", "chunk_100000").error().message, "no chunk \"chunk_100000\"");
  EXPECT_EQ(registry.find("a", chunk.id).error().message, "chunk \"" + chunk.id + "\" was deleted");
  EXPECT_EQ(registry.find("b", chunk.id).error().message, "no chunk \"" + chunk.id + '"');
}

}  // namespace
}  // namespace cascade
