// Ports under one io_context: what is sent arrives, in order, and no wake-up is lost.
#include "actors/zmq_port.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "tests/actors/port_testing.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using testing::Ended;
using testing::receive;
using testing::run_until;
using testing::spawn;
using wire::Frames;

ZmqPort::Options router() {
  ZmqPort::Options options;
  options.type = ZMQ_ROUTER;
  return options;
}

ZmqPort::Options dealer(const std::string& name) {
  ZmqPort::Options options;
  options.routing_id = name;
  return options;
}

// Puts what `port` receives into `received`, until it is closed.
Task<> collect(ZmqPort& port, std::vector<Frames>& received) {
  while (auto frames = co_await port.recv()) received.push_back(std::move(*frames));
}

class ZmqPortTest : public ::testing::Test {
 protected:
  // Connects `from` to `to`, which is bound at inproc://router and must have seen a message of it.
  void connect(ZmqPort& from, ZmqPort& to) {
    ASSERT_TRUE(from.connect("inproc://router").ok());
    ASSERT_EQ(from.send({"hello"}), SendResult::kSent);
    EXPECT_EQ(receive(io_, to).back(), "hello");
  }

  ZmqContext context_;
  asio::io_context io_{1};
};

TEST_F(ZmqPortTest, carries_messages_both_ways) {
  ZmqPort hub(io_, context_, router());
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  ZmqPort a(io_, context_, dealer("a")), b(io_, context_, dealer("b"));
  connect(a, hub);
  connect(b, hub);
  const std::string binary("\0\xff\n", 3);
  ASSERT_EQ(b.send({"", binary, std::string(100'000, 'x')}), SendResult::kSent);
  EXPECT_EQ(receive(io_, hub), (Frames{"b", "", binary, std::string(100'000, 'x')}));
  ASSERT_EQ(hub.send({"a", "for a", ""}), SendResult::kSent);
  ASSERT_EQ(hub.send({"b", "for b"}), SendResult::kSent);
  EXPECT_EQ(receive(io_, b), Frames{"for b"});
  EXPECT_EQ(receive(io_, a), (Frames{"for a", ""}));
}

TEST_F(ZmqPortTest, may_connect_before_the_other_binds) {
  ZmqPort a(io_, context_, dealer("a"));
  ASSERT_TRUE(a.connect("inproc://router").ok());
  EXPECT_TRUE(a.has_peer());
  ASSERT_EQ(a.send({"early"}), SendResult::kSent);
  ZmqPort hub(io_, context_, router());
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  EXPECT_EQ(receive(io_, hub), (Frames{"a", "early"}));
}

TEST_F(ZmqPortTest, is_named_by_zeromq_if_it_has_no_name) {
  ZmqPort hub(io_, context_, router());
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  ZmqPort a(io_, context_, dealer("")), b(io_, context_, dealer(""));
  ASSERT_TRUE(a.connect("inproc://router").ok() && b.connect("inproc://router").ok());
  ASSERT_EQ(a.send({"from a"}), SendResult::kSent);
  ASSERT_EQ(b.send({"from b"}), SendResult::kSent);
  const Frames first = receive(io_, hub), second = receive(io_, hub);
  EXPECT_NE(first.front(), second.front());
  ASSERT_EQ(hub.send({first.front(), first.back()}), SendResult::kSent);
  ASSERT_EQ(hub.send({second.front(), second.back()}), SendResult::kSent);
  EXPECT_EQ(receive(io_, a), Frames{"from a"});
  EXPECT_EQ(receive(io_, b), Frames{"from b"});
}

TEST_F(ZmqPortTest, reports_endpoints_that_cannot_be_used) {
  ZmqPort a(io_, context_, router()), b(io_, context_, router());
  ASSERT_TRUE(a.bind("inproc://router").ok());
  for (const char* endpoint : {"inproc://router", "nonsense", "ipc:///nonexistent/folder/socket"}) {
    const Status status = b.bind(endpoint);
    ASSERT_FALSE(status.ok()) << endpoint;
    EXPECT_EQ(status.error().code, ErrorCode::kIo);
    EXPECT_EQ(status.error().field, endpoint);
  }
  EXPECT_FALSE(b.connect("nonsense").ok());
}

TEST_F(ZmqPortTest, leaves_nothing_behind_if_it_cannot_be_made) {
  ZmqPort::Options options;
  options.queue_messages_max = -1;
  EXPECT_THROW(ZmqPort(io_, context_, options), std::runtime_error);
  // A socket that was left open would keep context_ from ending.
}

TEST_F(ZmqPortTest, says_that_a_receiver_is_unknown) {
  ZmqPort hub(io_, context_, router());
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  EXPECT_EQ(hub.send({"a", "x"}), SendResult::kGone);
  EXPECT_EQ(hub.send({"", "x"}), SendResult::kGone);
  ZmqPort a(io_, context_, dealer("a"));
  connect(a, hub);
  EXPECT_EQ(hub.send({"b", "x", "y"}), SendResult::kGone);
  // The refused message left nothing behind that would become a part of the next.
  EXPECT_EQ(hub.send({"a", "z"}), SendResult::kSent);
  EXPECT_EQ(receive(io_, a), Frames{"z"});
}

TEST_F(ZmqPortTest, says_that_a_receiver_is_gone) {
  ZmqPort hub(io_, context_, router());
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  {
    ZmqPort a(io_, context_, dealer("a"));
    connect(a, hub);
  }
  // ZeroMQ closes sockets on a thread of its own.
  while (hub.send({"a", "x"}) != SendResult::kGone) std::this_thread::yield();
}

TEST_F(ZmqPortTest, has_no_peer_before_it_connects_and_after_the_other_is_gone) {
  ZmqPort a(io_, context_, dealer("a"));
  EXPECT_FALSE(a.has_peer());
  EXPECT_EQ(a.send({"x"}), SendResult::kFull);
  {
    ZmqPort hub(io_, context_, router());
    ASSERT_TRUE(hub.bind("inproc://router").ok());
    connect(a, hub);
    EXPECT_TRUE(a.has_peer());
  }
  while (a.has_peer()) std::this_thread::yield();
  EXPECT_EQ(a.send({"x"}), SendResult::kFull);
}

TEST_F(ZmqPortTest, refuses_what_does_not_fit_the_queue) {
  ZmqPort::Options narrow = router();
  narrow.queue_messages_max = 10;
  ZmqPort hub(io_, context_, narrow);
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  ZmqPort::Options options = dealer("a");
  options.queue_messages_max = 10;
  ZmqPort a(io_, context_, options);
  connect(a, hub);
  for (const auto& [from, to, prefix] :
       {std::tuple(&a, &hub, Frames{}), std::tuple(&hub, &a, Frames{"a"})}) {
    const auto message = [&before = prefix](int number) {
      Frames frames = before;
      frames.push_back(std::to_string(number));
      frames.push_back("second frame");
      return frames;
    };
    int sent = 0;
    while (sent < 1000 && from->send(message(sent)) == SendResult::kSent) ++sent;
    // A connection inside the process has the room of both ends.
    EXPECT_GE(sent, 10);
    EXPECT_LE(sent, 20);
    for (int i = 0; i < sent; ++i) {
      const Frames frames = receive(io_, *to);
      ASSERT_EQ(frames[frames.size() - 2], std::to_string(i));
    }
    // There is room again, which the sender learns within a moment; nothing refused has been sent.
    while (from->send(message(1000)) == SendResult::kFull) std::this_thread::yield();
    const Frames frames = receive(io_, *to);
    EXPECT_EQ(frames[frames.size() - 2], "1000");
  }
}

TEST_F(ZmqPortTest, cuts_messages_of_too_many_frames) {
  ZmqPort hub(io_, context_, router());
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  ZmqPort a(io_, context_, dealer("a"));
  connect(a, hub);
  // The name of the sender adds one frame.
  ASSERT_EQ(a.send(Frames(wire::kFrameCountMax, "f")), SendResult::kSent);
  ASSERT_EQ(a.send(Frames(wire::kFrameCountMax + 1, "f")), SendResult::kSent);
  ASSERT_EQ(a.send(Frames(100 * wire::kFrameCountMax, "f")), SendResult::kSent);
  ASSERT_EQ(a.send({"next"}), SendResult::kSent);
  EXPECT_EQ(receive(io_, hub).size(), wire::kFrameCountMax + 1);
  // One frame more than a reader accepts is left, so that the reader can answer with an error.
  EXPECT_EQ(receive(io_, hub).size(), wire::kFrameCountMax + 2);
  EXPECT_EQ(receive(io_, hub).size(), wire::kFrameCountMax + 2);
  EXPECT_EQ(receive(io_, hub), (Frames{"a", "next"}));
}

TEST_F(ZmqPortTest, drops_peers_whose_frames_are_too_large) {
  const testing::TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "socket").string();
  ZmqPort::Options options = router();
  options.message_bytes_max = 1000;
  ZmqPort hub(io_, context_, options);
  ASSERT_TRUE(hub.bind(endpoint).ok());
  ZmqPort a(io_, context_, dealer("a")), b(io_, context_, dealer("b"));
  ASSERT_TRUE(a.connect(endpoint).ok());
  ASSERT_TRUE(b.connect(endpoint).ok());
  ASSERT_EQ(a.send({std::string(1001, 'x')}), SendResult::kSent);
  ASSERT_EQ(b.send({std::string(1000, 'y')}), SendResult::kSent);
  EXPECT_EQ(receive(io_, hub), (Frames{"b", std::string(1000, 'y')}));
  ASSERT_EQ(b.send({"still here"}), SendResult::kSent);
  EXPECT_EQ(receive(io_, hub), (Frames{"b", "still here"}));
}

TEST_F(ZmqPortTest, lets_a_new_peer_take_over_the_name_of_the_old) {
  ZmqPort::Options options = router();
  options.replace_peer = true;
  ZmqPort hub(io_, context_, options);
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  ZmqPort first(io_, context_, dealer("worker"));
  connect(first, hub);
  ZmqPort second(io_, context_, dealer("worker"));
  connect(second, hub);
  ASSERT_EQ(hub.send({"worker", "x"}), SendResult::kSent);
  EXPECT_EQ(receive(io_, second), Frames{"x"});
}

TEST_F(ZmqPortTest, ends_a_waiting_recv_on_close) {
  ZmqPort hub(io_, context_, router());
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  std::vector<Frames> received;
  Ended ended;
  spawn(io_, collect(hub, received), ended);
  io_.poll();
  EXPECT_FALSE(ended.ended);
  hub.close();
  hub.close();
  ASSERT_TRUE(run_until(io_, [&] { return ended.ended; }));
  EXPECT_FALSE(ended.error);
  EXPECT_TRUE(received.empty());
}

TEST_F(ZmqPortTest, receives_nothing_after_close) {
  ZmqPort hub(io_, context_, router());
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  ZmqPort a(io_, context_, dealer("a"));
  connect(a, hub);
  ASSERT_EQ(a.send({"late"}), SendResult::kSent);
  hub.close();
  std::vector<Frames> received;
  Ended ended;
  spawn(io_, collect(hub, received), ended);
  ASSERT_TRUE(run_until(io_, [&] { return ended.ended; }));
  EXPECT_TRUE(received.empty());
}

TEST_F(ZmqPortTest, throws_out_of_recv_when_the_context_is_shut_down) {
  ZmqPort hub(io_, context_, router());
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  std::vector<Frames> received;
  Ended ended;
  spawn(io_, collect(hub, received), ended);
  io_.poll();
  zmq_ctx_shutdown(context_.get());
  ASSERT_TRUE(run_until(io_, [&] { return ended.ended; }));
  ASSERT_TRUE(ended.error);
  EXPECT_THROW(std::rethrow_exception(ended.error), std::runtime_error);
}

TEST_F(ZmqPortTest, a_context_that_ends_waits_for_what_was_sent) {
  const testing::TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "s").string();
  constexpr int kLingerMs = 60'000;
  constexpr int kMessages = 200;
  ZmqContext ending;
  ZmqPort::Options options = dealer("a");
  options.linger_ms = kLingerMs;
  std::optional<ZmqPort> from(std::in_place, io_, ending, options);
  ASSERT_TRUE(from->connect(endpoint).ok());
  for (int i = 0; i < kMessages; ++i) {
    ASSERT_EQ(from->send({std::string(10'000, 'x'), std::to_string(i)}), SendResult::kSent);
  }
  from.reset();
  // Nobody takes the message yet, so the time is over first.
  EXPECT_FALSE(ending.end_within(std::chrono::milliseconds(1)));
  ZmqPort hub(io_, context_, router());
  ASSERT_TRUE(hub.bind(endpoint).ok());
  for (int i = 0; i < kMessages; ++i) EXPECT_EQ(receive(io_, hub).back(), std::to_string(i));
}

TEST_F(ZmqPortTest, a_context_has_nothing_to_wait_for_once_all_was_taken) {
  const testing::TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "s").string();
  ZmqContext ending;
  ZmqPort::Options options = dealer("a");
  options.linger_ms = 60'000;
  ZmqPort hub(io_, context_, router());
  ASSERT_TRUE(hub.bind(endpoint).ok());
  std::optional<ZmqPort> from(std::in_place, io_, ending, options);
  ASSERT_TRUE(from->connect(endpoint).ok());
  ASSERT_EQ(from->send({"last"}), SendResult::kSent);
  from.reset();
  EXPECT_TRUE(ending.end_within(std::chrono::seconds(60)));
  EXPECT_EQ(receive(io_, hub).back(), "last");
}

TEST_F(ZmqPortTest, lets_others_have_their_turn_while_messages_flood_in) {
  ZmqPort hub(io_, context_, router()), other(io_, context_, router());
  ASSERT_TRUE(hub.bind("inproc://router").ok());
  ASSERT_TRUE(other.bind("inproc://other").ok());
  ZmqPort a(io_, context_, dealer("a")), b(io_, context_, dealer("b"));
  connect(a, hub);
  ASSERT_TRUE(b.connect("inproc://other").ok());
  std::vector<Frames> flood, single;
  Ended ended, other_ended;
  spawn(io_, collect(hub, flood), ended);
  spawn(io_, collect(other, single), other_ended);
  io_.poll();
  for (int i = 0; i < 1000; ++i) ASSERT_EQ(a.send({"x"}), SendResult::kSent);
  ASSERT_EQ(b.send({"y"}), SendResult::kSent);
  ASSERT_TRUE(run_until(io_, [&] { return !single.empty(); }));
  EXPECT_LT(flood.size(), 500u);
  ASSERT_TRUE(run_until(io_, [&] { return flood.size() == 1000; }));
  hub.close();
  other.close();
  EXPECT_TRUE(run_until(io_, [&] { return ended.ended && other_ended.ended; }));
}

}  // namespace
}  // namespace cascade
