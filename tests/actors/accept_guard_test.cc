// Tests of the socket at which libzmq would listen; libzmq itself is not used. Who is let in, who
// is turned away, and what is left of the socket afterwards.
#include "actors/accept_guard.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <utility>
#include <vector>

namespace cascade {
namespace {

class AcceptGuardAlone : public ::testing::Test {
 protected:
  void SetUp() override {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ASSERT_GE(listener_, 0);
    address_ = {};
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address_;
    ASSERT_EQ(::bind(listener_, reinterpret_cast<const sockaddr*>(&address_), size), 0);
    ASSERT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address_), &size), 0);
    ASSERT_EQ(::listen(listener_, 100), 0);
  }
  void TearDown() override {
    guard_.reset();
    for (const int socket : sockets_) ::close(socket);
    if (door_ >= 0) ::close(door_);
  }

  void guard(AcceptGuard::Limits limits) {
    guard_ = std::make_unique<AcceptGuard>(listener_, limits);
    door_ = guard_->door();
  }
  int connect() {
    sockets_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(
        ::connect(sockets_.back(), reinterpret_cast<const sockaddr*>(&address_), sizeof address_),
        0);
    return sockets_.back();
  }
  // Accepts like libzmq once the door becomes readable. Returns -1 with errno if nobody is let in.
  int come() {
    EXPECT_TRUE(becomes_readable(door_));
    const int connection = ::accept4(door_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection >= 0) sockets_.push_back(connection);
    return connection;
  }
  static bool becomes_readable(int descriptor, int timeout_ms = 20'000) {
    pollfd one = {descriptor, POLLIN, 0};
    return ::poll(&one, 1, timeout_ms) == 1;
  }
  // Whether the other side has closed the connection.
  static bool is_ended(int socket) {
    char byte = 0;
    return becomes_readable(socket) && ::recv(socket, &byte, 1, 0) <= 0;
  }

  int listener_ = -1;
  int door_ = -1;
  sockaddr_in address_{};
  std::vector<int> sockets_;
  std::unique_ptr<AcceptGuard> guard_;
};

TEST_F(AcceptGuardAlone, lets_in_as_many_as_may_be_and_turns_others_away) {
  guard({.open_max = 2, .easy_max = 2});
  connect();
  connect();
  EXPECT_GE(come(), 0);
  EXPECT_GE(come(), 0);
  EXPECT_EQ(guard_->open(), 2u);
  EXPECT_TRUE(is_ended(connect()));
  EXPECT_EQ(come(), -1) << "it hears that somebody was there";
  EXPECT_EQ(errno, ECONNABORTED);
  EXPECT_EQ(guard_->open(), 2u);
  guard_->ended();
  connect();
  EXPECT_GE(come(), 0);
}

TEST_F(AcceptGuardAlone, says_who_came_and_hands_over_what_it_accepted) {
  guard({.open_max = 2, .easy_max = 2});
  const int client = connect();
  ASSERT_TRUE(becomes_readable(door_));
  sockaddr_in from{};
  socklen_t size = sizeof from;
  const int connection = ::accept4(door_, reinterpret_cast<sockaddr*>(&from), &size, SOCK_CLOEXEC);
  ASSERT_GE(connection, 0);
  sockets_.push_back(connection);
  sockaddr_in own{};
  size = sizeof own;
  ASSERT_EQ(::getsockname(client, reinterpret_cast<sockaddr*>(&own), &size), 0);
  EXPECT_EQ(from.sin_port, own.sin_port);
  ASSERT_EQ(::send(client, "x", 1, 0), 1);
  char byte = 0;
  EXPECT_EQ(::recv(connection, &byte, 1, 0), 1);
  EXPECT_EQ(byte, 'x');
}

TEST_F(AcceptGuardAlone, closes_what_nobody_came_for_and_leaves_a_door_at_which_nobody_is) {
  guard({.open_max = 2, .easy_max = 2});
  const int client = connect();
  ASSERT_TRUE(becomes_readable(door_));
  guard_.reset();
  EXPECT_TRUE(is_ended(client));
  EXPECT_FALSE(becomes_readable(door_, 0));
  EXPECT_EQ(::accept4(door_, nullptr, nullptr, SOCK_CLOEXEC), -1);
  EXPECT_EQ(errno, ECONNABORTED);
}

TEST_F(AcceptGuardAlone, ends_beside_connections_that_come) {
  for (int i = 0; i < 50; ++i) {
    if (i > 0) SetUp();
    guard({.open_max = 100, .easy_max = 100});
    for (int k = 0; k < 5; ++k) connect();
    guard_.reset();
    ::close(std::exchange(door_, -1));
  }
}

}  // namespace
}  // namespace cascade
