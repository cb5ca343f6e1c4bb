// Many sequences in a small pool, at random: every look-up, eviction and count agrees with a naive
// model, and every byte that is reused was computed for exactly that chain.
#include <gtest/gtest.h>

#include <list>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "tests/cache/chain_memory.h"
#include "tests/cache/chain_model.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

using testing::ChainMemory;
using testing::ChainModel;
using testing::first_of;
using testing::join;
using testing::Tokens;

struct Shape {
  size_t pages;
  size_t running_max;
  int alphabet;       // tokens are in [0, alphabet)
  size_t tokens_max;  // of one sequence
  EvictionPolicy policy;
};

// A second tenant's tokens in the model: none of them is a token of the first, so that nothing is
// shared.
constexpr int32_t kSecondTenant = 1000;

class Simulation {
 public:
  Simulation(const Shape& shape, uint64_t seed)
      : shape_(shape),
        random_(seed),
        memory_(shape.pages, "root", shape.policy),
        second_(memory_.index.add_tenant(Hasher().field("tenant", "second").finish())),
        model_(shape.pages, shape.policy) {
    memory_.index.set_shortened([this](const Digest&, const Digest&) { ++seen_.shortened; });
  }

  void step() {
    now_us_ += 1'000'000;
    switch (random_.below(28)) {
      case 0:
      case 1:
      case 2: return start();
      case 3:
      case 4: return finish();
      case 5:
      case 6: return hold();
      case 7: return drop_hold();
      case 8: return drop_branch();
      case 9: return evict();
      case 10:
      case 11: return set_priority();
      case 12:
      case 13: return pin();
      default: return grow();
    }
  }

  // Checks what can be told quickly, after every step.
  void check() {
    ASSERT_EQ(memory_.index.node_count(), model_.nodes().size());
    ASSERT_EQ(memory_.index.evictable_count(), model_.evictable());
    ASSERT_EQ(memory_.index.removed_count(Removal::kEvicted), model_.evicted);
    ASSERT_EQ(memory_.pool.used_count(), model_.used_pages());
    ASSERT_LE(memory_.pool.used_count(), shape_.pages);
  }

  // Checks every page, running sequence and hold.
  void check_all() {
    check();
    ASSERT_EQ(memory_.index.pinned_count(), model_.pinned());
    ASSERT_EQ(memory_.index.held_count(), model_.held());
    ASSERT_EQ(memory_.index.tenant(memory_.tenant).nodes + memory_.index.tenant(second_).nodes,
              model_.nodes().size());
    for (const auto& [chain, node] : model_.nodes()) {
      const auto match = memory_.index.match(tenant_of(chain), real(chain));
      ASSERT_EQ(match.tokens(), static_cast<int64_t>(chain.size()));
      const auto other = memory_.index.match(other_than(chain), real(chain));
      ASSERT_EQ(other.tokens(), static_cast<int64_t>(model_.available(in_other(chain))));
    }
    for (const Running& running : running_) {
      ASSERT_EQ(running.real->tokens(), real(running.model.tokens));
      ASSERT_EQ(running.real->pages().size(), running.model.sealed + running.model.own);
      ASSERT_TRUE(memory_.intact(*running.real));
      for (const PageIndex page : running.real->pages()) {
        ASSERT_EQ(memory_.pool.references(page), 1u);
      }
    }
    for (const uint64_t hold : holds_) {
      ASSERT_EQ(memory_.index.is_held(hold), model_.is_held(hold));
      const ChainModel::Hold* known = model_.find_hold(hold);
      ASSERT_EQ(memory_.index.is_pinned(hold), known != nullptr && known->pinned);
    }
  }

  // Ends everything: nothing is left, and nothing was protected from eviction.
  void end() {
    while (!running_.empty()) finish();
    for (const uint64_t hold : holds_) memory_.index.unpin(hold);
    ASSERT_EQ(memory_.index.pinned_count(), 0u);
    ASSERT_EQ(memory_.index.evictable_count(), memory_.index.node_count());
    while (memory_.index.evict_one()) {
    }
    ASSERT_EQ(memory_.index.node_count(), 0u);
    ASSERT_EQ(memory_.pool.used_count(), 0u);
    for (const uint64_t hold : holds_) ASSERT_FALSE(memory_.index.is_held(hold));
  }

  // Counts what happened in this run: a test that never meets a case proves nothing about it.
  struct Seen {
    int64_t whole_pages_reused = 0;
    int64_t parts_copied = 0;
    int64_t no_room = 0;
    int64_t held = 0;
    int64_t holds_lost = 0;
    int64_t dropped = 0;
    int64_t subtrees = 0;
    int64_t shortened = 0;
    int64_t evicted = 0;
    int64_t pinned = 0;
    std::map<MissReason, int64_t> reasons;
  };
  Seen seen() const {
    Seen seen = seen_;
    seen.evicted = static_cast<int64_t>(model_.evicted);
    return seen;
  }

 private:
  struct Running {
    std::unique_ptr<ChainSequence> real;
    ChainModel::Sequence model;
    bool second;  // whether the sequence is the second tenant's
  };

  static bool is_second(const Tokens& tokens) {
    return !tokens.empty() && tokens.front() >= kSecondTenant;
  }
  TenantId tenant_of(const Tokens& tokens) const {
    return is_second(tokens) ? second_ : memory_.tenant;
  }
  TenantId other_than(const Tokens& tokens) const {
    return is_second(tokens) ? memory_.tenant : second_;
  }
  static Tokens shifted(Tokens tokens, int32_t difference) {
    for (int32_t& token : tokens) token += difference;
    return tokens;
  }
  // The tokens that the index sees.
  static Tokens real(const Tokens& tokens) {
    return is_second(tokens) ? shifted(tokens, -kSecondTenant) : tokens;
  }
  static Tokens in_other(const Tokens& tokens) {
    return shifted(tokens, is_second(tokens) ? -kSecondTenant : kSecondTenant);
  }

  Tokens random_tokens(size_t count, bool second) {
    Tokens tokens(count);
    for (int32_t& token : tokens) {
      token = (second ? kSecondTenant : 0) +
              static_cast<int32_t>(random_.below(static_cast<uint64_t>(shape_.alphabet)));
    }
    return tokens;
  }

  // The beginning of some earlier chain, cut anywhere, often where pages meet.
  Tokens known_beginning() {
    if (known_.empty()) return {};
    const Tokens& chain = known_[random_.below(known_.size())];
    size_t size = random_.below(chain.size() + 1);
    if (random_.below(3) == 0) size = size / kPageTokens * kPageTokens;
    return random_.below(3) == 0 ? chain : first_of(chain, size);
  }

  std::list<Running>::iterator any_running() {
    return std::next(running_.begin(), static_cast<int>(random_.below(running_.size())));
  }

  void start() {
    if (running_.size() == shape_.running_max) return finish();
    Tokens prompt = known_beginning();
    const bool second = prompt.empty() ? random_.below(3) == 0 : is_second(prompt);
    if (random_.below(4) != 0) prompt = join(prompt, random_tokens(random_.below(200), second));
    if (prompt.size() > shape_.tokens_max) prompt.resize(shape_.tokens_max);
    ASSERT_TRUE(explains(prompt, second));
    Running running{memory_.sequence_of(second ? second_ : memory_.tenant),
                    model_.reuse(prompt, now_us_), second};
    ASSERT_EQ(running.real->reuse(real(prompt), now_us_),
              static_cast<int64_t>(running.model.tokens.size()));
    ASSERT_TRUE(memory_.intact(*running.real));
    seen_.whole_pages_reused += static_cast<int64_t>(running.model.sealed);
    seen_.parts_copied += static_cast<int64_t>(running.model.own);
    running_.push_back(std::move(running));
    // The rest of the prompt is computed later, or never: the request may be cancelled.
    wanted_[running_.back().real.get()] = prompt;
  }

  // Whether the reason that the index gives for a miss is true: all is found, or nothing goes on
  // like the prompt, or a chain goes on with the named token, or pages have been removed.
  bool explains(const Tokens& prompt, bool second) {
    const Miss miss = memory_.index.explain(second ? second_ : memory_.tenant, real(prompt));
    const size_t found = model_.available(prompt);
    if (miss.position != static_cast<int64_t>(found)) return false;
    std::set<int32_t> known;  // the next tokens of chains after the found part
    for (const auto& [chain, node] : model_.nodes()) {
      const bool goes_on = chain.size() > found && is_second(chain) == second;
      if (goes_on && ChainModel::common_prefix(chain, prompt) == found) {
        known.insert(real(chain)[found]);
      }
    }
    ++seen_.reasons[miss.reason];
    switch (miss.reason) {
      case MissReason::kNone: return found == prompt.size();
      case MissReason::kNew: return found < prompt.size() && known.empty();
      case MissReason::kDiffers: return found < prompt.size() && known.contains(miss.known_token);
      case MissReason::kEvicted: return found < prompt.size() && model_.evicted > 0;
      case MissReason::kDropped: return found < prompt.size();
      default: return false;
    }
  }

  // Computes a slice of the prompt, or a few sampled tokens.
  void grow() {
    if (running_.empty()) return;
    Running& running = *any_running();
    const size_t done = running.model.tokens.size();
    const Tokens& prompt = wanted_[running.real.get()];
    Tokens next;
    if (done < prompt.size()) {
      const size_t count = 1 + random_.below(prompt.size() - done);
      next = Tokens(prompt.begin() + static_cast<ptrdiff_t>(done),
                    prompt.begin() + static_cast<ptrdiff_t>(done + count));
    } else {
      next = random_tokens(1 + random_.below(6), running.second);
    }
    if (done + next.size() > shape_.tokens_max) return;
    // Sometimes more room is reserved than is used.
    const size_t room = done + next.size() + (random_.below(8) == 0 ? 70 : 0);
    const bool has_room = model_.reserve(running.model, room);
    ASSERT_EQ(running.real->reserve(static_cast<int64_t>(room)), has_room);
    if (!has_room) ++seen_.no_room;
    if (!has_room) return;
    ASSERT_TRUE(memory_.compute(*running.real, real(next), now_us_));
    model_.commit(running.model, next, now_us_);
    known_.push_back(running.model.tokens);
    if (known_.size() > 40) known_.erase(known_.begin());
  }

  void finish() {
    if (running_.empty()) return;
    const auto running = any_running();
    wanted_.erase(running->real.get());
    // Pages that were left without finish() have the age 0. The order of eviction of two such pages
    // is open.
    const bool abandoned = std::ranges::any_of(
        model_.nodes(), [](const auto& node) { return node.second.last_used_us == 0; });
    if (!abandoned && random_.below(6) == 0) {
      model_.finish(running->model, 0);
      running->real.reset();  // without finish()
    } else {
      model_.finish(running->model, now_us_);
      running->real->finish(now_us_);
    }
    running_.erase(running);
  }

  void hold() {
    const Tokens chain = known_beginning();
    if (chain.empty()) return;
    const auto priority = static_cast<int32_t>(random_.below(4) * 30);
    const auto hold = memory_.index.hold(tenant_of(chain), real(chain), priority);
    ASSERT_EQ(hold.has_value(), model_.can_hold(chain));
    if (!hold) return;
    model_.hold(chain, *hold, priority);
    holds_.push_back(*hold);
    ++seen_.held;
  }

  void drop_hold() {
    if (holds_.empty()) return;
    const size_t which = random_.below(holds_.size());
    const uint64_t hold = holds_[which];
    if (!memory_.index.is_held(hold)) ++seen_.holds_lost;
    memory_.index.drop_hold(hold);
    model_.drop_hold(hold);
    ASSERT_FALSE(memory_.index.is_held(hold));
    holds_.erase(holds_.begin() + static_cast<ptrdiff_t>(which));
  }

  void set_priority() {
    if (holds_.empty()) return;
    const uint64_t hold = holds_[random_.below(holds_.size())];
    const auto priority = static_cast<int32_t>(random_.below(101));
    memory_.index.set_priority(hold, priority);
    if (ChainModel::Hold* known = model_.find_hold(hold)) known->priority = priority;
  }

  // Pins up to half of the pages, a bound like a daemon's.
  void pin() {
    if (holds_.empty()) return;
    const uint64_t hold = holds_[random_.below(holds_.size())];
    const size_t pinned = memory_.index.pinned_count() + memory_.index.unpinned_count(hold);
    const bool pin = pinned <= shape_.pages / 2 && random_.below(2) == 0;
    pin ? memory_.index.pin(hold) : memory_.index.unpin(hold);
    if (ChainModel::Hold* known = model_.find_hold(hold)) known->pinned = pin;
    if (pin) ++seen_.pinned;
    ASSERT_EQ(memory_.index.pinned_count(), model_.pinned());
  }

  void drop_subtree(const Tokens& chain, size_t keep) {
    const size_t dropped = model_.drop_subtree(chain, keep);
    ASSERT_EQ(memory_.index.drop_subtree(tenant_of(chain), real(chain), static_cast<int64_t>(keep),
                                         Removal::kDead),
              dropped);
    seen_.subtrees += static_cast<int64_t>(dropped);
  }

  void drop_branch() {
    if (known_.empty()) return;
    const Tokens chain = known_[random_.below(known_.size())];
    const size_t keep = random_.below(chain.size() + 1);
    if (random_.below(4) == 0) return drop_subtree(chain, keep / kPageTokens * kPageTokens);
    const size_t dropped = model_.drop_branch(chain, keep);
    ASSERT_EQ(memory_.index.drop_branch(tenant_of(chain), real(chain), static_cast<int64_t>(keep)),
              dropped);
    seen_.dropped += static_cast<int64_t>(dropped);
  }

  void evict() {
    if (random_.below(4) != 0) return;
    ASSERT_EQ(memory_.index.evict_one(), model_.evict_one());
  }

  const Shape shape_;
  Random random_;
  ChainMemory memory_;
  const TenantId second_;
  ChainModel model_;
  std::list<Running> running_;
  std::map<const ChainSequence*, Tokens> wanted_;  // prompts
  std::vector<Tokens> known_;                      // chains that were computed, the latest last
  std::vector<uint64_t> holds_;
  Seen seen_;
  int64_t now_us_ = 1'800'000'000'000'000;
};

// All shapes together make a million steps. Sanitizers, which are 10 times as slow, do a tenth.
#ifdef __SANITIZE_ADDRESS__
constexpr uint64_t kLongRounds = 7;
#else
constexpr uint64_t kLongRounds = 70;
#endif
constexpr uint64_t kRounds = 7;
constexpr int kSteps = 2'400;
constexpr int kStepsBetweenChecks = 40;

class ChainRandom : public ::testing::TestWithParam<Shape> {};

TEST_P(ChainRandom, agrees_with_the_naive_model_and_serves_no_wrong_byte) {
  const uint64_t seed = testing::test_seed();
  const uint64_t rounds = testing::long_or(kLongRounds, kRounds);
  Simulation::Seen all;
  for (uint64_t round = 0; round < rounds; ++round) {
    Simulation simulation(GetParam(), counter_random(seed, round));
    for (int step = 0; step < kSteps; ++step) {
      simulation.step();
      simulation.check();
      if (step % kStepsBetweenChecks == 0) simulation.check_all();
      if (HasFatalFailure()) FAIL() << "round " << round << ", step " << step;
    }
    simulation.check_all();
    simulation.end();
    const Simulation::Seen seen = simulation.seen();
    all.whole_pages_reused += seen.whole_pages_reused;
    all.parts_copied += seen.parts_copied;
    all.no_room += seen.no_room;
    all.held += seen.held;
    all.holds_lost += seen.holds_lost;
    all.dropped += seen.dropped;
    all.subtrees += seen.subtrees;
    all.shortened += seen.shortened;
    all.evicted += seen.evicted;
    all.pinned += seen.pinned;
    for (const auto& [reason, count] : seen.reasons) all.reasons[reason] += count;
  }
  // At least several times a round.
  const auto often = static_cast<int64_t>(5 * rounds);
  EXPECT_GT(all.whole_pages_reused, often);
  EXPECT_GT(all.parts_copied, often);
  EXPECT_GT(all.evicted, often);
  EXPECT_GT(all.held, often);
  EXPECT_GT(all.pinned, often);
  EXPECT_GT(all.reasons[MissReason::kNone], often);
  EXPECT_GT(all.reasons[MissReason::kEvicted], often);
  EXPECT_TRUE(all.reasons[MissReason::kDiffers] > often || GetParam().alphabet == 1);
  EXPECT_GT(all.subtrees, 10);
  EXPECT_TRUE(all.shortened > 0 || GetParam().alphabet == 1);
  EXPECT_TRUE(all.dropped > 0 || GetParam().alphabet == 1);
  std::cout << "reused " << all.whole_pages_reused << " pages, copied " << all.parts_copied
            << ", evicted " << all.evicted << ", lost " << all.holds_lost << " of " << all.held
            << " holds, no room " << all.no_room << " times, dropped " << all.dropped
            << ", shortened " << all.shortened << ", pinned " << all.pinned << "\n";
}

// Pools that are too small for the running sequences; a pool in which all chains are beginnings of
// one chain; and a pool with room, in which holds and branches matter more than eviction.
INSTANTIATE_TEST_SUITE_P(Shapes, ChainRandom,
                         ::testing::Values(Shape{6, 3, 2, 300, EvictionPolicy::kPriority},
                                           Shape{14, 4, 2, 300, EvictionPolicy::kPriority},
                                           Shape{14, 4, 2, 300, EvictionPolicy::kLru},
                                           Shape{14, 4, 2, 300, EvictionPolicy::kLfu},
                                           Shape{8, 6, 1, 200, EvictionPolicy::kPriority},
                                           Shape{40, 5, 3, 400, EvictionPolicy::kPriority}));

}  // namespace
}  // namespace cascade
