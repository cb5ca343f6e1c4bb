// The rule for when the watchdog is fed, tested with a clock that is set by hand.
#include "daemon/progress.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>

namespace cascade {
namespace {

using ::testing::ElementsAre;

constexpr int64_t kTimeoutUs = 8'000'000;
constexpr int64_t kIntervalUs = kTimeoutUs / 4;

class Progress : public ::testing::Test {
 protected:
  ProgressRule::Verdict look() { return rule.look(signs); }
  // Lets time pass until the next feeding is due; nothing else happens.
  ProgressRule::Verdict look_later() {
    clock.advance_us(kIntervalUs);
    return look();
  }

  FakeClock clock;
  ProgressRule rule{clock, kTimeoutUs};
  std::vector<ProgressSign> signs = {{"scheduler", 0, true}, {"decode", 0, false}};
  ProgressSign& scheduler = signs[0];
  ProgressSign& decode = signs[1];
};

TEST_F(Progress, is_fed_at_first_and_then_four_times_in_the_timeout) {
  EXPECT_TRUE(look().feed);
  for (int i = 0; i < 10; ++i) {
    ++scheduler.moves;
    clock.advance_us(kIntervalUs - 1);
    EXPECT_FALSE(look().feed);
    clock.advance_us(1);
    EXPECT_TRUE(look().feed);
  }
}

TEST_F(Progress, does_not_ask_for_moves_of_actors_that_have_nothing_to_do) {
  look();
  ++scheduler.moves;
  EXPECT_TRUE(look_later().feed);
}

TEST_F(Progress, starves_while_an_actor_that_has_work_stands_still) {
  look();
  decode.owes = true;
  for (int i = 0; i < 10; ++i) {
    ++scheduler.moves;
    const auto verdict = look_later();
    EXPECT_FALSE(verdict.feed);
    EXPECT_THAT(verdict.stuck, ElementsAre("decode"));
  }
  EXPECT_EQ(rule.hungry_us(), 10 * kIntervalUs);
  ++decode.moves;
  EXPECT_TRUE(look().feed) << "at once when it moves again";
  EXPECT_EQ(rule.hungry_us(), 0);
}

TEST_F(Progress, starves_while_the_scheduler_is_silent_whatever_the_others_do) {
  look();
  decode.owes = true;
  ++decode.moves;
  EXPECT_THAT(look_later().stuck, ElementsAre("scheduler"));
}

TEST_F(Progress, counts_every_move_since_it_was_fed_also_of_different_looks) {
  look();
  decode.owes = true;
  clock.advance_us(kIntervalUs);
  ++scheduler.moves;
  EXPECT_FALSE(look().feed);
  ++decode.moves;
  EXPECT_TRUE(look().feed) << "the scheduler's move counts though it was seen before";
}

TEST_F(Progress, lets_work_take_nearly_the_whole_timeout) {
  look();
  decode.owes = true;
  ++decode.moves;  // begins
  ++scheduler.moves;
  EXPECT_TRUE(look_later().feed);
  clock.advance_us(kTimeoutUs - 1);
  ++scheduler.moves;
  EXPECT_FALSE(look().feed);
  ++decode.moves;  // ends
  EXPECT_TRUE(look().feed);
}

TEST_F(Progress, takes_an_actor_that_it_has_not_seen_for_one_that_moves) {
  look();
  signs.push_back({"store", 7, true});
  signs[0].moves = 1;
  EXPECT_TRUE(look_later().feed);
  signs[0].moves = 2;
  EXPECT_THAT(look_later().stuck, ElementsAre("store"));
}

TEST(WorkMeter, moves_when_work_begins_and_when_it_ends) {
  WorkMeter meter;
  EXPECT_FALSE(meter.working());
  const uint64_t before = meter.moves();
  {
    const WorkMeter::Piece piece(meter);
    EXPECT_TRUE(meter.working());
    EXPECT_GT(meter.moves(), before);
  }
  EXPECT_FALSE(meter.working());
  EXPECT_EQ(meter.moves(), before + 2);
}

TEST(WorkMeter, moves_when_a_part_of_a_piece_is_done) {
  WorkMeter meter;
  const WorkMeter::Piece piece(meter);
  const uint64_t before = meter.moves();
  meter.move();
  EXPECT_GT(meter.moves(), before);
  EXPECT_TRUE(meter.working());
}

TEST(WorkMeter, ends_a_piece_that_throws) {
  WorkMeter meter;
  try {
    const WorkMeter::Piece piece(meter);
    throw std::runtime_error("x");
  } catch (const std::runtime_error&) {
  }
  EXPECT_FALSE(meter.working());
}

}  // namespace
}  // namespace cascade
