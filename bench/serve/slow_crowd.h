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
  kSilent,  // says nothing
  kHead,    // a byte of a request's head now and then
  kBody,    // a byte of its body
  kReader,  // many requests at once, and a byte of the answers now and then
};
inline constexpr int kSlownesses = 4;

// As long as it lives a thread of its own keeps the connections: one that the daemon ends is made
// again. Start and end on one thread.
class SlowCrowd {
 public:
  // Returns when every connection has done something. Each then does something every `pace_ms`.
  // Errors: kUnavailable if the port of 127.0.0.1 takes fewer than `connections`; as io_error.
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
    size_t sent = 0;  // bytes of what it says
    int64_t due_us = 0;
  };

  SlowCrowd(int port, int64_t pace_ms) : port_(port), pace_us_(pace_ms * 1000) {}
  Status open(Member& member) const;
  // False if the connection has ended.
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
