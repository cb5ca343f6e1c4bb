// Long work for an io_context that must not wait for it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "actors/asio.h"

namespace cascade {

// One thread for each job. Use it only on the io_context's thread.
class BackgroundJobs {
 public:
  explicit BackgroundJobs(asio::io_context& io) : io_(io) {}
  // Precondition: no job is under way.
  ~BackgroundJobs() {
    for (auto& [id, thread] : threads_) thread.join();
  }
  BackgroundJobs(const BackgroundJobs&) = delete;
  BackgroundJobs& operator=(const BackgroundJobs&) = delete;

  // Calls work() on a thread of its own, and then calls the function that work() returned, on the
  // io_context's thread. work() must not throw.
  void run(std::function<std::function<void()>()> work) {
    const uint64_t id = next_++;
    threads_[id] = std::thread([this, id, work = std::move(work)]() mutable {
      std::function<void()> then = work();
      work = nullptr;
      asio::post(io_, [this, id, then = std::move(then)] {
        threads_.at(id).join();
        threads_.erase(id);
        then();
      });
    });
  }

 private:
  asio::io_context& io_;
  uint64_t next_ = 1;
  std::map<uint64_t, std::thread> threads_;
};

// One thread runs all jobs, one after the other, so that their allocations come from one arena of
// malloc, which reuses the memory of earlier jobs. Call run() only on the io_context's thread.
class BackgroundThread {
 public:
  // `begin` is called first, on the thread.
  BackgroundThread(asio::io_context& io, std::function<void()> begin)
      : io_(io), thread_([this, begin = std::move(begin)] {
          begin();
          work();
        }) {}
  // Waits for the job that is under way; the other jobs are dropped.
  ~BackgroundThread() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    more_.notify_all();
    thread_.join();
  }
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  // As BackgroundJobs::run().
  void run(std::function<std::function<void()>()> work) {
    {
      const std::lock_guard lock(mutex_);
      jobs_.push_back(std::move(work));
    }
    more_.notify_all();
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      more_.wait(lock, [this] { return ended_ || !jobs_.empty(); });
      if (ended_) return;
      std::function<std::function<void()>()> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      asio::post(io_, job());
      job = nullptr;
      lock.lock();
    }
  }

  asio::io_context& io_;
  std::mutex mutex_;
  std::condition_variable more_;
  std::deque<std::function<std::function<void()>()>> jobs_;
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace cascade
