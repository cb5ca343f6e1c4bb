// Defines accept4() for the whole program, and decides whom it lets in.
#include "actors/accept_guard.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <map>
#include <mutex>

#include "base/check.h"

namespace cascade {
namespace {

// The rate at which connections beyond easy_max are let in. It is high enough for clients that try
// again after a moment, and low enough for the port to end others in their place.
constexpr double kSlowPerSecond = 200;
constexpr double kSlowAtOnceMax = 20;

using Steady = std::chrono::steady_clock;

std::atomic<int> descriptors_max{0};

int system_accept(int listener, sockaddr* address, socklen_t* size, int flags) {
  return static_cast<int>(::syscall(SYS_accept4, listener, address, size, flags));
}

// Turns a connection away when no descriptor is left. The kernel would report the waiting
// connection again and again, so a spare descriptor is given up for a moment to accept and close
// it.
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

}  // namespace

struct AcceptGuard::Gate {
  explicit Gate(const Limits& given) : limits(given) {}

  // Called by the thread that accepts.
  bool let_in() {
    const size_t now_open = open;
    if (now_open >= limits.open_max) return false;
    if (now_open >= limits.easy_max && !take_slow_place()) return false;
    ++open;
    return true;
  }

  bool take_slow_place() {
    const std::lock_guard lock(mutex);
    const Steady::time_point now = Steady::now();
    const double passed_s = std::chrono::duration<double>(now - filled).count();
    slow_places = std::min(kSlowAtOnceMax, slow_places + passed_s * kSlowPerSecond);
    filled = now;
    if (slow_places < 1) return false;
    slow_places -= 1;
    return true;
  }

  const Limits limits;
  std::atomic<size_t> open{0};
  std::mutex mutex;
  double slow_places = kSlowAtOnceMax;
  Steady::time_point filled = Steady::now();
};

struct AcceptGuard::Gates {
  std::mutex mutex;
  std::map<int, std::shared_ptr<Gate>> by_listener;
};

AcceptGuard::Gates& AcceptGuard::gates() {
  static Gates all;
  return all;
}

AcceptGuard::AcceptGuard(int listener, const Limits& limits)
    : listener_(listener), gate_(std::make_shared<Gate>(limits)) {
  CHECK(works());
  CHECK(limits.open_max >= 1 && limits.easy_max <= limits.open_max);
  spare();
  Gates& all = gates();
  const std::lock_guard lock(all.mutex);
  all.by_listener[listener] = gate_;
}

AcceptGuard::~AcceptGuard() {
  Gates& all = gates();
  const std::lock_guard lock(all.mutex);
  const auto found = all.by_listener.find(listener_);
  // The descriptor may have been closed and be another listener's by now.
  if (found != all.by_listener.end() && found->second == gate_) all.by_listener.erase(found);
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
    const auto found = all.by_listener.find(listener);
    if (found != all.by_listener.end()) gate = found->second;
  }
  const int connection = system_accept(listener, address, size, flags);
  if (!gate) return connection;
  if (connection < 0) {
    const bool none_left = errno == EMFILE || errno == ENFILE;
    if (none_left) spare().turn_away(listener);
    if (none_left) errno = ECONNABORTED;
    return -1;
  }
  const int highest = descriptors_max;
  if ((highest == 0 || connection < highest) && gate->let_in()) return connection;
  ::close(connection);
  errno = ECONNABORTED;
  return -1;
}

}  // namespace cascade

// Goes before the C library's.
extern "C" __attribute__((visibility("default"))) int accept4(int listener, sockaddr* address,
                                                              socklen_t* size, int flags) {
  return cascade::AcceptGuard::accept(listener, address, size, flags);
}
