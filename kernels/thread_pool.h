// A fork-join pool: the caller and its workers share the tasks of one loop; when all tasks are
// done, all of them continue.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

namespace cascade {

// Tasks are handed out one by one, so results must not depend on which thread runs a task. There
// are no locks on the hot path: a worker that waits spins for about 50 us (the gap between two
// loops of a forward pass), then sleeps in the kernel; an idle pool uses no CPU.
class ThreadPool {
 public:
  // `threads` counts the caller: threads - 1 workers are started. threads in [1, 256].
  explicit ThreadPool(int threads);
  // No run() may be in progress.
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Calls body(task, thread) for each task in [0, tasks), thread in [0, threads()), and returns
  // when all are done. body must not throw or call run(). One caller at a time, any thread.
  template <class Body>
  void run(int tasks, const Body& body) {
    run_erased(tasks, &body, [](const void* erased, int task, int thread) {
      (*static_cast<const Body*>(erased))(task, thread);
    });
  }

 private:
  using Call = void (*)(const void* body, int task, int thread);

  void run_erased(int tasks, const void* body, Call call);
  void run_loop(int tasks, const void* body, Call call);
  bool run_one_task(int thread);
  void work(int thread);

  // The open loop: the number of its tasks and the next task, in one word, so that a task is
  // claimed together with the loop it belongs to.
  std::atomic<uint64_t> claim_{0};
  std::atomic<int> tasks_done_{0};
  const void* body_ = nullptr;  // of the open loop; stable while one of its tasks is claimed
  Call call_ = nullptr;
  std::atomic<uint32_t> loops_started_{0};  // what sleeping workers wait on
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> in_use_{false};
  std::vector<std::thread> workers_;
};

}  // namespace cascade
