// Restarts within a budget, and what happens beyond it. The supervisor itself waits some
// milliseconds between restarts; nothing else here does.
#include "actors/supervisor.h"

#include <gtest/gtest.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <future>
#include <mutex>
#include <stdexcept>

namespace cascade {
namespace {

constexpr int64_t kSecondUs = 1'000'000;

TEST(RestartBudget, allows_so_many_restarts_in_the_window) {
  RestartBudget budget({.restarts_max = 3, .window_us = 10 * kSecondUs});
  EXPECT_TRUE(budget.spend(0));
  EXPECT_TRUE(budget.spend(kSecondUs));
  EXPECT_TRUE(budget.spend(9 * kSecondUs));
  EXPECT_FALSE(budget.spend(10 * kSecondUs - 1));
  // The first restart is forgotten once it is as old as the window.
  EXPECT_TRUE(budget.spend(10 * kSecondUs));
  EXPECT_FALSE(budget.spend(10 * kSecondUs));
}

TEST(RestartBudget, does_not_count_what_it_refuses) {
  RestartBudget budget({.restarts_max = 1, .window_us = kSecondUs});
  EXPECT_TRUE(budget.spend(0));
  for (int64_t now = 1; now < kSecondUs; now += 1000) EXPECT_FALSE(budget.spend(now));
  EXPECT_TRUE(budget.spend(kSecondUs));
}

TEST(RestartBudget, may_allow_none) {
  RestartBudget budget({.restarts_max = 0, .window_us = kSecondUs});
  EXPECT_FALSE(budget.spend(0));
  EXPECT_FALSE(budget.spend(100 * kSecondUs));
}

TEST(RestartBudget, waits_twice_as_long_each_time_up_to_a_second) {
  RestartBudget budget({.restarts_max = 1000, .window_us = 100 * kSecondUs});
  for (const int64_t expected_us : {10'000, 20'000, 40'000, 80'000, 160'000, 320'000, 640'000}) {
    ASSERT_TRUE(budget.spend(0));
    EXPECT_EQ(budget.backoff_us(), expected_us);
  }
  for (int i = 0; i < 200; ++i) {
    ASSERT_TRUE(budget.spend(0));
    EXPECT_EQ(budget.backoff_us(), kSecondUs);
  }
  // After a quiet window the backoff begins anew.
  ASSERT_TRUE(budget.spend(200 * kSecondUs));
  EXPECT_EQ(budget.backoff_us(), 10'000);
}

// A clock that calls `on_read`; the supervisor reads it after each failure that it may restart.
class HookedClock : public Clock {
 public:
  explicit HookedClock(std::function<int64_t()> on_read) : on_read_(std::move(on_read)) {}
  int64_t monotonic_us() const override { return on_read_(); }
  int64_t wall_us() const override { return 0; }

 private:
  const std::function<int64_t()> on_read_;
};

// The reports of a supervisor. Any thread.
class Escalations {
 public:
  void add(const std::string& actor, const std::string& reason) {
    const std::lock_guard lock(mutex_);
    all_.push_back(actor + ": " + reason);
  }
  std::vector<std::string> all() {
    const std::lock_guard lock(mutex_);
    return all_;
  }

 private:
  std::mutex mutex_;
  std::vector<std::string> all_;
};

class SupervisorTest : public ::testing::Test {
 protected:
  void SetUp() override { spdlog::set_level(spdlog::level::off); }
  void TearDown() override { spdlog::set_level(spdlog::level::info); }

  std::function<void(const std::string&, const std::string&)> note() {
    return [this](const std::string& actor, const std::string& reason) {
      escalations_.add(actor, reason);
    };
  }

  Escalations escalations_;
  const HookedClock still_{[] { return 0; }};
};

TEST_F(SupervisorTest, runs_an_actor_once_if_it_returns) {
  Supervisor supervisor(still_, {}, note());
  std::vector<uint64_t> incarnations;
  supervisor.start("a", [&](uint64_t incarnation) { incarnations.push_back(incarnation); });
  supervisor.join();
  EXPECT_EQ(incarnations, std::vector<uint64_t>{1});
  EXPECT_TRUE(escalations_.all().empty());
}

TEST_F(SupervisorTest, starts_an_actor_again_until_it_returns) {
  Supervisor supervisor(still_, {.restarts_max = 3, .window_us = kSecondUs}, note());
  std::vector<uint64_t> incarnations;
  supervisor.start("a", [&](uint64_t incarnation) {
    incarnations.push_back(incarnation);
    if (incarnation == 1) throw std::runtime_error("once");
    if (incarnation == 2) throw 7;  // not a std::exception
  });
  supervisor.join();
  EXPECT_EQ(incarnations, (std::vector<uint64_t>{1, 2, 3}));
  EXPECT_TRUE(escalations_.all().empty());
}

TEST_F(SupervisorTest, escalates_once_when_the_budget_is_spent) {
  Supervisor supervisor(still_, {.restarts_max = 2, .window_us = kSecondUs}, note());
  uint64_t runs = 0;
  supervisor.start("a", [&](uint64_t incarnation) {
    runs = incarnation;
    throw std::runtime_error("failure " + std::to_string(incarnation));
  });
  supervisor.join();
  EXPECT_EQ(runs, 3u);
  EXPECT_EQ(escalations_.all(), std::vector<std::string>{"a: failure 3"});
}

TEST_F(SupervisorTest, names_a_reason_for_exceptions_without_one) {
  Supervisor supervisor(still_, {.restarts_max = 0, .window_us = kSecondUs}, note());
  supervisor.start("a", [](uint64_t) { throw 7; });
  supervisor.join();
  EXPECT_EQ(escalations_.all(), std::vector<std::string>{"a: an exception of unknown type"});
}

TEST_F(SupervisorTest, forgets_restarts_that_are_older_than_the_window) {
  std::atomic<int64_t> now_us = 0;
  const HookedClock clock([&] { return now_us += kSecondUs; });
  Supervisor supervisor(clock, {.restarts_max = 1, .window_us = kSecondUs}, note());
  uint64_t runs = 0;
  supervisor.start("a", [&](uint64_t incarnation) {
    runs = incarnation;
    if (incarnation < 6) throw std::runtime_error("again");
  });
  supervisor.join();
  EXPECT_EQ(runs, 6u);
  EXPECT_TRUE(escalations_.all().empty());
}

TEST_F(SupervisorTest, gives_every_actor_a_thread_and_a_budget_of_its_own) {
  Supervisor supervisor(still_, {.restarts_max = 1, .window_us = kSecondUs}, note());
  std::promise<void> both_failed;
  std::atomic<int> failures = 0;
  const auto fail = [&](uint64_t) {
    if (++failures == 4) both_failed.set_value();
    throw std::runtime_error("bad");
  };
  supervisor.start("a", fail);
  supervisor.start("b", fail);
  // Goes on while the others fail.
  supervisor.start("c", [&](uint64_t) { both_failed.get_future().wait(); });
  supervisor.join();
  auto all = escalations_.all();
  std::ranges::sort(all);
  EXPECT_EQ(all, (std::vector<std::string>{"a: bad", "b: bad"}));
}

TEST_F(SupervisorTest, starts_nothing_again_after_it_was_told_so) {
  Supervisor supervisor(still_, {}, note());
  std::promise<void> running, told;
  uint64_t runs = 0;
  supervisor.start("a", [&](uint64_t incarnation) {
    runs = incarnation;
    running.set_value();
    told.get_future().wait();
    throw std::runtime_error("while stopping");
  });
  running.get_future().wait();
  supervisor.stop_restarting();
  told.set_value();
  supervisor.join();
  EXPECT_EQ(runs, 1u);
  EXPECT_TRUE(escalations_.all().empty());
}

TEST_F(SupervisorTest, starts_nothing_again_if_told_so_before_a_restart_is_due) {
  Supervisor* told = nullptr;
  const HookedClock clock([&told] {
    told->stop_restarting();  // the actor has failed and is about to wait for its restart
    return 0;
  });
  Supervisor supervisor(clock, {}, note());
  told = &supervisor;
  uint64_t runs = 0;
  supervisor.start("a", [&](uint64_t incarnation) {
    runs = incarnation;
    throw std::runtime_error("bad");
  });
  supervisor.join();
  EXPECT_EQ(runs, 1u);
  EXPECT_TRUE(escalations_.all().empty());
}

}  // namespace
}  // namespace cascade
