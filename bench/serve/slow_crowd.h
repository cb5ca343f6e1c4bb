// Many HTTP connections that are slow on purpose, each in one of four ways.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.h"

namespace cascade::serve {

enum class Slowness {
  kSilent,  // sends nothing
  kHead,    // sends a byte of a request's head now and then
  kBody,    // sends a byte of a request's body now and then
  kReader,  // sends many requests at once, and reads a byte of the answers now and then
};
inline constexpr int kSlownesses = 4;

// While it lives, a thread of its own keeps the connections open: one that the daemon ends is made
// again. Create and destroy it on one thread.
class SlowCrowd {
 public:
  // Returns when every connection has done something. From then on, each does something every
  // `pace_ms`. Errors: kUnavailable if the port of 127.0.0.1 accepts fewer than `connections`;
  // those of io_error.
  static Result<std::unique_ptr<SlowCrowd>> gather(int port, int64_t connections, int64_t pace_ms);
  ~SlowCrowd();
  SlowCrowd(const SlowCrowd&) = delete;
  SlowCrowd& operator=(const SlowCrowd&) = delete;

  // Connections that the daemon has ended so far.
  int64_t ended() const { return ended_; }

 private:
  struct Member {
    Slowness slowness;
    int socket = -1;
    size_t sent = 0;  // bytes sent on this connection
    int64_t due_us = 0;
  };

  SlowCrowd(int port, int64_t pace_ms) : port_(port), pace_us_(pace_ms * 1000) {}
  Status open(Member& member) const;
  // Returns false if the connection has ended.
  bool act(Member& member) const;
  void run();

  const int port_;
  const int64_t pace_us_;
  std::vector<Member> members_;
  std::atomic<int64_t> ended_{0};
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace cascade::serve
