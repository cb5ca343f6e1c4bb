// The order of waiting tenants.
#include "cache/tenant_turn.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cascade {
namespace {

constexpr double kOwedMost = FairShare::kCreditTokensMax;

TEST(TenantTurn, who_runs_least_gets_the_next_place) {
  const TenantTurn runs_nothing = {.running = 0, .credit_tokens = -100};
  const TenantTurn runs_one = {.running = 1, .asks_singly = true, .credit_tokens = kOwedMost};
  EXPECT_TRUE(runs_nothing.goes_before(runs_one));
  EXPECT_FALSE(runs_one.goes_before(runs_nothing));
  EXPECT_FALSE(runs_one.goes_before(runs_one));
}

TEST(TenantTurn, who_asks_for_one_thing_at_a_time_goes_before_those_with_more_to_do) {
  const TenantTurn singly = {.asks_singly = true, .credit_tokens = -kOwedMost};
  const TenantTurn much = {.credit_tokens = 200};
  EXPECT_TRUE(singly.goes_before(much));
  EXPECT_LT(singly.prompt_order(300), much.prompt_order(1));
  const TenantTurn starving = {.credit_tokens = kOwedMost};
  EXPECT_TRUE(starving.goes_before(singly)) << "it waited long enough";
  EXPECT_LT(starving.prompt_order(1), singly.prompt_order(1));
}

TEST(TenantTurn, a_prompt_that_is_long_has_no_precedence) {
  const TenantTurn singly = {.asks_singly = true, .credit_tokens = 0};
  const TenantTurn much = {.credit_tokens = 200};
  EXPECT_LT(singly.prompt_order(static_cast<int64_t>(kOwedMost)), much.prompt_order(1));
  EXPECT_GT(singly.prompt_order(static_cast<int64_t>(kOwedMost) + 1), much.prompt_order(1));
}

// There is one place. One tenant always has more to do. The others ask for one thing at a time, and
// again at once when they have been answered. In the long run all get the same.
TEST(TenantTurn, tenants_that_ask_singly_do_not_starve_one_with_much_to_do) {
  constexpr int kSingly = 5;
  FairShare share;
  std::vector<double> got(kSingly + 1);
  for (int tenant = 0; tenant <= kSingly; ++tenant) share.add(std::to_string(tenant));
  for (int i = 0; i < 60'000; ++i) {
    size_t next = 0;
    const auto turn = [&](size_t tenant) {
      return TenantTurn{.asks_singly = tenant > 0,
                        .credit_tokens = share.credit(std::to_string(tenant))};
    };
    for (size_t tenant = 1; tenant <= kSingly; ++tenant) {
      if (turn(tenant).goes_before(turn(next))) next = tenant;
    }
    got[next] += 100;
    share.charge(std::to_string(next), 100);
  }
  const auto [least, most] = std::ranges::minmax(got);
  EXPECT_NEAR(most / least, 1, 0.02);
}

}  // namespace
}  // namespace cascade
