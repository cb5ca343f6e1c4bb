// A full door: who is let in, who has to leave, and what is left for the rest of the program.
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "actors/accept_guard.h"
#include "actors/zmq_port.h"
#include "tests/actors/port_testing.h"
#include "tests/temporary_folder.h"

// AddressSanitizer calls this. libzmq 4.3.4 leaks about 80 bytes of a connection that is in its
// handshake when its context ends.
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libzmq.so\n";
}

namespace cascade {
namespace {

using testing::Ended;
using testing::run_until;
using testing::spawn;

constexpr size_t kMax = 16;

// Waits until `done()`, also for events on libzmq's threads, which call no handler of ours.
template <class Done>
bool eventually(asio::io_context& io, const Done& done) {
  for (int i = 0; i < 6000; ++i) {
    if (done()) return true;
    io.restart();
    io.run_for(std::chrono::milliseconds(10));
  }
  return false;
}

// Connections that say nothing. They are closed in the end.
class Silent {
 public:
  Silent() = default;
  Silent(const Silent&) = delete;
  Silent& operator=(const Silent&) = delete;
  ~Silent() {
    for (const int socket : sockets_) ::close(socket);
  }

  // Connects, and waits until the listener has accepted the connection or its queue has room for
  // it.
  void connect(const std::string& path) {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(socket, 0);
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    ASSERT_LT(path.size(), sizeof name.sun_path);
    std::memcpy(name.sun_path, path.data(), path.size());
    ASSERT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&name), sizeof name), 0);
    sockets_.push_back(socket);
  }
  // Sends `bytes` on all connections.
  void say(const std::string& bytes) const {
    for (const int socket : sockets_) {
      EXPECT_EQ(::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL), std::ssize(bytes));
    }
  }
  // The number of connections that the other side has accepted: its greeting has come, since it
  // speaks first (ZMTP 3.1, greeting).
  size_t greeted() const {
    size_t count = 0;
    for (const int socket : sockets_) {
      pollfd one = {socket, POLLIN, 0};
      count += ::poll(&one, 1, 0) == 1 ? 1 : 0;
    }
    return count;
  }
  // The number of connections that the other side has not ended.
  size_t open() const {
    size_t count = 0;
    for (const int socket : sockets_) {
      // Bytes that the other side sent earlier may still be unread, so look only for its end.
      pollfd one = {socket, POLLRDHUP, 0};
      count += ::poll(&one, 1, 0) == 0 ? 1 : 0;
    }
    return count;
  }

 private:
  std::vector<int> sockets_;
};

ZmqPort::Options with_limit() {
  ZmqPort::Options options{.type = ZMQ_ROUTER, .routing_id = {}};
  options.watch_peers = true;
  options.connections_max = kMax;
  return options;
}

class ConnectionLimits : public ::testing::Test {
 protected:
  // A ROUTER that echoes, with kMax connections at most.
  void SetUp() override {
    ASSERT_TRUE(router_.bind(endpoint_).ok());
    spawn(io_, echo(router_), receiving_);
    spawn(io_, router_.watch_peers([this](const std::string& peer) { gone_.insert(peer); }),
          watching_);
  }
  void TearDown() override {
    router_.close();
    EXPECT_TRUE(run_until(io_, [&] { return receiving_.ended && watching_.ended; }));
  }

  static Task<> echo(ZmqPort& port) {
    while (const auto frames = co_await port.recv()) (void)port.send(*frames);
  }
  // Whether what the client says comes back.
  bool is_served(ZmqPort& client) {
    if (client.send({"hello"}) != SendResult::kSent) return false;
    return testing::receive(io_, client).back() == "hello";
  }

  const testing::TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "socket").string();
  const std::string endpoint_ = "ipc://" + path_;
  ZmqContext context_;
  ZmqContext others_;
  asio::io_context io_{1};
  ZmqPort router_{io_, context_, with_limit()};
  Ended receiving_, watching_;
  std::set<std::string> gone_;
};

TEST(AcceptGuard, libzmq_asks_it) {
  EXPECT_TRUE(AcceptGuard::works());
}

TEST_F(ConnectionLimits, a_crowd_of_silent_ones_does_not_end_a_client_that_speaks) {
  ZmqPort client(io_, others_, {.routing_id = {}});
  ASSERT_TRUE(client.connect(endpoint_).ok());
  ASSERT_TRUE(is_served(client));
  Silent crowd;
  for (int i = 0; i < 500; ++i) {
    ASSERT_NO_FATAL_FAILURE(crowd.connect(path_));
    io_.restart();
    io_.poll();
  }
  EXPECT_TRUE(is_served(client));
  EXPECT_TRUE(eventually(io_, [&] { return crowd.open() < kMax; }));
  EXPECT_TRUE(gone_.empty());
}

// ZMTP 1.0, 23/ZMTP "Backwards interoperability": a message of one byte, and no greeting.
TEST_F(ConnectionLimits, old_protocols_are_not_spoken) {
  Silent old;
  ASSERT_NO_FATAL_FAILURE(old.connect(path_));
  old.say(std::string("\x01\x00", 2));
  EXPECT_TRUE(eventually(io_, [&] { return old.open() == 0; }));
  ZmqPort client(io_, others_, {.routing_id = {}});
  ASSERT_TRUE(client.connect(endpoint_).ok());
  EXPECT_TRUE(is_served(client));
}

TEST_F(ConnectionLimits, who_comes_when_the_door_is_full_finds_a_place) {
  Silent crowd;
  for (size_t i = 0; i < 3 * kMax; ++i) {
    ASSERT_NO_FATAL_FAILURE(crowd.connect(path_));
    io_.restart();
    io_.poll();
  }
  ZmqPort client(io_, others_, {.routing_id = {}});
  ASSERT_TRUE(client.connect(endpoint_).ok());
  EXPECT_TRUE(is_served(client));
}

TEST_F(ConnectionLimits, who_waits_for_an_answer_keeps_its_connection) {
  std::vector<std::unique_ptr<ZmqPort>> clients;
  for (size_t i = 0; i < 3 * kMax; ++i) {
    clients.push_back(std::make_unique<ZmqPort>(
        io_, others_, ZmqPort::Options{.routing_id = "client" + std::to_string(i)}));
    ASSERT_TRUE(clients.back()->connect(endpoint_).ok());
    ASSERT_TRUE(is_served(*clients.back())) << i;
    if (i == 0) router_.set_busy("client0", true);
  }
  EXPECT_TRUE(eventually(io_, [&] { return gone_.size() > kMax; }));
  EXPECT_FALSE(gone_.contains("client0"));
}

// Takes messages before it looks at ZeroMQ's news of connections, as a busy port does.
class DoorThatFills : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(router_.bind("ipc://" + path_).ok());
    spawn(io_, router_.watch_peers([this](const std::string& peer) { gone_.insert(peer); }),
          watching_);
    io_.poll();
  }
  void TearDown() override {
    router_.close();
    EXPECT_TRUE(run_until(io_, [&] { return watching_.ended; }));
  }

  std::unique_ptr<ZmqPort> connected(const std::string& name) {
    auto client = std::make_unique<ZmqPort>(io_, others_, ZmqPort::Options{.routing_id = name});
    EXPECT_TRUE(client->connect("ipc://" + path_).ok());
    EXPECT_EQ(client->send({"hello"}), SendResult::kSent);
    return client;
  }
  bool takes_message() {
    return eventually(idle_, [&] { return router_.try_recv().has_value(); });
  }

  const testing::TemporaryFolder folder_;
  const std::string path_ = (folder_.path() / "socket").string();
  ZmqContext context_;
  ZmqContext others_;
  asio::io_context io_{1};
  asio::io_context idle_;  // has no handlers: for waiting without those of io_
  const asio::executor_work_guard<asio::io_context::executor_type> waits_{idle_.get_executor()};
  ZmqPort router_{io_, context_, with_limit()};
  Ended watching_;
  std::set<std::string> gone_;
};

TEST_F(DoorThatFills, makes_room_while_messages_come_all_the_time) {
  const auto client = connected("client");
  ASSERT_TRUE(takes_message());
  Silent crowd;
  for (size_t i = 1; i < kMax; ++i) ASSERT_NO_FATAL_FAILURE(crowd.connect(path_));
  ASSERT_TRUE(eventually(idle_, [&] { return crowd.greeted() == kMax - 1; }));
  const auto late = connected("late");
  const auto comes = [&] {
    EXPECT_EQ(client->send({"hello"}), SendResult::kSent);
    const auto frames = router_.try_recv();
    return frames && frames->front() == "late";
  };
  EXPECT_TRUE(eventually(idle_, comes));
  EXPECT_LT(crowd.open(), kMax - 1);
}

TEST_F(DoorThatFills, full_of_clients_that_wait_has_room_when_some_are_answered) {
  std::vector<std::unique_ptr<ZmqPort>> clients;
  for (size_t i = 0; i < kMax; ++i) {
    const std::string name = "client" + std::to_string(i);
    clients.push_back(connected(name));
    ASSERT_TRUE(takes_message());
    router_.set_busy(name, true);
  }
  io_.restart();
  io_.poll();
  EXPECT_TRUE(gone_.empty()) << "each had just sent something when it was looked at";
  const auto next = connected("next");
  for (size_t i = 0; i < kMax / 4; ++i) router_.set_busy("client" + std::to_string(i), false);
  const auto comes = [&] {
    const auto frames = router_.try_recv();
    return frames && frames->front() == "next";
  };
  EXPECT_TRUE(eventually(io_, comes));
  EXPECT_TRUE(eventually(io_, [&] { return !gone_.empty(); }));
}

// The connections are closed before libzmq runs out of descriptors.
TEST(AcceptGuardDescriptors, connections_beyond_the_last_descriptor_are_closed) {
  const testing::TemporaryFolder folder;
  const std::string path = (folder.path() / "socket").string();
  ZmqContext context;
  asio::io_context io{1};
  ZmqPort::Options options{.type = ZMQ_ROUTER, .routing_id = {}};
  options.watch_peers = true;
  options.connections_max = 100'000;
  ZmqPort router(io, context, options);
  ASSERT_TRUE(router.bind("ipc://" + path).ok());
  Ended watching;
  spawn(io, router.watch_peers([](const std::string&) {}), watching);
  const int highest = ::dup(0);  // above all open descriptors
  ASSERT_GE(highest, 0);
  ::close(highest);
  AcceptGuard::set_descriptors_max(highest);
  Silent crowd;
  for (int i = 0; i < 100; ++i) ASSERT_NO_FATAL_FAILURE(crowd.connect(path));
  EXPECT_TRUE(eventually(io, [&] { return crowd.open() == 0; }));
  AcceptGuard::set_descriptors_max(0);
  router.close();
  EXPECT_TRUE(run_until(io, [&] { return watching.ended; }));
}

}  // namespace
}  // namespace cascade
