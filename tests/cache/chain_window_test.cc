// Chains whose tokens see only the first and the latest pages: other pages leave memory, and nobody
// ever sees a page that is gone.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "tests/cache/chain_memory.h"
#include "tests/cache/testing.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::ChainMemory;
using testing::Tokens;

Tokens chain_of(size_t count) {
  return testing::count_up(0, count);
}

// A token sees three to four pages before it, and the first page.
constexpr AttentionMode kMode = {3 * kPageTokens, 40};
// Pages that a sequence does not see any more and leaves in memory while there is room.
constexpr size_t kMarginPages = 4;

class WindowMemory : public ChainMemory {
 public:
  explicit WindowMemory(size_t pages, const AttentionMode& mode = kMode) : ChainMemory(pages) {
    windowed = index.add_tenant(Hasher().field("tenant", "windowed").finish(), mode);
  }

  std::unique_ptr<ChainSequence> start() { return sequence_of(windowed); }
  // Computes page by page what `tokens` have beyond the sequence's own.
  bool compute_all(ChainSequence& sequence, const Tokens& tokens) {
    while (sequence.committed() < std::ssize(tokens)) {
      const auto done = static_cast<size_t>(sequence.committed());
      const size_t count = std::min<size_t>(kPageTokens - done % kPageTokens, tokens.size() - done);
      if (!write_next(sequence, std::span(tokens).subspan(done, count))) return false;
    }
    return true;
  }
  // Leaves the chain to the index, computed by a sequence that has ended.
  bool leave(const Tokens& tokens) {
    const auto sequence = start();
    return compute_all(*sequence, tokens);
  }
  // Whether the pages that the next token sees hold the right K and V.
  bool intact(const ChainSequence& sequence) {
    const PageRange unseen = unseen_behind(index.tenant(windowed).mode, sequence.committed());
    uint64_t proof = 0;
    for (size_t i = 0; i < sequence.tokens().size(); ++i) {
      proof = testing::extend_proof(proof, sequence.tokens()[i]);
      const size_t page = i / kPageTokens;
      if (unseen.has(static_cast<int64_t>(page))) continue;
      if (!in_memory(sequence.pages()[page])) return false;
      uint64_t stored = 0;
      const uint8_t* bytes = arena.data(sequence.pages()[page]);
      std::memcpy(&stored, bytes + i % kPageTokens * sizeof stored, sizeof stored);
      if (stored != proof) return false;
    }
    return true;
  }
  bool write_next(ChainSequence& sequence, std::span<const int32_t> tokens) {
    const int64_t begin = sequence.committed();
    if (!sequence.reserve(begin + std::ssize(tokens))) return false;
    uint64_t proof = 0;
    for (const int32_t token : sequence.tokens()) proof = testing::extend_proof(proof, token);
    for (size_t i = 0; i < tokens.size(); ++i) {
      proof = testing::extend_proof(proof, tokens[i]);
      const size_t position = static_cast<size_t>(begin) + i;
      uint8_t* page = arena.data(sequence.pages()[position / kPageTokens]);
      std::memcpy(page + position % kPageTokens * sizeof proof, &proof, sizeof proof);
    }
    sequence.commit(tokens, ++now_us);
    return true;
  }
  int64_t reuse(ChainSequence& sequence, const Tokens& tokens) {
    return sequence.reuse(tokens, ++now_us);
  }

  TenantId windowed = kPublic;
  int64_t now_us = 0;
};

TEST(ChainWindow, a_chain_without_an_end_takes_no_more_pages_than_it_sees) {
  const Tokens tokens = chain_of(200 * kPageTokens + 10);
  WindowMemory memory(400);
  const auto sequence = memory.start();
  EXPECT_TRUE(memory.compute_all(*sequence, tokens));
  EXPECT_TRUE(memory.intact(*sequence));
  const auto most = static_cast<size_t>(working_pages(kMode, std::ssize(tokens), kPageTokens));
  EXPECT_LE(memory.pool.used_count(), most + kMarginPages);
  EXPECT_LE(static_cast<size_t>(sequence->pages_in_window() + sequence->pages_taken()), most);
  EXPECT_EQ(memory.index.seen_count(), static_cast<size_t>(sequence->pages_in_window()));
  EXPECT_EQ(sequence->pages()[5], kLostPage);
  sequence->finish(1);
  EXPECT_LE(memory.index.node_count(), most + kMarginPages);
}

TEST(ChainWindow, a_chain_that_lost_its_last_pages_is_found_up_to_them) {
  const Tokens tokens = chain_of(20 * kPageTokens + 10);
  WindowMemory memory(40);
  ASSERT_TRUE(memory.leave(tokens));
  for (int64_t left = 20; left + static_cast<int64_t>(kMarginPages) >= 20; --left) {
    ASSERT_TRUE(memory.index.evict_one());
    const auto next = memory.start();
    ASSERT_EQ(memory.reuse(*next, tokens), left * kPageTokens);
    ASSERT_TRUE(memory.intact(*next));
  }
}

TEST(ChainWindow, a_later_sequence_goes_on_from_the_end_of_one_whose_pages_are_gone) {
  const Tokens tokens = chain_of(20 * kPageTokens + 10);
  WindowMemory memory(9);
  ASSERT_TRUE(memory.leave(tokens));
  const auto next = memory.start();
  EXPECT_EQ(memory.reuse(*next, tokens), std::ssize(tokens));
  EXPECT_TRUE(memory.intact(*next));
}

TEST(ChainWindow, a_chain_is_not_found_where_pages_are_gone_that_it_sees) {
  Tokens tokens = chain_of(20 * kPageTokens);
  WindowMemory memory(9);
  ASSERT_TRUE(memory.leave(tokens));
  tokens.resize(10 * kPageTokens);
  EXPECT_EQ(memory.index.match(memory.windowed, tokens).tokens(), kPageTokens) << "the sinks";
  EXPECT_EQ(memory.index.explain(memory.windowed, tokens).reason, MissReason::kEvicted);
}

TEST(ChainWindow, pages_seen_by_the_end_of_a_prompt_stay_while_its_answer_grows) {
  const Tokens prompt = chain_of(20 * kPageTokens + 10);
  const Tokens whole = chain_of(60 * kPageTokens);
  WindowMemory memory(80);
  const auto sequence = memory.start();
  sequence->keep_seen(std::ssize(prompt) - kPageTokens, std::ssize(prompt));
  ASSERT_TRUE(memory.compute_all(*sequence, whole));
  EXPECT_EQ(memory.index.match(memory.windowed, prompt).tokens(), std::ssize(prompt));
  const auto working = static_cast<size_t>(working_pages(kMode, 10'000, kPageTokens));
  EXPECT_LE(memory.pool.used_count(), 2 * (working + kMarginPages));
}

TEST(ChainWindow, no_other_owner_finds_the_pages) {
  const Tokens tokens = chain_of(3 * kPageTokens);
  WindowMemory memory(20);
  ASSERT_TRUE(memory.leave(tokens));
  EXPECT_EQ(memory.index.match(memory.tenant, tokens).tokens(), 0);
  EXPECT_EQ(memory.index.match(kPublic, tokens).tokens(), 0);
  {
    const auto dense = memory.sequence_of(kPublic);
    ASSERT_TRUE(memory.compute(*dense, testing::count_up(7000, 2 * kPageTokens), 1));
  }
  EXPECT_EQ(memory.index.match(memory.windowed, testing::count_up(7000, 2 * kPageTokens)).tokens(),
            0);
}

TEST(ChainWindow, pages_that_another_request_has_found_stay_until_their_room_is_needed) {
  const Tokens tokens = chain_of(6 * kPageTokens);
  Tokens longer = chain_of(30 * kPageTokens);
  WindowMemory memory(16);
  ASSERT_TRUE(memory.leave(tokens));
  const auto other = memory.start();
  EXPECT_EQ(memory.reuse(*other, tokens), std::ssize(tokens));
  other->finish(++memory.now_us);
  const auto next = memory.start();
  ASSERT_EQ(memory.reuse(*next, longer), std::ssize(tokens));
  longer.resize(12 * kPageTokens);
  ASSERT_TRUE(memory.compute_all(*next, longer));
  EXPECT_EQ(memory.index.match(memory.windowed, tokens).tokens(), std::ssize(tokens));
  EXPECT_GT(memory.index.spillable_count(), 0u);
  longer = chain_of(60 * kPageTokens);
  ASSERT_TRUE(memory.compute_all(*next, longer));
  EXPECT_TRUE(memory.intact(*next));
}

TEST(ChainWindow, a_hold_is_lost_only_with_a_page_that_its_end_sees) {
  const Tokens tokens = chain_of(10 * kPageTokens);
  WindowMemory memory(40);
  const auto sequence = memory.start();
  ASSERT_TRUE(memory.compute_all(*sequence, tokens));
  const auto hold = memory.index.hold(memory.windowed, tokens);
  ASSERT_TRUE(hold);
  EXPECT_EQ(memory.index.held_count(), 4 + kMarginPages) << "only what is in memory counts";
  ASSERT_TRUE(memory.compute_all(*sequence, chain_of(30 * kPageTokens)));
  EXPECT_TRUE(memory.index.is_held(*hold));
  EXPECT_EQ(memory.index.match(memory.windowed, tokens).tokens(), std::ssize(tokens));
  for (ChainIndex::Node* node : sequence->nodes()) {
    if (can_spill(node)) memory.index.spill(node);
  }
  EXPECT_FALSE(memory.index.is_held(*hold));
  EXPECT_EQ(memory.index.held_count(), 0u);
}

TEST(ChainWindow, pins_count_what_is_in_memory) {
  const Tokens tokens = chain_of(10 * kPageTokens);
  WindowMemory memory(40);
  ASSERT_TRUE(memory.leave(tokens));
  const auto hold = memory.index.hold(memory.windowed, tokens);
  ASSERT_TRUE(hold);
  EXPECT_EQ(memory.index.unpinned_count(*hold), 4u);
  memory.index.pin(*hold);
  EXPECT_EQ(memory.index.pinned_count(), 4u);
  memory.index.unpin(*hold);
  EXPECT_EQ(memory.index.pinned_count(), 0u);
}

TEST(ChainWindow, a_chain_is_found_again_wherever_in_a_page_it_ends) {
  for (const AttentionMode mode : {AttentionMode{64, 0}, {100, 0}, {192, 64}, {224, 64}}) {
    for (size_t rest = 0; rest < size_t{kPageTokens}; ++rest) {
      const Tokens tokens = chain_of(9 * kPageTokens + rest);
      WindowMemory memory(40, mode);
      ASSERT_TRUE(memory.leave(tokens));
      ASSERT_EQ(memory.index.match(memory.windowed, tokens).tokens(), std::ssize(tokens)) << rest;
      const auto hold = memory.index.hold(memory.windowed, tokens);
      ASSERT_TRUE(hold);
      const auto pages = static_cast<size_t>(end_pages(mode, std::ssize(tokens)));
      ASSERT_EQ(memory.index.unpinned_count(*hold), pages);
    }
  }
}

TEST(ChainWindow, pins_keep_what_the_end_of_the_chain_sees_and_nothing_else) {
  const Tokens tokens = chain_of(20 * kPageTokens + 5);
  WindowMemory memory(40);
  ASSERT_TRUE(memory.leave(tokens));
  const auto hold = memory.index.hold(memory.windowed, tokens);
  memory.index.pin(*hold);
  const size_t pinned = memory.index.pinned_count();
  EXPECT_EQ(pinned, static_cast<size_t>(end_pages(kMode, std::ssize(tokens))));
  {
    // Computes pages of the chain again that were given up.
    Tokens other = chain_of(12 * kPageTokens);
    other.resize(11 * kPageTokens);
    const auto sequence = memory.start();
    memory.reuse(*sequence, other);
    ASSERT_TRUE(memory.compute_all(*sequence, other));
    EXPECT_EQ(memory.index.pinned_count(), pinned);
  }
  while (memory.index.evict_one()) {
  }
  EXPECT_EQ(memory.index.node_count(), pinned);
  EXPECT_EQ(memory.index.match(memory.windowed, tokens).tokens(), std::ssize(tokens));
  memory.index.unpin(*hold);
  EXPECT_EQ(memory.index.evictable_count(), pinned);
}

TEST(ChainWindow, a_short_end_is_kept_beside_a_longer_page_that_is_gone) {
  const Tokens tokens = chain_of(20 * kPageTokens);
  Tokens beginning = tokens;
  beginning.resize(10 * kPageTokens + 20);
  WindowMemory memory(40);
  ASSERT_TRUE(memory.leave(tokens));
  {
    const auto sequence = memory.start();
    memory.reuse(*sequence, beginning);
    ASSERT_TRUE(memory.compute_all(*sequence, beginning));
  }
  const auto hold = memory.index.hold(memory.windowed, beginning);
  ASSERT_TRUE(hold);
  // The longer page comes back, and takes over the hold.
  {
    const auto sequence = memory.start();
    ASSERT_EQ(memory.reuse(*sequence, beginning), std::ssize(beginning));
    ASSERT_TRUE(memory.compute_all(*sequence, chain_of(11 * kPageTokens)));
  }
  EXPECT_TRUE(memory.index.is_held(*hold));
  EXPECT_EQ(memory.index.match(memory.windowed, beginning).tokens(), std::ssize(beginning));
}

TEST(ChainWindow, the_nodes_with_some_tokens_are_found_without_their_pages) {
  const Tokens tokens = chain_of(20 * kPageTokens);
  WindowMemory memory(40);
  ASSERT_TRUE(memory.leave(tokens));
  Tokens beginning = tokens;
  beginning.resize(10 * kPageTokens + 20);
  EXPECT_EQ(nodes_with(memory.index, memory.windowed, beginning).size(), 11u);
  beginning[200] = -1;
  EXPECT_EQ(nodes_with(memory.index, memory.windowed, beginning).size(), 4u);
  EXPECT_TRUE(nodes_with(memory.index, memory.tenant, tokens).empty());
}

// Sequences that may share what they see start only if all their pages can be promised, and pins
// only take what is not promised.
TEST(ChainWindow, promised_pages_are_there_whatever_is_shared_pinned_or_given_up) {
  Random random(testing::test_seed());
  for (int life = 0; life < testing::long_or(300, 15); ++life) {
    const auto pages = static_cast<size_t>(12 + random.below(40));
    WindowMemory memory(pages);
    struct Running {
      std::unique_ptr<ChainSequence> sequence;
      Tokens tokens;
      int64_t promised;
    };
    std::vector<Running> running;
    std::vector<ChainIndex::HoldId> pins;
    const auto available = [&] {
      auto count = static_cast<int64_t>(memory.pool.free_count() + memory.index.evictable_count() +
                                        memory.index.spillable_count() + memory.index.seen_count());
      for (const Running& one : running) count -= one.promised - one.sequence->pages_taken();
      return count;
    };
    for (int step = 0; step < 300; ++step) {
      const auto what = random.below(12);
      if (what < 3) {
        Tokens tokens = chain_of(kPageTokens * 40);
        const auto branch = static_cast<int32_t>(random.below(3));
        for (size_t i = random.below(20) * 64; i < tokens.size(); ++i) tokens[i] += 9'000 * branch;
        const int64_t promised = working_pages(kMode, std::ssize(tokens), 2 * kPageTokens);
        if (available() < promised) continue;
        auto sequence = memory.start();
        const auto prompt = 1 + ptrdiff_t(random.below(2000));
        sequence->keep_seen(std::max<int64_t>(0, prompt - 64), prompt);
        memory.reuse(*sequence, {tokens.begin(), tokens.begin() + prompt});
        running.push_back({std::move(sequence), std::move(tokens), promised});
      } else if (what < 10 && !running.empty()) {
        auto& [sequence, tokens, promised] = running[random.below(running.size())];
        const auto begin = static_cast<size_t>(sequence->committed());
        const auto count = std::min<size_t>(tokens.size() - begin, 1 + random.below(128));
        ASSERT_TRUE(memory.write_next(*sequence, std::span(tokens).subspan(begin, count)));
        ASSERT_TRUE(memory.intact(*sequence));
      } else if (what == 10 && !running.empty()) {
        const auto at = static_cast<ptrdiff_t>(random.below(running.size()));
        const Tokens tokens = running[static_cast<size_t>(at)].sequence->tokens();
        running.erase(running.begin() + at);
        const auto hold = memory.index.hold(memory.windowed, tokens);
        ASSERT_TRUE(hold || tokens.empty());
        if (!hold) continue;
        memory.index.pin(*hold);
        if (available() >= 0) {
          pins.push_back(*hold);
        } else {
          memory.index.drop_hold(*hold);
        }
      } else if (!pins.empty()) {
        memory.index.drop_hold(pins[random.below(pins.size())]);
      }
      ASSERT_GE(available(), 0);
    }
    running.clear();
    ASSERT_EQ(memory.index.seen_count(), 0u);
    for (const auto pin : pins) memory.index.drop_hold(pin);
    ASSERT_EQ(memory.index.evictable_count(), memory.index.node_count());
    ASSERT_EQ(memory.index.spillable_count(), 0u);
  }
}

// Sequences with common beginnings come, grow and end in any order, with little memory.
TEST(ChainWindow, random_sequences_see_only_intact_pages_and_leave_nothing_behind) {
  Random random(testing::test_seed());
  for (int life = 0; life < testing::long_or(200, 8); ++life) {
    WindowMemory memory(30);
    std::vector<std::pair<std::unique_ptr<ChainSequence>, Tokens>> running;
    std::vector<ChainIndex::HoldId> holds;
    for (int step = 0; step < 300; ++step) {
      const auto what = random.below(10);
      if (what < 2 && running.size() < 3) {
        // One of a few chains that agree in their beginnings.
        Tokens tokens = chain_of(kPageTokens * 40);
        const auto fork = random.below(20) * 50;
        const auto branch = static_cast<int32_t>(random.below(3));
        for (size_t i = fork; i < tokens.size(); ++i) tokens[i] += 100'000 * branch;
        auto sequence = memory.start();
        memory.reuse(*sequence,
                     {tokens.begin(), tokens.begin() + 1 + ptrdiff_t(random.below(2000))});
        ASSERT_TRUE(memory.intact(*sequence));
        running.emplace_back(std::move(sequence), std::move(tokens));
      } else if (what < 8 && !running.empty()) {
        auto& [sequence, tokens] = running[random.below(running.size())];
        const auto left = tokens.size() - static_cast<size_t>(sequence->committed());
        const auto count = std::min<size_t>(left, 1 + random.below(200));
        const auto begin = static_cast<size_t>(sequence->committed());
        if (!memory.write_next(*sequence, std::span(tokens).subspan(begin, count))) {
          sequence->unreserve();
        }
        ASSERT_TRUE(memory.intact(*sequence));
      } else if (what == 8 && !running.empty()) {
        const auto at = static_cast<ptrdiff_t>(random.below(running.size()));
        const Tokens tokens = running[static_cast<size_t>(at)].first->tokens();
        running.erase(running.begin() + at);
        if (const auto hold = memory.index.hold(memory.windowed, tokens)) holds.push_back(*hold);
        if (!holds.empty() && random.below(2) == 0) memory.index.pin(holds.back());
      } else if (!holds.empty()) {
        memory.index.drop_hold(holds[random.below(holds.size())]);
      }
      const size_t seen_elsewhere = memory.index.pinned_count();
      ASSERT_LE(seen_elsewhere, memory.index.node_count());
      ASSERT_LE(memory.index.held_count(), memory.index.node_count());
    }
    running.clear();
    for (const auto hold : holds) memory.index.drop_hold(hold);
    ASSERT_EQ(memory.index.pinned_count(), 0u);
    ASSERT_EQ(memory.index.held_count(), 0u);
    ASSERT_EQ(memory.index.evictable_count(), memory.index.node_count());
    while (memory.index.evict_one()) {
    }
    ASSERT_EQ(memory.index.node_count(), 0u);
    ASSERT_EQ(memory.pool.used_count(), 0u);
  }
}

}  // namespace
}  // namespace cascade
