// Jobs compute in the order in which they began to wait.
#include "daemon/compute.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace cascade {
namespace {

TEST(FairTurn, goes_to_who_came_first) {
  constexpr int kModels = 8;
  FairTurn turn;
  std::vector<int> served;  // changed only during a turn
  std::vector<std::thread> threads;
  {
    const FairTurn::Hold first(turn);
    for (int model = 0; model < kModels; ++model) {
      threads.emplace_back([&, model] {
        const FairTurn::Hold mine(turn);
        served.push_back(model);
      });
      // The next thread starts when this one waits.
      while (turn.arrivals() < static_cast<uint64_t>(model) + 2) std::this_thread::yield();
    }
    EXPECT_TRUE(served.empty());
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(served, ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(FairTurn, is_held_by_one_at_a_time) {
  FairTurn turn;
  int64_t jobs = 0;  // has no lock of its own
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int job = 0; job < 1000; ++job) {
        const FairTurn::Hold mine(turn);
        ++jobs;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(jobs, 4000);
}

}  // namespace
}  // namespace cascade
