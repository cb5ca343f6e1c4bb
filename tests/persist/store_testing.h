// Chunks, sessions and pages whose content is computed from a number, so that a test knows what
// must be read back.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/hash.h"
#include "base/random.h"
#include "persist/store.h"

namespace cascade::testing {

inline constexpr char kStateDir[] = "/state";
inline const std::string kDatabase = "/state/metadata.db";
// Not a multiple of a block, so that there is padding.
inline constexpr uint64_t kPageBytes = 5000;

// For EXPECT_TRUE: a failure tells the error.
template <class T>
::testing::AssertionResult ok(const Result<T>& result) {
  if (result.ok()) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << result.error().to_string();
}

inline Chunk make_chunk(uint64_t n, const std::string& tenant = "a") {
  Random random(n);
  Chunk chunk;
  chunk.id = "output_" + std::to_string(n);
  chunk.type = static_cast<ChunkType>(n % 4);
  chunk.tenant = tenant;
  chunk.content_hash = Hasher().field("n", n).finish().hex();
  chunk.text = "text of chunk " + std::to_string(n) + " word" + std::to_string(random.below(50));
  chunk.query_text = n % 2 == 0 ? "what is " + std::to_string(n) + "?" : "";
  chunk.client_data = n % 3 == 0 ? "data of " + std::to_string(n) : "";
  chunk.raw_text = std::string("<think>\0</think>", 16) + chunk.text;
  for (uint64_t i = 0; i < random.below(40); ++i) {
    chunk.token_ids.push_back(static_cast<int32_t>(random.below(1 << 20)));
  }
  for (int32_t i = 0; i < static_cast<int32_t>(n % 3); ++i) {
    chunk.think_spans.push_back({i * 10, i * 10 + 5, i == 0});
    chunk.parent_ids.push_back("chunk_" + std::to_string(n + i));
  }
  chunk.think_policy = static_cast<ThinkPolicy>(n < 5 ? n % 3 : n % 5);
  chunk.kv_state = static_cast<KvState>(n % 3);
  chunk.kv_tokens = static_cast<int64_t>(random.below(1000));
  chunk.kv_bytes = static_cast<int64_t>(random.below(1 << 20));
  chunk.kv_key = random.below(2) == 0 ? "" : "f00d";
  chunk.kv_begin = static_cast<int64_t>(random.below(1 << 20));
  chunk.generation = {.temperature = 0.7,
                      .top_p = 0.95,
                      .top_k = 40,
                      .min_p = 0.01,
                      .repetition_penalty = 1.1,
                      .seed = random(),
                      .max_tokens = 128,
                      .finish_reason = "stop",
                      .presence_penalty = 0.1,
                      .frequency_penalty = -0.2,
                      .logit_bias_count = 3};
  // The first five chunks are in databases of versions that had no approximations.
  if (n >= 5) chunk.generation.approximation = static_cast<Approximation>(n % 3);
  chunk.created_us = static_cast<int64_t>(1'000'000 + n);
  chunk.last_used_us = static_cast<int64_t>(2'000'000 + n);
  chunk.hits = static_cast<int64_t>(n);
  chunk.pinned = n % 5 == 0;
  chunk.expires_us = n % 7 == 0 ? 5'000'000 : 0;
  chunk.priority = static_cast<int32_t>(n % 100);
  chunk.priority_until_us = n % 2 == 0 ? 9 : 0;
  chunk.name = n % 3 == 0 ? "name " + std::to_string(n) : "";
  chunk.registrations = 2;
  chunk.published = n % 11 == 0;
  return chunk;
}

inline Session make_session(uint64_t n) {
  Session session = {.id = "session_" + std::to_string(n),
                     .tenant = "a",
                     .created_us = 1,
                     .last_used_us = static_cast<int64_t>(n),
                     .turns = {}};
  for (int64_t turn = 0; turn < static_cast<int64_t>(n % 4); ++turn) {
    session.turns.push_back({turn, "output_" + std::to_string(n)});
  }
  return session;
}

inline Digest model_digest() {
  return Hasher().field("model", "test").finish();
}

// A chain of pages that a number names. The last page has 17 tokens.
struct TestChain {
  explicit TestChain(uint64_t n, size_t page_count = 3, uint64_t bytes = kPageBytes)
      : page_bytes(bytes) {
    Digest parent = model_digest();
    for (size_t i = 0; i < page_count; ++i) {
      const size_t tokens = i + 1 < page_count ? 64 : 17;
      std::vector<int32_t> ids(tokens);
      Random random(n * 1000 + i);
      for (int32_t& id : ids) id = static_cast<int32_t>(random.below(1 << 18));
      token_ids.push_back(ids);
      keys.push_back(Hasher().field("parent", parent).field("tokens", ids).finish());
      parent = keys.back();
      std::vector<uint8_t> page(bytes);
      // Half of a page can be compressed.
      for (size_t at = 0; at < bytes; at += 2) page[at] = static_cast<uint8_t>(random());
      pages.push_back(std::move(page));
    }
    for (size_t i = 0; i < page_count; ++i) {
      run_pages.push_back({keys[i], token_ids[i], pages[i].data()});
    }
  }
  TestChain(TestChain&&) = default;
  TestChain(const TestChain& other)
      : page_bytes(other.page_bytes),
        token_ids(other.token_ids),
        keys(other.keys),
        pages(other.pages) {
    for (size_t i = 0; i < keys.size(); ++i)
      run_pages.push_back({keys[i], token_ids[i], pages[i].data()});
  }
  TestChain& operator=(TestChain&&) = default;

  PageRun run(const std::string& tenant = "a") const {
    return {tenant, model_digest(), model_digest(), 0, page_bytes, run_pages};
  }

  uint64_t page_bytes;
  std::vector<std::vector<int32_t>> token_ids;
  std::vector<Digest> keys;
  std::vector<std::vector<uint8_t>> pages;
  std::vector<RunPage> run_pages;
};

// Reads the chain, and tells how many pages are there. Fails the test if one of them has wrong
// bytes.
inline PagesRead read_chain(KvStore& kv, const TestChain& chain) {
  std::vector<std::vector<uint8_t>> to(chain.keys.size(), std::vector<uint8_t>(chain.page_bytes));
  std::vector<PageRead> reads;
  for (size_t i = 0; i < chain.keys.size(); ++i) {
    reads.push_back({chain.keys[i], chain.token_ids[i], to[i].data()});
  }
  const PagesRead read = kv.read(chain.page_bytes, reads);
  for (size_t i = 0; i < read.good; ++i) {
    EXPECT_EQ(std::memcmp(to[i].data(), chain.pages[i].data(), chain.page_bytes), 0)
        << "wrong bytes of page " << i;
  }
  EXPECT_EQ(read.good < chain.keys.size(), read.error.has_value());
  return read;
}

// The number of pages of the chain that can be read one by one; bytes are compared as above.
inline size_t count_pages(KvStore& kv, const TestChain& chain) {
  size_t good = 0;
  for (size_t i = 0; i < chain.keys.size(); ++i) {
    std::vector<uint8_t> to(chain.page_bytes);
    const PageRead read = {chain.keys[i], chain.token_ids[i], to.data()};
    if (kv.read(chain.page_bytes, {&read, 1}).good == 0) continue;
    ++good;
    EXPECT_EQ(to, chain.pages[i]) << "wrong bytes of page " << i;
  }
  return good;
}

inline StoreOptions test_options() {
  StoreOptions options;
  options.kv.free_bytes_min = 0;
  options.kv.file_bytes_max = 64 << 10;
  return options;
}

inline std::unique_ptr<Store> open_store(FileCalls& calls,
                                         const StoreOptions& options = test_options()) {
  auto store = Store::open(calls, kStateDir, options);
  EXPECT_TRUE(store.ok()) << (store.ok() ? "" : store.error().to_string());
  return store.ok() ? *std::move(store) : nullptr;
}

}  // namespace cascade::testing
