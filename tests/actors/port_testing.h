// Running an io_context by hand: until something has happened, or for one message of a port.
#pragma once

#include <chrono>
#include <exception>
#include <optional>
#include <stdexcept>

#include "actors/zmq_port.h"

namespace cascade::testing {

// Runs handlers until `done()`. False if no handler was due for a minute: the awaited event is
// lost.
template <class Done>
bool run_until(asio::io_context& io, const Done& done) {
  while (!done()) {
    io.restart();
    if (io.run_one_for(std::chrono::seconds(60)) == 0) return done();
  }
  return true;
}

// How a coroutine ended.
struct Ended {
  bool ended = false;
  std::exception_ptr error;
};

// Starts `task` and notes its end in `ended`, which must outlive it.
inline void spawn(asio::io_context& io, Task<> task, Ended& ended) {
  asio::co_spawn(io, std::move(task), [&ended](std::exception_ptr error) {
    ended.ended = true;
    ended.error = error;
  });
}

// The next message of `port`. Throws, which fails the test, if there is none.
inline wire::Frames receive(asio::io_context& io, ZmqPort& port) {
  std::optional<wire::Frames> frames;
  Ended ended;
  // A lambda would not do: its captures would not exist any more when its coroutine resumes.
  struct Receiver {
    static Task<> run(ZmqPort& from, std::optional<wire::Frames>& to) { to = co_await from.recv(); }
  };
  spawn(io, Receiver::run(port, frames), ended);
  if (!run_until(io, [&] { return ended.ended; })) {
    port.close();
    run_until(io, [&] { return ended.ended; });
    throw std::runtime_error("no message came");
  }
  if (ended.error) std::rethrow_exception(ended.error);
  if (!frames) throw std::runtime_error("the port is closed");
  return *std::move(frames);
}

}  // namespace cascade::testing
