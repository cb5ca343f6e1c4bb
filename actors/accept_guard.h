// How many connections a listening socket of libzmq lets in, and how fast.
//
// libzmq accepts whoever comes, on the thread that has the messages of all clients, and ends the
// process when there is no descriptor left for one more. What it offers (a monitor, which tells of
// connections afterwards) comes too late for that. So a thread of the guard accepts in its place.
// libzmq listens at an eventfd(2), which counts those that are let in, and the system call that it
// accepts with, accept4, is defined in accept_guard.cc and hands them over: the linker lets a
// program's own definition go before the C library's, also for the libraries that it loads.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <thread>

namespace cascade {

// Any thread. A listener that has no guard accepts as ever.
class AcceptGuard {
 public:
  struct Limits {
    size_t open_max = 0;  // connections at once, >= 1
    // Beyond this number (<= open_max) new connections are let in slowly, so that there is time to
    // end others in their place.
    size_t easy_max = 0;
  };

  // Accepts at the listening descriptor from now on. It is the guard's, which closes it, and is set
  // not to block. Connections that come faster than some 1,000 a second are taken with pauses.
  // Throws std::system_error if the system has no descriptor or thread left.
  AcceptGuard(int listener, const Limits& limits);
  // Nobody is let in any more. Those that libzmq has not taken yet are closed.
  ~AcceptGuard();
  AcceptGuard(const AcceptGuard&) = delete;
  AcceptGuard& operator=(const AcceptGuard&) = delete;

  // What libzmq listens at in place of the listener (ZMQ_USE_FD). It is libzmq's from the bind on;
  // before that, the caller's to close. When connections are turned away libzmq hears that one was
  // given up by its client, but not more often than every 10 ms.
  int door() const { return door_; }
  // One that was let in has ended.
  void ended();
  // Let in and not ended.
  size_t open() const;

  // A connection whose descriptor is `descriptors` or higher is closed, whatever the limits of its
  // listener. The system gives out the lowest free descriptor, so all below are in use then. 0: no
  // such limit.
  static void set_descriptors_max(int descriptors);
  // Whether libzmq's calls end up here, as they must: false if the program was linked otherwise.
  static bool works();
  // What accept4(2) does in this program.
  static int accept(int listener, sockaddr* address, socklen_t* size, int flags);

 private:
  struct Gate;
  struct Gates;
  static Gates& gates();

  const std::shared_ptr<Gate> gate_;
  const int door_;
  std::thread thread_;
};

}  // namespace cascade
