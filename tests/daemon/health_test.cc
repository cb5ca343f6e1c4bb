// The common status of several models.
#include "daemon/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace cascade {
namespace {

TEST(HealthOfModels, is_a_line_with_each_of_them) {
  const auto demo = std::make_shared<HostHealth>("demo", "");
  const auto other = std::make_shared<HostHealth>("other", "other");
  EXPECT_EQ(status_line({demo}), "demo: 0 requests running, 0 waiting");
  SchedulerLoad load;
  load.running = 2;
  load.waiting = 3;
  other->on_tick(load);
  EXPECT_EQ(status_line({demo, other}),
            "demo: 0 requests running, 0 waiting; other: 2 requests running, 3 waiting");
}

TEST(HealthOfModels, tells_their_actors_apart) {
  std::vector<ProgressSign> signs;
  HostHealth("demo", "").add_signs(signs);
  HostHealth("other", "other").add_signs(signs);
  std::vector<std::string> actors;
  for (const ProgressSign& sign : signs) actors.push_back(sign.actor);
  EXPECT_THAT(actors, ::testing::ElementsAre("scheduler", "prefill", "decode", "store",
                                             "scheduler of other", "prefill of other",
                                             "decode of other", "store of other"));
}

TEST(HealthOfModels, knows_when_a_model_was_last_busy) {
  HostHealth health("demo", "");
  health.on_tick({});
  EXPECT_EQ(health.last_busy_us(), 0);
  SchedulerLoad load;
  load.running = 1;
  health.on_tick(load);
  const int64_t seen = health.last_busy_us();
  EXPECT_GT(seen, 0);
  health.on_tick({});
  EXPECT_EQ(health.last_busy_us(), seen);
}

}  // namespace
}  // namespace cascade
