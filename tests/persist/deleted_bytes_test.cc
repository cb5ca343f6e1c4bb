// A deleted chunk leaves no token ids in the state directory. The store does other work before,
// between and after the deletes, so that rows move, grow and shrink, in the database and its log.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"
#include "persist/store.h"
#include "tests/persist/memory_disk.h"
#include "tests/persist/store_testing.h"
#include "tests/seed.h"

namespace cascade::testing {
namespace {

// A mark is six consecutive token ids. Each mark has one owner. When the owner is deleted, nobody
// may find the mark.
constexpr size_t kMarkTokens = 6;
constexpr size_t kMarkBytes = kMarkTokens * sizeof(int32_t);
constexpr size_t kPagesMax = 17;

// A prompt of some pages, and the context that the prompt is made of.
struct Kept {
  Chunk chunk;
  TestChain chain;
  size_t stored_pages = 0;
  bool has_row = false;
};

struct Gone {
  uint64_t of = 0;
  std::array<uint8_t, kMarkBytes> mark = {};
};

// Marks are looked up by their first bytes.
uint64_t first_of(const uint8_t* mark) {
  uint64_t first = 0;
  std::memcpy(&first, mark, sizeof first);
  return first;
}

class DeletedBytes : public ::testing::Test {
 protected:
  void SetUp() override { open(); }

  void open() {
    StoreOptions options = test_options();
    options.kv.file_bytes_max = 256 << 10;
    store_ = open_store(disk_, options);
    ASSERT_NE(store_, nullptr);
  }

  void add() {
    const uint64_t n = next_++;
    Kept kept = {make_chunk(n), TestChain(n, 1 + random_.below(kPagesMax), 512)};
    kept.chunk.type = ChunkType::kContext;
    kept.chunk.token_ids.clear();
    for (const auto& ids : kept.chain.token_ids) {
      kept.chunk.token_ids.insert(kept.chunk.token_ids.end(), ids.begin(), ids.end());
    }
    if (random_.below(4) > 0) {
      ASSERT_TRUE(store_->put(kept.chunk).ok());
      kept.has_row = true;
    }
    there_.emplace(n, std::move(kept));
  }
  // Appends the pages in parts, as a prompt is computed.
  void append(Kept& kept) {
    const size_t from = kept.stored_pages;
    const size_t count = kept.chain.keys.size() - from;
    if (count == 0) return;
    const size_t part = 1 + random_.below(count);
    PageRun run = kept.chain.run();
    run.parent = from == 0 ? run.parent : kept.chain.keys[from - 1];
    run.position = static_cast<int64_t>(from * kKvPageTokensMax);
    run.pages = std::span(kept.chain.run_pages).subspan(from, part);
    ASSERT_TRUE(store_->kv().append(run, now_++).ok());
    kept.stored_pages = from + part;
    for (size_t i = from; i < kept.stored_pages; ++i) {
      if (!kept.has_row) break;
      ASSERT_TRUE(
          store_->kv()
              .put_use({kept.chain.keys[i], kept.chunk.tenant, kept.chunk.id, i % 3 == 0, 0})
              .ok());
    }
    if (random_.below(2) == 0) {
      ASSERT_TRUE(
          store_->kv()
              .put_owner({kept.chain.keys[kept.stored_pages - 1],
                          kept.has_row ? kept.chunk.tenant : "", kept.has_row ? kept.chunk.id : ""})
              .ok());
    }
  }
  void use(Kept& kept) {
    if (kept.has_row && random_.below(2) == 0) {
      ASSERT_TRUE(store_->touch(kept.chunk.tenant, kept.chunk.id, 5, 6, now_++).ok());
    } else if (kept.has_row) {
      kept.chunk.name = std::string(random_.below(60), 'n');
      ASSERT_TRUE(store_->put(kept.chunk).ok());
    }
    ASSERT_TRUE(
        store_->kv().touch(std::span(kept.chain.keys).first(kept.stored_pages), now_++).ok());
  }
  void remove(uint64_t n) {
    Kept& kept = there_.at(n);
    ASSERT_TRUE(store_->kv().remove(kept.chain.keys).ok());
    if (random_.below(3) == 0) {
      ASSERT_TRUE(store_->commit().ok());
    }
    if (kept.has_row) {
      ASSERT_TRUE(store_->remove(kept.chunk.tenant, kept.chunk.id).ok());
    }
    for (const auto& ids : kept.chain.token_ids) {
      for (size_t at = 0; at + kMarkTokens <= ids.size(); at += kMarkTokens) {
        Gone& gone = gone_[first_of(reinterpret_cast<const uint8_t*>(&ids[at]))];
        gone.of = n;
        std::memcpy(gone.mark.data(), &ids[at], kMarkBytes);
      }
    }
    there_.erase(n);
  }
  void forget() {
    while (true) {
      const auto more = store_->forget_step();
      ASSERT_TRUE(ok(more));
      if (!*more) return;
    }
  }

  Kept* any() {
    if (there_.empty()) return nullptr;
    auto it = there_.begin();
    std::advance(it, random_.below(there_.size()));
    return &it->second;
  }

  void step() {
    const uint64_t what = random_.below(20);
    if (what < 5) return add();
    if (Kept* kept = any(); what < 11) {
      if (kept != nullptr) append(*kept);
    } else if (what < 14) {
      if (kept != nullptr) use(*kept);
    } else if (what < 17) {
      ASSERT_TRUE(store_->commit().ok());
    } else if (what == 17) {
      ASSERT_TRUE(ok(store_->kv().compact(64 << 10)));
      ASSERT_TRUE(store_->commit().ok());
    } else if (what == 18 && random_.below(10) == 0) {
      forget();
    } else if (what == 19 && random_.below(40) == 0) {
      restart();
    }
  }
  void restart() {
    ASSERT_TRUE(store_->commit().ok());
    if (random_.below(2) == 0) {
      disk_.kill();
      MemoryDisk files = disk_.copy();
      store_.reset();
      disk_ = std::move(files);
    } else {
      store_.reset();
    }
    open();
  }

  // The first mark of a deleted owner that is still on the disk, and where it is.
  std::optional<std::string> found() {
    for (const std::string& path : disk_.paths()) {
      const std::vector<uint8_t>& bytes = disk_.bytes(path);
      for (size_t at = 0; at + kMarkBytes <= bytes.size(); ++at) {
        const auto gone = gone_.find(first_of(&bytes[at]));
        if (gone == gone_.end()) continue;
        if (std::memcmp(&bytes[at], gone->second.mark.data(), kMarkBytes) != 0) continue;
        const size_t page = at / kDatabasePageBytes;
        return path + ": ids of " + std::to_string(gone->second.of) + " at " + std::to_string(at) +
               ", in page " + std::to_string(page + 1) + " whose kind is " +
               std::to_string(bytes[page * kDatabasePageBytes]) + ", at byte " +
               std::to_string(at % kDatabasePageBytes);
      }
    }
    return std::nullopt;
  }

  Random random_{test_seed()};
  MemoryDisk disk_;
  std::unique_ptr<Store> store_;
  std::map<uint64_t, Kept> there_;
  std::unordered_map<uint64_t, Gone> gone_;  // by the first bytes of their marks
  uint64_t next_ = 0;
  int64_t now_ = 1;
};

TEST_F(DeletedBytes, are_nowhere_when_they_are_forgotten_nor_later) {
  for (int round = 0; round < 60; ++round) {
    const uint64_t steps = 10 + random_.below(30);
    for (uint64_t i = 0; i < steps; ++i) ASSERT_NO_FATAL_FAILURE(step());
    const uint64_t deletes = random_.below(3) == 0 ? 1 + random_.below(there_.size()) : 1;
    for (uint64_t i = 0; i < deletes && !there_.empty(); ++i) {
      auto it = there_.begin();
      std::advance(it, random_.below(there_.size()));
      ASSERT_NO_FATAL_FAILURE(remove(it->first));
    }
    ASSERT_TRUE(store_->commit().ok());
    ASSERT_NO_FATAL_FAILURE(forget());
    ASSERT_EQ(found(), std::nullopt) << "in round " << round;
    const uint64_t more = random_.below(6);
    for (uint64_t i = 0; i < more; ++i) {
      ASSERT_NO_FATAL_FAILURE(step());
      ASSERT_TRUE(store_->commit().ok());
      ASSERT_EQ(found(), std::nullopt) << "behind round " << round;
    }
  }
}

}  // namespace
}  // namespace cascade::testing
