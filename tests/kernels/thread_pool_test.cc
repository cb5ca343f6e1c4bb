// The pool runs every task exactly once, on any number of threads, again and again.
#include "kernels/thread_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <vector>

namespace cascade {
namespace {

TEST(ThreadPool, runs_every_task_once) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.threads(), threads);
    for (const int tasks : {0, 1, 2, 7, 1000}) {
      std::vector<std::atomic<int>> runs(tasks);
      pool.run(tasks, [&](int task, int thread) {
        ASSERT_LT(thread, threads);
        runs[task].fetch_add(1);
      });
      for (int task = 0; task < tasks; ++task) ASSERT_EQ(runs[task].load(), 1);
    }
  }
}

TEST(ThreadPool, makes_the_results_of_all_tasks_visible_to_the_caller) {
  ThreadPool pool(4);
  for (int round = 0; round < 5000; ++round) {
    int results[6] = {};
    pool.run(6, [&](int task, int) { results[task] = round + task; });
    for (int task = 0; task < 6; ++task) ASSERT_EQ(results[task], round + task);
  }
}

TEST(ThreadPool, runs_loops_longer_than_its_task_counter) {
  ThreadPool pool(2);
  std::vector<std::atomic<uint8_t>> runs(200'000);
  pool.run(static_cast<int>(runs.size()), [&](int task, int) { runs[task].fetch_add(1); });
  for (const auto& count : runs) ASSERT_EQ(count.load(), 1);
}

}  // namespace
}  // namespace cascade
