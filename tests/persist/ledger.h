// Remembers what a store was told to keep, and checks whether it did.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/persist/store_testing.h"

namespace cascade::testing {

// Works on a store, with random() or one operation at a time, and remembers what was acknowledged.
// Operations may fail; verify() checks what a store promises in that case.
class Ledger {
 public:
  static constexpr uint64_t kChains = 8;
  static constexpr uint64_t kChunks = 12;

  Ledger() {
    for (uint64_t n = 0; n < kChains; ++n) chains_.emplace_back(n);
  }

  void put(Store& store, uint64_t n, int64_t hits = 1) {
    Chunk chunk = make_chunk(n);
    chunk.hits = hits;
    if (!store.put(chunk).ok()) return;
    working_.chunks[chunk.id] = chunk;
    versions_.push_back(chunk);
  }
  void touch(Store& store, uint64_t n, int64_t hits) {
    const std::string id = make_chunk(n).id;
    if (!store.touch("a", id, hits, 3, hits).ok() || !working_.chunks.contains(id)) return;
    Chunk& chunk = working_.chunks.at(id);
    chunk.hits = chunk.last_used_us = hits;
    chunk.registrations = 3;
    versions_.push_back(chunk);
  }
  void remove(Store& store, uint64_t n) {
    if (store.remove("a", make_chunk(n).id).ok()) working_.chunks.erase(make_chunk(n).id);
  }
  void put_session(Store& store, uint64_t n) {
    if (store.sessions().put(make_session(n)).ok()) {
      working_.sessions[make_session(n).id] = make_session(n);
    }
  }
  void append(Store& store, uint64_t chain) {
    if (store.kv().append(chains_[chain].run(), 1).ok()) {
      for (size_t i = 0; i < chains_[chain].keys.size(); ++i) working_.pages.insert({chain, i});
    }
  }
  void drop(Store& store, uint64_t chain) {
    for (size_t i = 0; i < chains_[chain].keys.size(); ++i) {
      const std::span<const Digest> key(&chains_[chain].keys[i], 1);
      if (store.kv().remove(key).ok()) working_.pages.erase({chain, i});
    }
  }
  void commit(Store& store) {
    const Status committed = store.commit();
    for (const Digest& key : store.kv().take_unwritten()) erase_page(key);
    if (committed.ok()) {
      acknowledged_ = working_;
      in_doubt_.clear();
    } else {
      in_doubt_.push_back(std::exchange(working_, acknowledged_));
    }
  }
  // Reads everything. Where bytes can be read, they must be right.
  void read(Store& store) {
    for (const TestChain& chain : chains_) read_chain(store.kv(), chain);
  }
  // Does one operation of any kind.
  void random(Store& store, Random& random) {
    const uint64_t n = random.below(kChunks);
    const uint64_t chain = random.below(kChains);
    switch (random.below(12)) {
      case 0:
      case 1: return put(store, n, static_cast<int64_t>(random.below(100)));
      case 2: return touch(store, n, static_cast<int64_t>(random.below(100)));
      case 3: return remove(store, n);
      case 4: return put_session(store, n);
      case 5:
      case 6:
      case 7: return append(store, chain);
      case 8: return drop(store, chain);
      case 9: return (void)store.kv().compact(30'000).ok();
      case 10: return (void)store.chunks().forget_step().ok();
      default: return commit(store);
    }
  }

  // Checks a store that was opened again: it has what was acknowledged last or, where a commit
  // reported an error, everything of this commit. Goes on from what the store has.
  ::testing::AssertionResult verify(Store& store) {
    const auto chunks = store.load();
    Findings findings;
    const auto sessions = store.sessions().load(findings);
    if (!chunks.ok()) return ::testing::AssertionFailure() << chunks.error().to_string();
    if (!sessions.ok()) return ::testing::AssertionFailure() << sessions.error().to_string();
    State there;
    for (const Chunk& chunk : *chunks) there.chunks[chunk.id] = chunk;
    for (const Session& session : *sessions) there.sessions[session.id] = session;
    const auto same_rows = [&](const State& state) {
      return state.chunks == there.chunks && state.sessions == there.sessions;
    };
    if (!same_rows(acknowledged_) && std::ranges::none_of(in_doubt_, same_rows)) {
      return ::testing::AssertionFailure()
             << there.chunks.size() << " chunks, acknowledged " << acknowledged_.chunks.size();
    }
    std::string errors;
    for (uint64_t n = 0; n < kChains; ++n) {
      for (size_t i = 0; i < chains_[n].keys.size(); ++i) {
        std::vector<uint8_t> to(kPageBytes);
        const PageRead read = {chains_[n].keys[i], chains_[n].token_ids[i], to.data()};
        const auto result = store.kv().read(kPageBytes, {&read, 1});
        const bool good = result.good == 1;
        if (!good && acknowledged_.pages.contains({n, i}))
          errors += result.error->to_string() + "; ";
        if (good && to != chains_[n].pages[i]) return ::testing::AssertionFailure() << "wrong page";
        if (good) there.pages.insert({n, i});
      }
    }
    for (const auto& page : acknowledged_.pages) {
      const auto removed = [&](const State& state) { return !state.pages.contains(page); };
      if (there.pages.contains(page) || std::ranges::any_of(in_doubt_, removed)) continue;
      return ::testing::AssertionFailure()
             << "lost page " << page.second << " of chain " << page.first << ": " << errors;
    }
    working_ = acknowledged_ = there;
    in_doubt_.clear();
    return ::testing::AssertionSuccess();
  }

  // Whether the store, which may be damaged, has everything that was acknowledged. Everything else
  // in it must be as it was once written; otherwise the test fails.
  bool has_all(Store& store) const {
    const auto chunks = store.load();
    Findings ignored;
    const auto sessions = store.sessions().load(ignored);
    EXPECT_TRUE(ok(chunks));
    EXPECT_TRUE(ok(sessions));
    if (!chunks.ok() || !sessions.ok()) return false;
    bool all = chunks->size() == acknowledged_.chunks.size() &&
               sessions->size() == acknowledged_.sessions.size();
    for (const Chunk& chunk : *chunks) {
      EXPECT_TRUE(std::ranges::any_of(versions_, [&](const Chunk& version) {
        return chunk == version || chunk == without_counters(version);
      })) << chunk.id;
      const auto found = acknowledged_.chunks.find(chunk.id);
      all = all && found != acknowledged_.chunks.end() && found->second == chunk;
    }
    for (const Session& session : *sessions) {
      const auto known = acknowledged_.sessions.find(session.id);
      if (known == acknowledged_.sessions.end()) return false;
      for (const SessionTurn& turn : session.turns) {
        EXPECT_EQ(std::ranges::count(known->second.turns, turn), 1);
      }
      all = all && session == known->second;
    }
    for (const auto& [chain, page] : acknowledged_.pages) {
      const TestChain& of = chains_[chain];
      std::vector<uint8_t> to(kPageBytes);
      const PageRead read = {of.keys[page], of.token_ids[page], to.data()};
      const bool good = store.kv().read(kPageBytes, {&read, 1}).good == 1;
      EXPECT_TRUE(!good || to == of.pages[page]) << "wrong bytes";
      all = all && good;
    }
    return all;
  }

  size_t acknowledged_pages() const { return acknowledged_.pages.size(); }
  size_t acknowledged_chunks() const { return acknowledged_.chunks.size(); }
  const std::vector<TestChain>& chains() const { return chains_; }

 private:
  struct State {
    std::map<std::string, Chunk> chunks;
    std::map<std::string, Session> sessions;
    std::set<std::pair<uint64_t, size_t>> pages;  // chain, page
  };

  static Chunk without_counters(Chunk chunk) {
    chunk.hits = 0;
    chunk.registrations = 1;
    chunk.last_used_us = chunk.created_us;
    return chunk;
  }
  void erase_page(const Digest& key) {
    for (uint64_t n = 0; n < kChains; ++n) {
      for (size_t i = 0; i < chains_[n].keys.size(); ++i) {
        if (chains_[n].keys[i] == key) working_.pages.erase({n, i});
      }
    }
  }

  std::vector<TestChain> chains_;
  std::vector<Chunk> versions_;  // all that were ever put
  State working_;
  State acknowledged_;
  std::vector<State> in_doubt_;  // of failed commits, since the last good one
};

}  // namespace cascade::testing
