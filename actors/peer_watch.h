// Notices that the other end of an inproc connection is gone: such connections never come back.
#pragma once

#include <chrono>
#include <stdexcept>

#include "actors/zmq_port.h"

namespace cascade {

// Throws std::runtime_error out of run() once nobody is connected to the port. The check costs a
// microsecond four times a second.
class PeerWatch {
 public:
  PeerWatch(asio::io_context& io, ZmqPort& port) : timer_(io), port_(port) {}

  Task<> run() {
    while (!closed_) {
      timer_.expires_after(std::chrono::milliseconds(250));
      boost::system::error_code woken;
      co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      if (!closed_ && !port_.has_peer()) throw std::runtime_error("the scheduler is gone");
    }
  }
  // Ends run().
  void close() {
    closed_ = true;
    timer_.cancel();
  }

 private:
  asio::steady_timer timer_;
  ZmqPort& port_;
  bool closed_ = false;
};

}  // namespace cascade
