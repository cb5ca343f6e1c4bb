// Holders by hand, and against a naive model in which every client has its own.
#include "cache/holders.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/long_tests.h"
#include "tests/seed.h"

namespace cascade {
namespace {

constexpr int64_t kNever = INT64_MAX;

Chunk output() {
  Chunk chunk;
  chunk.id = "output_1";
  chunk.type = ChunkType::kOutput;
  return chunk;
}

Holder retention(int64_t expires_us = 0, bool pinned = false) {
  return {.label = {},
          .expires_us = expires_us,
          .priority = default_priority(ChunkType::kOutput),
          .pinned = pinned};
}

Holder labelled(HolderKind kind, const std::string& label, int64_t expires_us = 0) {
  Holder holder = retention(expires_us);
  holder.kind = kind;
  holder.label = label;
  return holder;
}

void hold(Chunk& chunk, const Holder& holder) {
  ASSERT_TRUE(add_holder(chunk, holder).ok());
}

TEST(Holders, the_one_that_lives_longest_decides) {
  Chunk chunk = output();
  hold(chunk, labelled(HolderKind::kSession, "keepme"));
  hold(chunk, retention(10));
  EXPECT_EQ(chunk.expires_us, 0);
  EXPECT_EQ(next_holder_time_us(chunk), 10);
  EXPECT_TRUE(pass_holders_time(chunk, 10));
  ASSERT_EQ(chunk.holders.size(), 1u);
  EXPECT_EQ(chunk.holders[0].label, "keepme");
  EXPECT_EQ(next_holder_time_us(chunk), 0);
}

TEST(Holders, retentions_of_equal_terms_are_counted_and_given_up_one_by_one) {
  Chunk chunk = output();
  hold(chunk, retention());
  hold(chunk, retention());
  ASSERT_EQ(chunk.holders.size(), 1u);
  EXPECT_EQ(chunk.holders[0].count, 2);
  EXPECT_TRUE(give_up_unnamed(chunk).ok());
  ASSERT_EQ(chunk.holders.size(), 1u);
  EXPECT_TRUE(give_up_unnamed(chunk).ok());
  EXPECT_TRUE(chunk.holders.empty());
}

TEST(Holders, who_gives_up_gives_up_the_retention_that_ends_first) {
  Chunk chunk = output();
  hold(chunk, retention());
  hold(chunk, retention(50));
  hold(chunk, retention(20));
  ASSERT_TRUE(give_up_unnamed(chunk).ok());
  ASSERT_TRUE(give_up_unnamed(chunk).ok());
  ASSERT_EQ(chunk.holders.size(), 1u);
  EXPECT_EQ(chunk.expires_us, 0);
}

TEST(Holders, names_and_sessions_outlast_a_retention_and_are_told_apart) {
  Chunk chunk = output();
  hold(chunk, retention());
  hold(chunk, labelled(HolderKind::kName, "best"));
  hold(chunk, labelled(HolderKind::kName, "mine"));
  EXPECT_EQ(chunk.name, "mine");
  ASSERT_TRUE(give_up_unnamed(chunk).ok());
  const Status several = give_up_unnamed(chunk);
  ASSERT_FALSE(several.ok());
  EXPECT_EQ(several.error().code, ErrorCode::kConflict);
  EXPECT_NE(several.error().message.find("the name \"best\", the name \"mine\""), std::string::npos)
      << several.error().message;
  EXPECT_TRUE(give_up(chunk, HolderKind::kName, "best"));
  EXPECT_FALSE(give_up(chunk, HolderKind::kName, "best"));
  ASSERT_TRUE(give_up_unnamed(chunk).ok());  // gives up the last holder
  EXPECT_TRUE(chunk.holders.empty());
}

TEST(Holders, a_pin_alone_is_not_left_behind_by_accident) {
  Chunk chunk = output();
  hold(chunk, retention());
  change_unnamed(chunk, {.pinned = true});
  EXPECT_TRUE(chunk.pinned);
  const Status refused = give_up_unnamed(chunk);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("is pinned; unpin it first"), std::string::npos);
  change_unnamed(chunk, {.pinned = false});
  EXPECT_FALSE(chunk.pinned);
  EXPECT_TRUE(give_up_unnamed(chunk).ok());
}

TEST(Holders, a_pinned_retention_outlives_its_time_until_it_is_unpinned) {
  Chunk chunk = output();
  hold(chunk, retention(10, /*pinned=*/true));
  EXPECT_FALSE(pass_holders_time(chunk, 20));
  change_unnamed(chunk, {.pinned = false});
  EXPECT_TRUE(pass_holders_time(chunk, 20));
  EXPECT_TRUE(chunk.holders.empty());
}

TEST(Holders, no_time_passes_while_the_chunk_is_pinned_however_the_pin_came) {
  Chunk chunk = output();
  hold(chunk, labelled(HolderKind::kName, "x", 10));
  ASSERT_TRUE(change_named(chunk, "x", {.priority = 90, .priority_until_us = 15}, 0).ok());
  change_unnamed(chunk, {.pinned = true});
  EXPECT_EQ(next_holder_time_us(chunk), 15);
  EXPECT_TRUE(pass_holders_time(chunk, 20)) << "the priority's";
  EXPECT_EQ(describe_holders(chunk), "the name \"x\", a pin");
  EXPECT_EQ(chunk.priority, default_priority(ChunkType::kOutput));
  EXPECT_EQ(next_holder_time_us(chunk), 0);
  EXPECT_FALSE(pass_holders_time(chunk, 20));
  EndedHolders ended;
  change_unnamed(chunk, {.pinned = false}, &ended);
  EXPECT_TRUE(pass_holders_time(chunk, 20, &ended));
  EXPECT_TRUE(chunk.holders.empty());
  EXPECT_FALSE(chunk.pinned);
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].kind, HolderKind::kPin);
  EXPECT_EQ(ended[1].label, "x");
}

TEST(Holders, the_last_holder_of_a_pinned_chunk_is_given_up_by_nobody) {
  for (const HolderKind kind : {HolderKind::kName, HolderKind::kSession}) {
    for (const bool own_pin : {true, false}) {
      Chunk chunk = output();
      hold(chunk, labelled(kind, "x"));
      if (own_pin) chunk.holders[0].pinned = chunk.pinned = true;
      if (!own_pin) change_unnamed(chunk, {.pinned = true});
      const std::vector<Holder> before = chunk.holders;
      EXPECT_TRUE(only_pins_without(chunk, kind, "x"));
      EXPECT_FALSE(only_pins_without(chunk, kind, "y"));
      const bool is_name = kind == HolderKind::kName;
      const Status refused[] = {give_up_unnamed(chunk), give_up_all(chunk),
                                give_up_name(chunk, is_name ? "x" : "y")};
      for (const Status& status : refused) ASSERT_FALSE(status.ok());
      EXPECT_EQ(refused[0].error().code, ErrorCode::kConflict);
      EXPECT_EQ(refused[1].error().code, ErrorCode::kConflict);
      EXPECT_EQ(refused[2].error().code, is_name ? ErrorCode::kConflict : ErrorCode::kNotFound);
      EXPECT_EQ(refused[2].error().field, is_name ? "id" : "name");
      if (is_name) {
        EXPECT_NE(refused[2].error().message.find("is pinned; unpin it first"), std::string::npos);
      }
      EXPECT_EQ(chunk.holders, before);
    }
  }
}

TEST(Holders, a_pinned_name_that_is_not_the_last_takes_its_pin_along) {
  Chunk chunk = output();
  hold(chunk, labelled(HolderKind::kName, "other", 10));
  hold(chunk, labelled(HolderKind::kName, "x"));
  ASSERT_TRUE(change_named(chunk, "x", {.pinned = true}, 0).ok());
  EXPECT_FALSE(pass_holders_time(chunk, 20));
  EndedHolders ended;
  EXPECT_TRUE(give_up_name(chunk, "x", &ended).ok());
  EXPECT_FALSE(chunk.pinned);
  EXPECT_TRUE(pass_holders_time(chunk, 20, &ended));
  EXPECT_TRUE(chunk.holders.empty());
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_TRUE(ended[0].pinned);
  EXPECT_EQ(ended[1].label, "other");
}

TEST(Holders, a_turn_is_given_up_by_nobody_who_does_not_name_it) {
  Chunk chunk = output();
  hold(chunk, labelled(HolderKind::kSession, "trip"));
  hold(chunk, labelled(HolderKind::kName, "x"));
  hold(chunk, retention());
  hold(chunk, labelled(HolderKind::kRequest, ""));
  EndedHolders ended;
  ASSERT_TRUE(give_up_unnamed(chunk, &ended).ok());
  ASSERT_EQ(ended.size(), 2u) << "with the last retention what requests brought along";
  EXPECT_EQ(ended[0].kind, HolderKind::kRetention);
  EXPECT_EQ(ended[1].kind, HolderKind::kRequest);
  ASSERT_TRUE(give_up_unnamed(chunk, &ended).ok());
  EXPECT_EQ(ended.back().label, "x");
  const Status refused = give_up_unnamed(chunk, &ended);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kConflict);
  EXPECT_EQ(refused.error().field, "id");
  EXPECT_NE(
      refused.error().message.find("held by a turn of the session \"trip\": a session's turn"),
      std::string::npos)
      << refused.error().message;
  EXPECT_EQ(ended.size(), 3u);
  ASSERT_TRUE(give_up_all(chunk, &ended).ok());
  EXPECT_TRUE(chunk.holders.empty());
  EXPECT_EQ(ended.back().label, "trip");
}

TEST(Holders, what_requests_brought_along_is_not_given_up_to_leave_a_pin_alone) {
  Chunk chunk = output();
  hold(chunk, retention());
  hold(chunk, labelled(HolderKind::kRequest, ""));
  change_unnamed(chunk, {.pinned = true});
  EndedHolders ended;
  EXPECT_FALSE(give_up_unnamed(chunk, &ended).ok());
  EXPECT_TRUE(ended.empty());
  EXPECT_EQ(describe_holders(chunk), "a retention, a request that brought it along, a pin");
}

TEST(Holders, of_several_retentions_that_end_each_request_tells_its_own_alone) {
  Chunk chunk = output();
  hold(chunk, retention());
  hold(chunk, retention());
  hold(chunk, retention(20));
  EndedHolders ended;
  ASSERT_TRUE(give_up_unnamed(chunk, &ended).ok());
  ASSERT_TRUE(give_up_unnamed(chunk, &ended).ok());
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].expires_us, 20);
  EXPECT_EQ(ended[1].expires_us, 0);
  EXPECT_EQ(ended[1].count, 1);
  ASSERT_TRUE(give_up_all(chunk, &ended).ok());
  EXPECT_EQ(ended[2].count, 1);
}

TEST(Holders, a_pin_alone_of_an_earlier_version_ends_with_its_unpin) {
  Chunk chunk = output();
  change_unnamed(chunk, {.pinned = true});
  const Status refused = give_up_unnamed(chunk);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("unpin it first"), std::string::npos);
  change_unnamed(chunk, {.pinned = false});
  EXPECT_TRUE(chunk.holders.empty());
  EXPECT_FALSE(chunk.pinned);
}

TEST(Holders, two_pins_are_undone_one_by_one) {
  Chunk chunk = output();
  hold(chunk, retention(0, true));
  hold(chunk, retention(0, true));
  change_unnamed(chunk, {.pinned = false});
  EXPECT_TRUE(chunk.pinned);
  change_unnamed(chunk, {.pinned = false});
  EXPECT_FALSE(chunk.pinned);
}

TEST(Holders, a_time_to_live_is_of_one_retention_only) {
  Chunk chunk = output();
  hold(chunk, retention());
  hold(chunk, retention());
  change_unnamed(chunk, {.expires_us = 30});
  EXPECT_EQ(chunk.expires_us, 0);
  EXPECT_TRUE(pass_holders_time(chunk, 30));
  ASSERT_EQ(chunk.holders.size(), 1u);
  EXPECT_EQ(chunk.holders[0].count, 1);
}

TEST(Holders, a_time_to_live_does_not_end_a_session_turn) {
  Chunk chunk = output();
  hold(chunk, labelled(HolderKind::kSession, "trip"));
  change_unnamed(chunk, {.expires_us = 30});
  EXPECT_EQ(chunk.expires_us, 0);
  EXPECT_TRUE(pass_holders_time(chunk, 30));
  EXPECT_EQ(describe_holders(chunk), "a turn of the session \"trip\"");
}

TEST(Holders, the_highest_priority_counts_until_it_is_over) {
  Chunk chunk = output();
  hold(chunk, retention());
  EXPECT_TRUE(change_named(chunk, "hot", {.priority = 90, .priority_until_us = 40}, 0).ok());
  EXPECT_EQ(chunk.priority, 90);
  EXPECT_EQ(next_holder_time_us(chunk), 40);
  EXPECT_TRUE(pass_holders_time(chunk, 40));
  EXPECT_EQ(chunk.priority, default_priority(ChunkType::kOutput));
}

TEST(Holders, the_same_name_or_session_again_lives_as_long_as_either) {
  Chunk chunk = output();
  hold(chunk, labelled(HolderKind::kName, "x", 50));
  hold(chunk, labelled(HolderKind::kName, "x", 20));
  ASSERT_EQ(chunk.holders.size(), 1u);
  EXPECT_EQ(chunk.expires_us, 50);
  ASSERT_TRUE(change_named(chunk, "x", {.expires_us = 20}, 0).ok());  // a change by its name
  EXPECT_EQ(chunk.expires_us, 20);
}

TEST(Holders, a_text_that_is_brought_along_again_keeps_the_priority_it_was_given) {
  Chunk chunk = output();
  chunk.type = ChunkType::kContext;
  hold(chunk, labelled(HolderKind::kRequest, "", 20));
  change_unnamed(chunk, {.priority = 28, .priority_until_us = 70});
  hold(chunk, labelled(HolderKind::kRequest, "", 50));
  ASSERT_EQ(chunk.holders.size(), 1u);
  EXPECT_EQ(chunk.priority, 28);
  EXPECT_EQ(chunk.priority_until_us, 70);
  EXPECT_EQ(chunk.expires_us, 50);
}

TEST(Holders, cleared_names_go_on_as_retentions) {
  Chunk chunk = output();
  hold(chunk, labelled(HolderKind::kName, "x", 50));
  EndedHolders ended;
  clear_names(chunk, &ended);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].label, "x");
  EXPECT_EQ(chunk.name, "");
  EXPECT_EQ(chunk.expires_us, 50);
  EXPECT_EQ(describe_holders(chunk), "a retention");
}

TEST(Holders, a_session_that_goes_without_its_outputs_leaves_a_retention) {
  Chunk chunk = output();
  hold(chunk, labelled(HolderKind::kSession, "a", 50));
  EXPECT_FALSE(keep_without_session(chunk, "b"));
  EXPECT_TRUE(keep_without_session(chunk, "a"));
  EXPECT_EQ(describe_holders(chunk), "a retention");
  EXPECT_EQ(chunk.expires_us, 50);
}

TEST(Holders, there_are_no_more_than_the_limit_and_nothing_lives_shorter_for_it) {
  Chunk chunk = output();
  for (size_t i = 0; i < 3 * kHoldersMax; ++i) hold(chunk, retention(1000 + int64_t(i) * 7));
  EXPECT_LE(chunk.holders.size(), kHoldersMax);
  int64_t count = 0;
  for (const Holder& holder : chunk.holders) count += holder.count;
  EXPECT_EQ(count, int64_t{3 * kHoldersMax});
  EXPECT_EQ(chunk.expires_us, 1000 + int64_t(3 * kHoldersMax - 1) * 7);
  const Status refused = add_holder(chunk, labelled(HolderKind::kName, "one more"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().field, "name");
  EXPECT_NE(refused.error().message.find("the limit is 256"), std::string::npos);
}

TEST(Holders, a_chunk_from_before_there_were_holders_gets_them) {
  Chunk chunk = output();
  chunk.name = "old";
  chunk.pinned = true;
  chunk.expires_us = 70;
  chunk.priority = 12;
  Chunk before = chunk;
  complete_holders(chunk);
  EXPECT_EQ(describe_holders(chunk), "the name \"old\", a pin");
  before.holders = chunk.holders;
  EXPECT_EQ(chunk, before);
}

// Clients that retain, name, shorten and give up the same chunk; each knows only its own holder.
// Here no holder may end before it would end in the model.
class NaiveHolders : public ::testing::Test {
 protected:
  static int64_t end_of(const Holder& holder) {
    return holder.expires_us == 0 || holder.pinned ? kNever : holder.expires_us;
  }

  // For every moment, at least as many retentions of the chunk last until then as in the model.
  void compare() {
    std::vector<int64_t> ours;
    std::map<std::string, int64_t> names;
    for (const Holder& holder : chunk_.holders) {
      if (holder.kind == HolderKind::kName) names[holder.label] = end_of(holder);
      if (holder.kind != HolderKind::kRetention) continue;
      ours.insert(ours.end(), static_cast<size_t>(holder.count), end_of(holder));
    }
    ASSERT_EQ(names, names_);
    ASSERT_EQ(ours.size(), retentions_.size());
    std::vector<int64_t> theirs = retentions_;
    std::ranges::sort(ours);
    std::ranges::sort(theirs);
    for (size_t i = 0; i < ours.size(); ++i) ASSERT_GE(ours[i], theirs[i]) << i;
    ASSERT_EQ(chunk_.holders.empty(), retentions_.empty() && names_.empty());
  }

  int64_t some_end() { return random_.below(3) == 0 ? kNever : now_ + 1 + random_.below(60); }
  static int64_t expiry(int64_t end) { return end == kNever ? 0 : end; }

  void step() {
    const std::string name = "name" + std::to_string(random_.below(4));
    const int64_t end = some_end();
    switch (random_.below(6)) {
      case 0:
        hold(chunk_, retention(expiry(end)));
        retentions_.push_back(end);
        break;
      case 1: {
        if (retentions_.empty()) break;
        // The daemon cannot know whose retention is given up.
        retentions_.erase(retentions_.begin() + int64_t(random_.below(retentions_.size())));
        ASSERT_TRUE(give_up_unnamed(chunk_).ok());
        break;
      }
      case 2: {
        const bool known = names_.contains(name);
        hold(chunk_, labelled(HolderKind::kName, name, expiry(end)));
        names_[name] = known ? std::max(names_[name], end) : end;
        break;
      }
      case 3: ASSERT_EQ(give_up(chunk_, HolderKind::kName, name), names_.erase(name) > 0); break;
      case 4: {
        if (retentions_.empty()) break;
        retentions_[random_.below(retentions_.size())] = end;
        change_unnamed(chunk_, {.expires_us = expiry(end)});
        break;
      }
      default: {
        now_ += int64_t(random_.below(15));
        std::erase_if(retentions_, [&](int64_t e) { return e <= now_; });
        std::erase_if(names_, [&](const auto& n) { return n.second <= now_; });
        // A client that shortened another client's retention has made its own live as long instead.
        // The model adds such retentions, which end at the next moment.
        pass_holders_time(chunk_, now_);
        size_t ours = 0;
        for (const Holder& holder : chunk_.holders) {
          if (holder.kind == HolderKind::kRetention) ours += static_cast<size_t>(holder.count);
        }
        ASSERT_GE(ours, retentions_.size());
        while (retentions_.size() < ours) retentions_.push_back(now_ + 1);
      }
    }
  }

  Random random_{testing::test_seed()};
  Chunk chunk_ = output();
  std::vector<int64_t> retentions_;  // when each ends
  std::map<std::string, int64_t> names_;
  int64_t now_ = 0;
};

TEST_F(NaiveHolders, never_lose_an_output_that_somebody_holds) {
  const int steps = testing::long_or(100'000, 20'000);
  for (int i = 0; i < steps; ++i) {
    step();
    compare();
    if (HasFatalFailure()) FAIL() << "step " << i;
  }
}

}  // namespace
}  // namespace cascade
