// Defines accept4() for the whole program, and decides which connections it lets in.
#include "actors/accept_guard.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <system_error>
#include <thread>

#include "base/check.h"
#include "base/clock.h"
#include "base/token_bucket.h"

namespace cascade {
namespace {

// The rate at which connections beyond easy_max are let in, per second. It is high enough for
// clients that try again after a moment, and low enough for the port to end other connections to
// make room.
constexpr double kSlowPerSecond = 200;
constexpr double kSlowAtOnceMax = 20;

// Connections that come faster than this have a pause before each. Without pauses a flood of
// connections would keep libzmq's thread, which handles the messages of all clients, busy with
// itself.
constexpr double kAtFullSpeedPerSecond = 1000;
constexpr double kAtFullSpeedAtOnceMax = 200;
constexpr std::chrono::microseconds kPause{250};

// The shortest time between two reports to libzmq that connections were turned away.
constexpr int64_t kKnockUs = 10'000;
// The pause after an error of the listener, which may persist.
constexpr std::chrono::milliseconds kErrorPause{10};

std::atomic<int> descriptors_max{0};

int system_accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  return static_cast<int>(::syscall(SYS_accept4, listener, address, size, flags));
}

// Throws std::system_error if the descriptor is -1.
int checked(int descriptor, const char* call) {
  if (descriptor < 0) throw std::system_error(errno, std::generic_category(), call);
  return descriptor;
}

// Turns a connection away when no descriptor is left. The kernel would report the waiting
// connection again and again, so a spare descriptor is given up for a moment to accept the
// connection and close it.
class Spare {
 public:
  void turn_away(int listener) {
    const std::lock_guard lock(mutex_);
    if (descriptor_ >= 0) ::close(descriptor_);
    const int connection = system_accept(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) ::close(connection);
    descriptor_ = open();
  }

 private:
  static int open() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

  std::mutex mutex_;
  int descriptor_ = open();
};

Spare& spare() {
  static Spare one;
  return one;
}

int64_t now_us() {
  return system_clock().monotonic_us();
}

}  // namespace

// The state that the accepting thread, libzmq's thread and the port's thread share.
struct AcceptGuard::Gate {
  Gate(int given_listener, const Limits& given_limits)
      : limits(given_limits),
        listener(given_listener),
        counter(checked(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK | EFD_SEMAPHORE), "eventfd")),
        stop(checked(::eventfd(0, EFD_CLOEXEC), "eventfd")) {}
  ~Gate() {
    for (const int connection : let_in) ::close(connection);
    for (const int descriptor : {listener, counter, stop}) ::close(descriptor);
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Runs on the thread that accepts. Returns when `stop` is written.
  void run() {
    std::array<pollfd, 2> waits = {{{listener, POLLIN, 0}, {stop, POLLIN, 0}}};
    while (waits[1].revents == 0) {
      if (::poll(waits.data(), waits.size(), -1) > 0 && waits[0].revents != 0) accept_one();
    }
  }
  void accept_one() {
    const int connection = system_accept(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return accept_failed();
    if (!full_speed.take(now_us())) std::this_thread::sleep_for(kPause);
    const int highest = descriptors_max;
    if ((highest == 0 || connection < highest) && has_place()) {
      ++open;
      const std::lock_guard lock(mutex);
      let_in.push_back(connection);
      return call_libzmq();
    }
    ::close(connection);
    knock();
  }
  void accept_failed() {
    if (errno == EMFILE || errno == ENFILE) {
      spare().turn_away(listener);
      knock();
    } else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED) {
      std::this_thread::sleep_for(kErrorPause);
    }
  }
  bool has_place() {
    const size_t now_open = open;
    if (now_open < limits.easy_max) return true;
    return now_open < limits.open_max && slow_places.take(now_us());
  }
  // Wakes libzmq although no connection waits: its accept4() fails, and its monitor reports that.
  void knock() {
    if (now_us() < next_knock_us) return;
    next_knock_us = now_us() + kKnockUs;
    call_libzmq();
  }
  void call_libzmq() const { CHECK(::eventfd_write(counter, 1) == 0); }

  // Returns the next connection for libzmq, or -1. Any thread.
  int take() {
    eventfd_t one = 0;
    ::eventfd_read(counter, &one);
    const std::lock_guard lock(mutex);
    if (let_in.empty()) return -1;
    const int connection = let_in.front();
    let_in.pop_front();
    return connection;
  }

  const Limits limits;
  const int listener;
  const int counter;  // an eventfd: how many times libzmq has yet to accept
  const int stop;
  std::atomic<size_t> open{0};
  std::mutex mutex;
  std::deque<int> let_in;  // connections that libzmq has not taken yet
  // Only the accepting thread uses these.
  TokenBucket slow_places{kSlowPerSecond, kSlowAtOnceMax};
  TokenBucket full_speed{kAtFullSpeedPerSecond, kAtFullSpeedAtOnceMax};
  int64_t next_knock_us = 0;
};

struct AcceptGuard::Gates {
  std::mutex mutex;
  std::map<int, std::shared_ptr<Gate>> by_door;
};

AcceptGuard::Gates& AcceptGuard::gates() {
  static Gates all;
  return all;
}

AcceptGuard::AcceptGuard(int listener, const Limits& limits)
    : gate_(std::make_shared<Gate>(listener, limits)),
      door_(checked(::fcntl(gate_->counter, F_DUPFD_CLOEXEC, 0), "fcntl")) {
  CHECK(works());
  CHECK(limits.open_max >= 1 && limits.easy_max <= limits.open_max);
  // A waiting client may have left by the time it is accepted; accept4() must not block then.
  checked(::fcntl(listener, F_SETFL, ::fcntl(listener, F_GETFL) | O_NONBLOCK), "fcntl");
  spare();
  try {
    thread_ = std::thread([gate = gate_] {
      pthread_setname_np(pthread_self(), "accept");
      gate->run();
    });
  } catch (const std::system_error&) {
    ::close(door_);
    throw;
  }
  Gates& all = gates();
  const std::lock_guard lock(all.mutex);
  all.by_door[door_] = gate_;
}

AcceptGuard::~AcceptGuard() {
  CHECK(::eventfd_write(gate_->stop, 1) == 0);
  thread_.join();
  {
    Gates& all = gates();
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_door.find(door_);
    // libzmq may have closed the descriptor, and the door of another guard may have its number by
    // now.
    if (found != all.by_door.end() && found->second == gate_) all.by_door.erase(found);
  }
  // libzmq may still listen at the door: the counter is emptied, so that nothing is to be accepted.
  for (eventfd_t one = 0; ::eventfd_read(gate_->counter, &one) == 0;) continue;
}

void AcceptGuard::ended() {
  CHECK(gate_->open.fetch_sub(1) > 0);
}

size_t AcceptGuard::open() const {
  return gate_->open;
}

void AcceptGuard::set_descriptors_max(int descriptors) {
  descriptors_max = descriptors;
}

bool AcceptGuard::works() {
  static const bool ours = ::dlsym(RTLD_DEFAULT, "accept4") == reinterpret_cast<void*>(&::accept4);
  return ours;
}

int AcceptGuard::accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  std::shared_ptr<Gate> gate;
  {
    Gates& all = gates();
    const std::lock_guard lock(all.mutex);
    const auto found = all.by_door.find(listener);
    if (found != all.by_door.end()) gate = found->second;
  }
  if (!gate) {
    const int connection = system_accept(listener, address, size, flags);
    // The door of a guard that has just ended is not a socket. libzmq would end the process for
    // that error, but continues after ECONNABORTED.
    if (connection < 0 && errno == ENOTSOCK) errno = ECONNABORTED;
    return connection;
  }
  const int connection = gate->take();
  if (connection < 0) {
    errno = ECONNABORTED;
    return -1;
  }
  if (address != nullptr && ::getpeername(connection, address, size) != 0) *size = 0;
  return connection;
}

}  // namespace cascade

// Takes precedence over the C library's definition.
extern "C" __attribute__((visibility("default"))) int accept4(int listener, sockaddr* address,
                                                              socklen_t* size, int flags) {
  return cascade::AcceptGuard::accept(listener, address, size, flags);
}
