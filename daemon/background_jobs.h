// Work that takes long, beside an io_context that must not wait for it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <thread>

#include "actors/asio.h"

namespace cascade {

// One thread a job. To be used on the io_context's thread only.
class BackgroundJobs {
 public:
  explicit BackgroundJobs(asio::io_context& io) : io_(io) {}
  // No job is under way.
  ~BackgroundJobs() {
    for (auto& [id, thread] : threads_) thread.join();
  }
  BackgroundJobs(const BackgroundJobs&) = delete;
  BackgroundJobs& operator=(const BackgroundJobs&) = delete;

  // Calls work() on a thread of its own, then what it returned on the io_context's. It must not
  // throw.
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

}  // namespace cascade
