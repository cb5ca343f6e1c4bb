// Bounds how many connections a listening socket of libzmq lets in, and how fast.
//
// libzmq accepts every connection, on the thread that handles the messages of all clients, and ends
// the process when no descriptor is left for one more. Its own remedy, a monitor that reports
// connections afterwards, comes too late for that. So a thread of the guard accepts in libzmq's
// place, and libzmq listens at an eventfd(2), which counts the connections that are let in. libzmq
// accepts with the system call accept4. accept_guard.cc defines that function to hand these
// connections over: the linker prefers a program's own definition to the C library's, also for the
// libraries that the program loads.
#pragma once

#include <sys/socket.h>

#include <cstddef>
#include <memory>
#include <thread>

namespace cascade {

// Any thread. A listener without a guard accepts as always.
class AcceptGuard {
 public:
  struct Limits {
    size_t open_max = 0;  // connections at once, >= 1
    // Beyond this number (<= open_max) new connections are let in slowly, so that there is time to
    // end others to make room.
    size_t easy_max = 0;
  };

  // Accepts at the listening descriptor from now on. The guard owns the descriptor, closes it, and
  // makes it non-blocking. Connections that come faster than some 1,000 a second are taken with
  // pauses. Throws std::system_error if the system has no descriptor or thread left.
  AcceptGuard(int listener, const Limits& limits);
  // Lets nobody in any more. Connections that libzmq has not taken yet are closed.
  ~AcceptGuard();
  AcceptGuard(const AcceptGuard&) = delete;
  AcceptGuard& operator=(const AcceptGuard&) = delete;

  // The descriptor at which libzmq listens in place of the listener (ZMQ_USE_FD). libzmq owns it
  // from the bind on; before that, the caller has to close it. When connections are turned away,
  // libzmq is told that a client gave one up, but at most every 10 ms.
  int door() const { return door_; }
  // Notes that a connection that was let in has ended.
  void ended();
  // The number of connections that were let in and have not ended.
  size_t open() const;

  // Connections whose descriptor is `descriptors` or higher are closed, whatever the limits of
  // their listener. The system gives out the lowest free descriptor, so all lower ones are in use
  // then. 0: no such limit.
  static void set_descriptors_max(int descriptors);
  // Whether libzmq's calls reach accept(), as they must: false if the program was linked in another
  // way.
  static bool works();
  // The implementation of accept4(2) in this program.
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
