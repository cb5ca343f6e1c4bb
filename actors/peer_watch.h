// Notices that the other end of an inproc connection has ended, or will never exist: such
// connections never recover.
#pragma once

#include <chrono>
#include <stdexcept>

#include "actors/zmq_port.h"

namespace cascade {

// run() throws std::runtime_error once nobody is connected to the port, nor will be. The check
// costs a microsecond four times a second.
class PeerWatch {
 public:
  PeerWatch(asio::io_context& io, const ZmqContext& context, ZmqPort& port)
      : timer_(io), context_(context), port_(port) {}

  Task<> run() {
    // A connection that waits for its endpoint looks like an established one. Messages from before
    // the end of the other side are to be received first, so there is one more round.
    bool in_vain = false;
    while (!closed_) {
      timer_.expires_after(std::chrono::milliseconds(250));
      boost::system::error_code woken;
      co_await timer_.async_wait(asio::redirect_error(asio::use_awaitable, woken));
      if (closed_) break;
      if (in_vain || !port_.has_peer()) throw std::runtime_error("the scheduler is gone");
      in_vain = context_.binding_ended();
    }
  }
  // Ends run().
  void close() {
    closed_ = true;
    timer_.cancel();
  }

 private:
  asio::steady_timer timer_;
  const ZmqContext& context_;
  ZmqPort& port_;
  bool closed_ = false;
};

}  // namespace cascade
