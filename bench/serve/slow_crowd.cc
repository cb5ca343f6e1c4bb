// Sockets that never block; one thread looks at them in turn.
#include "bench/serve/slow_crowd.h"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <string>
#include <string_view>

#include "bench/serve/http_client.h"
#include "bench/serve/traffic.h"

namespace cascade::serve {
namespace {

// The number of files that this process has besides the connections.
constexpr rlim_t kOtherFiles = 256;
// How often the thread looks which connection is due.
constexpr auto kStep = std::chrono::milliseconds(5);
// The head of a request whose body would take more than a day, at one byte per second.
constexpr const char* kBodyHead =
    "POST /v1/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    "Content-Length: 100000\r\n\r\n";
constexpr const char* kSlowHead = "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: ";
// The requests of a slow reader. Their answers have about 200 KB. That is more than the buffers of
// both sockets hold, since the reader's is small.
constexpr int kRequestsOfReader = 16;
constexpr int kReceiveBytes = 4096;

std::string requests_of_reader() {
  std::string all;
  for (int i = 0; i < kRequestsOfReader; ++i) {
    all += "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";
  }
  return all;
}

Status allow_files(int64_t connections) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return io_error("the limit of open files", errno);
  const rlim_t wanted = static_cast<rlim_t>(connections) + kOtherFiles;
  if (limit.rlim_cur >= wanted) return {};
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return io_error("the limit of open files", errno);
  return {};
}

// Sends as much as the socket has room for; the rest is sent later. Returns false if the connection
// has ended.
bool send_some(int socket, std::string_view text, size_t& sent) {
  const ssize_t count = ::send(socket, text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  if (count < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
  sent += static_cast<size_t>(count);
  return true;
}

// Reads a byte if there is one. Returns false if the connection has ended.
bool read_byte(int socket) {
  char byte;
  const ssize_t count = ::recv(socket, &byte, 1, MSG_DONTWAIT);
  return count > 0 || (count < 0 && (errno == EAGAIN || errno == EWOULDBLOCK));
}

}  // namespace

Result<std::unique_ptr<SlowCrowd>> SlowCrowd::gather(int port, int64_t connections,
                                                     int64_t pace_ms) {
  RETURN_IF_ERROR(allow_files(connections));
  std::unique_ptr<SlowCrowd> crowd(new SlowCrowd(port, pace_ms));
  crowd->members_.resize(static_cast<size_t>(connections));
  for (size_t i = 0; i < crowd->members_.size(); ++i) {
    Member& member = crowd->members_[i];
    member.slowness = static_cast<Slowness>(i % kSlownesses);
    RETURN_IF_ERROR(crowd->open(member));
    (void)crowd->act(member);
    // The first turns are spread over the time between two turns.
    member.due_us = now_us() + crowd->pace_us_ * static_cast<int64_t>(i) / connections;
  }
  crowd->thread_ = std::thread([running = crowd.get()] { running->run(); });
  return crowd;
}

SlowCrowd::~SlowCrowd() {
  stop_ = true;
  if (thread_.joinable()) thread_.join();
  for (const Member& member : members_) {
    if (member.socket >= 0) ::close(member.socket);
  }
}

Status SlowCrowd::open(Member& member) const {
  member.socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  member.sent = 0;
  if (member.socket < 0) return io_error("a socket", errno);
  if (member.slowness == Slowness::kReader) {
    (void)::setsockopt(member.socket, SOL_SOCKET, SO_RCVBUF, &kReceiveBytes, sizeof kReceiveBytes);
  }
  const sockaddr_in address = local_address(port_);
  if (::connect(member.socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) {
    return {};
  }
  return Error{ErrorCode::kUnavailable, "", "the daemon takes no more HTTP connections"};
}

bool SlowCrowd::act(Member& member) const {
  switch (member.slowness) {
    case Slowness::kSilent: return read_byte(member.socket);
    case Slowness::kHead: {
      const std::string_view head = kSlowHead;
      // The last header never ends.
      const std::string_view next = member.sent < head.size() ? head.substr(member.sent, 1) : "x";
      return read_byte(member.socket) && send_some(member.socket, next, member.sent);
    }
    case Slowness::kBody: {
      const std::string_view next = member.sent == 0 ? std::string_view(kBodyHead) : " ";
      return read_byte(member.socket) && send_some(member.socket, next, member.sent);
    }
    case Slowness::kReader: {
      static const std::string kRequests = requests_of_reader();
      const std::string_view rest =
          std::string_view(kRequests).substr(std::min(member.sent, kRequests.size()));
      if (!rest.empty() && !send_some(member.socket, rest, member.sent)) return false;
      return read_byte(member.socket);
    }
  }
  return false;
}

void SlowCrowd::run() {
  pthread_setname_np(pthread_self(), "slow crowd");
  while (!stop_) {
    for (Member& member : members_) {
      if (member.due_us > now_us()) continue;
      member.due_us += pace_us_;
      if (member.socket >= 0 && act(member)) continue;
      // The daemon ended the connection, as it should: a new one takes its place.
      if (member.socket >= 0) {
        ::close(member.socket);
        ++ended_;
      }
      if (!open(member).ok() && member.socket >= 0) {
        ::close(member.socket);
        member.socket = -1;
      }
    }
    std::this_thread::sleep_for(kStep);
  }
}

}  // namespace cascade::serve
