// The common status of several models.
#include "daemon/health.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace cascade {
namespace {

class HealthOfModels : public ::testing::Test {
 protected:
  const std::shared_ptr<WorkMeter> layers = std::make_shared<WorkMeter>();
};

TEST_F(HealthOfModels, is_a_line_with_each_of_them) {
  const auto demo = std::make_shared<HostHealth>("demo", "", layers);
  const auto other = std::make_shared<HostHealth>("other", "other", layers);
  EXPECT_EQ(status_line({demo}), "demo: 0 requests running, 0 waiting");
  SchedulerLoad load;
  load.running = 2;
  load.waiting = 3;
  other->on_tick(load);
  EXPECT_EQ(status_line({demo, other}),
            "demo: 0 requests running, 0 waiting; other: 2 requests running, 3 waiting");
}

TEST_F(HealthOfModels, tells_their_actors_apart) {
  std::vector<ProgressSign> signs;
  HostHealth("demo", "", layers).add_signs(signs);
  HostHealth("other", "other", layers).add_signs(signs);
  std::vector<std::string> actors;
  for (const ProgressSign& sign : signs) actors.push_back(sign.actor);
  EXPECT_THAT(actors, ::testing::ElementsAre("scheduler", "prefill", "decode", "store",
                                             "scheduler of other", "prefill of other",
                                             "decode of other", "store of other"));
}

// Those that do not compute wait for their turn.
TEST_F(HealthOfModels, a_layer_of_any_model_is_progress_of_all_that_compute) {
  const HostHealth demo("demo", "", layers), other("other", "other", layers);
  const auto moves = [&] {
    std::map<std::string, uint64_t> by_actor;
    std::vector<ProgressSign> signs;
    demo.add_signs(signs);
    other.add_signs(signs);
    for (const ProgressSign& sign : signs) by_actor[sign.actor] = sign.moves;
    return by_actor;
  };
  auto before = moves();
  layers->move();
  auto after = moves();
  for (const char* actor : {"prefill", "decode", "prefill of other", "decode of other"}) {
    EXPECT_GT(after[actor], before[actor]) << actor;
  }
  for (const char* actor : {"scheduler", "store", "scheduler of other", "store of other"}) {
    EXPECT_EQ(after[actor], before[actor]) << actor;
  }
}

TEST_F(HealthOfModels, knows_when_a_model_was_last_busy) {
  HostHealth health("demo", "", layers);
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
