// How many connections a listening socket of libzmq lets in.
//
// libzmq accepts whoever comes, on a thread of its own, and ends the process when there is no
// descriptor left for one more. What it offers (a monitor, which tells of connections afterwards)
// comes too late for that. So the system call that it accepts with, accept4, is defined in
// accept_guard.cc: the linker lets a program's own definition go before the C library's, also for
// the libraries that it loads. A connection that is too many is accepted and closed at once, and
// libzmq hears that it was given up by its client.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <memory>

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

  // Guards the descriptor from now on, before libzmq has it.
  AcceptGuard(int listener, const Limits& limits);
  // The descriptor is not guarded any more.
  ~AcceptGuard();
  AcceptGuard(const AcceptGuard&) = delete;
  AcceptGuard& operator=(const AcceptGuard&) = delete;

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

  const int listener_;
  const std::shared_ptr<Gate> gate_;
};

}  // namespace cascade
