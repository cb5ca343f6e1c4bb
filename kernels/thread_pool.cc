// The pool's protocol: publish a loop, claim tasks by compare-and-swap, count them done.
#include "kernels/thread_pool.h"

#include <pthread.h>

#include <exception>
#include <string>

#include "base/check.h"
#include "kernels/pause.h"

namespace cascade {
namespace {

// claim_: 32 bits loop number, 16 bits task count, 16 bits next task.
constexpr int kTasksPerLoopMax = 0xFFFF;

uint64_t make_claim(uint32_t loop, int tasks) {
  return static_cast<uint64_t>(loop) << 32 | static_cast<uint64_t>(tasks) << 16;
}
int task_count(uint64_t claim) {
  return static_cast<int>(claim >> 16 & 0xFFFF);
}
int next_task(uint64_t claim) {
  return static_cast<int>(claim & 0xFFFF);
}

// One pause takes 10 to 45 ns on CPUs of the last ten years: some 50 us in all.
constexpr int kSpins = 2000;

void end_workers(std::atomic<bool>& stopping, std::atomic<uint32_t>& loops_started,
                 std::vector<std::thread>& workers) {
  stopping.store(true);
  loops_started.fetch_add(1);
  loops_started.notify_all();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace

ThreadPool::ThreadPool(int threads) {
  CHECK(threads >= 1 && threads <= 256);
  try {
    for (int i = 1; i < threads; ++i) {
      workers_.emplace_back([this, i] {
        pthread_setname_np(pthread_self(), ("compute:" + std::to_string(i)).c_str());
        work(i);
      });
    }
  } catch (const std::exception&) {  // the system has no more threads, or no memory for one
    end_workers(stopping_, loops_started_, workers_);
    throw;
  }
}

ThreadPool::~ThreadPool() {
  CHECK(!in_use_.load());
  end_workers(stopping_, loops_started_, workers_);
}

void ThreadPool::run_erased(int tasks, const void* body, Call call) {
  CHECK(tasks >= 0);
  CHECK(!in_use_.exchange(true));
  // The offset keeps task numbers correct when a loop has more tasks than one claim word can count.
  struct Part {
    const void* body;
    Call call;
    int offset;
  };
  for (int offset = 0; offset < tasks; offset += kTasksPerLoopMax) {
    const Part part = {body, call, offset};
    const int count = tasks - offset < kTasksPerLoopMax ? tasks - offset : kTasksPerLoopMax;
    run_loop(count, &part, [](const void* erased, int task, int thread) {
      const Part& p = *static_cast<const Part*>(erased);
      p.call(p.body, p.offset + task, thread);
    });
  }
  in_use_.store(false);
}

void ThreadPool::run_loop(int tasks, const void* body, Call call) {
  if (workers_.empty() || tasks == 1) {
    for (int task = 0; task < tasks; ++task) call(body, task, 0);
    return;
  }
  body_ = body;
  call_ = call;
  tasks_done_.store(0, std::memory_order_relaxed);
  const uint32_t loop = loops_started_.load(std::memory_order_relaxed) + 1;
  claim_.store(make_claim(loop, tasks), std::memory_order_release);
  loops_started_.store(loop);
  if (sleepers_.load() > 0) loops_started_.notify_all();

  while (run_one_task(0)) {
  }
  int spins = 0;
  while (tasks_done_.load(std::memory_order_acquire) < tasks) {
    pause_cpu();
    if (++spins % kSpins == 0) std::this_thread::yield();  // a worker may have lost its core
  }
}

bool ThreadPool::run_one_task(int thread) {
  uint64_t claim = claim_.load(std::memory_order_acquire);
  do {
    if (next_task(claim) >= task_count(claim)) return false;
  } while (!claim_.compare_exchange_weak(claim, claim + 1, std::memory_order_acq_rel));
  // The loop cannot end before this task is counted, so body_ and call_ still belong to the claim.
  call_(body_, next_task(claim), thread);
  tasks_done_.fetch_add(1, std::memory_order_release);
  return true;
}

void ThreadPool::work(int thread) {
  uint32_t seen = 0;
  while (!stopping_.load(std::memory_order_acquire)) {
    if (run_one_task(thread)) continue;
    int spins = 0;
    while (loops_started_.load(std::memory_order_acquire) == seen && spins < kSpins) {
      pause_cpu();
      ++spins;
    }
    if (loops_started_.load() == seen) {
      sleepers_.fetch_add(1);
      loops_started_.wait(seen);
      sleepers_.fetch_sub(1);
    }
    seen = loops_started_.load(std::memory_order_acquire);
  }
}

}  // namespace cascade
