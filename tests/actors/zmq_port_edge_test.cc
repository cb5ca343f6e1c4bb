// ZMQ_FD tells only of changes, and every call on the socket may use up such a signal. The receiver
// must wake, whatever is called between the arrival of a message and the moment when the io_context
// looks at the descriptor.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "actors/zmq_port.h"
#include "base/random.h"
#include "tests/actors/port_testing.h"
#include "tests/long_tests.h"
#include "tests/seed.h"
#include "tests/temporary_folder.h"

namespace cascade {
namespace {

using testing::Ended;
using testing::run_until;
using testing::spawn;
using wire::Frames;

// Counts the messages of a port and checks their order.
struct Counter {
  int received = 0;
  bool in_order = true;
  Ended ended;

  Task<> run(ZmqPort& port) {
    while (const auto frames = co_await port.recv()) {
      in_order = in_order && frames->back() == std::to_string(received);
      ++received;
    }
  }
};

// A router and a dealer, each with a coroutine that receives.
class EdgeTest : public ::testing::Test {
 protected:
  static constexpr int kQueue = 100'000;

  void SetUp() override {
    ASSERT_TRUE(router_.bind("inproc://router").ok());
    ASSERT_TRUE(dealer_.connect("inproc://router").ok());
    spawn(io_, at_router_.run(router_), at_router_.ended);
    spawn(io_, at_dealer_.run(dealer_), at_dealer_.ended);
    to_router();
    ASSERT_TRUE(settle());
  }
  void TearDown() override {
    router_.close();
    dealer_.close();
    EXPECT_TRUE(run_until(io_, [&] { return at_router_.ended.ended && at_dealer_.ended.ended; }));
    EXPECT_TRUE(at_router_.in_order && at_dealer_.in_order);
  }

  void to_router() {
    ASSERT_EQ(dealer_.send({std::to_string(sent_to_router_++)}), SendResult::kSent);
  }
  void to_dealer() {
    ASSERT_EQ(router_.send({"dealer", std::to_string(sent_to_dealer_++)}), SendResult::kSent);
  }
  // Runs until all that was sent has been received, and the receivers wait again.
  bool settle() {
    const bool all = run_until(io_, [&] {
      return at_router_.received == sent_to_router_ && at_dealer_.received == sent_to_dealer_;
    });
    io_.restart();
    io_.poll();
    return all;
  }

  ZmqContext context_;
  asio::io_context io_{1};
  ZmqPort router_{
      io_, context_, {.type = ZMQ_ROUTER, .routing_id = {}, .queue_messages_max = kQueue}};
  ZmqPort dealer_{io_, context_, {.routing_id = "dealer", .queue_messages_max = kQueue}};
  Counter at_router_, at_dealer_;
  int sent_to_router_ = 0, sent_to_dealer_ = 0;
};

// ZeroMQ looks for commands from other threads only after a number of CPU ticks, about a
// millisecond. This many calls take longer.
constexpr int kCalls = 20'000;

int edge_rounds() {
  return testing::long_or(10, 4);
}

TEST_F(EdgeTest, survives_refused_sends) {
  for (int round = 0; round < edge_rounds(); ++round) {
    to_router();
    for (int i = 0; i < kCalls; ++i) ASSERT_EQ(router_.send({"nobody", "x"}), SendResult::kGone);
    ASSERT_TRUE(settle()) << "round " << round;
  }
}

TEST_F(EdgeTest, survives_sends_to_full_queues) {
  ZmqPort::Options narrow{.routing_id = "narrow", .queue_messages_max = 1};
  ZmqPort deaf(io_, context_, narrow);
  ASSERT_TRUE(deaf.connect("inproc://router").ok());
  while (router_.send({"narrow", "x"}) == SendResult::kSent) {
  }
  for (int round = 0; round < edge_rounds(); ++round) {
    to_router();
    for (int i = 0; i < kCalls; ++i) ASSERT_NE(router_.send({"narrow", "x"}), SendResult::kSent);
    ASSERT_TRUE(settle()) << "round " << round;
  }
}

TEST_F(EdgeTest, survives_sends) {
  for (int round = 0; round < edge_rounds() / 2; ++round) {
    to_router();
    for (int i = 0; i < kCalls; ++i) to_dealer();
    ASSERT_TRUE(settle()) << "round " << round;
  }
}

TEST_F(EdgeTest, survives_questions_for_peers) {
  for (int round = 0; round < edge_rounds(); ++round) {
    to_dealer();
    to_router();
    for (int i = 0; i < kCalls; ++i) ASSERT_TRUE(dealer_.has_peer());
    for (int i = 0; i < kCalls; ++i) router_.has_peer();
    ASSERT_TRUE(settle()) << "round " << round;
  }
}

TEST_F(EdgeTest, survives_random_bursts_and_pauses) {
  Random random(testing::test_seed());
  const int rounds = testing::long_or(5000, 1500);
  for (int round = 0; round < rounds; ++round) {
    switch (random.below(6)) {
      case 0:
        for (uint64_t i = random.below(40); i > 0; --i) to_router();
        break;
      case 1:
        for (uint64_t i = random.below(40); i > 0; --i) to_dealer();
        break;
      case 2: io_.poll(); break;
      case 3: io_.poll_one(); break;
      case 4:
        for (uint64_t i = random.below(2000); i > 0; --i) router_.send({"nobody", "x"});
        break;
      default: dealer_.has_peer();
    }
    io_.restart();
    if (round % 50 == 0) {
      ASSERT_TRUE(settle()) << "round " << round;
    }
  }
  EXPECT_TRUE(settle());
  EXPECT_GT(at_router_.received, 1000);
  EXPECT_GT(at_dealer_.received, 1000);
}

// One end of a connection on a thread of its own: sends bursts at random moments, receives what
// comes, and ends when both are complete.
void run_end(ZmqContext& context, bool is_router, uint64_t seed, std::atomic<int>& ended,
             std::atomic<int>& complete) {
  constexpr int kMessages = 20'000;
  asio::io_context io(1);
  ZmqPort port(io, context,
               {.type = is_router ? ZMQ_ROUTER : ZMQ_DEALER,
                .routing_id = is_router ? "" : "dealer",
                .queue_messages_max = 100'000});
  if (is_router) {
    ASSERT_TRUE(port.bind("inproc://ends").ok());
  } else {
    ASSERT_TRUE(port.connect("inproc://ends").ok());
  }
  Counter counter;
  spawn(io, counter.run(port), counter.ended);
  Random random(seed);
  int sent = 0;
  const auto send_one = [&] {
    Frames frames = {std::to_string(sent)};
    if (is_router) frames.insert(frames.begin(), "dealer");
    const SendResult result = port.send(frames);
    ASSERT_TRUE(result == SendResult::kSent || (is_router && counter.received == 0));
    sent += result == SendResult::kSent;
  };
  while (sent < kMessages) {
    for (uint64_t i = random.below(30); i > 0 && sent < kMessages; --i) send_one();
    for (uint64_t i = random.below(4); i > 0; --i) io.poll();
    io.restart();
  }
  EXPECT_TRUE(run_until(io, [&] { return counter.received == kMessages; }))
      << (is_router ? "router" : "dealer") << " has " << counter.received;
  EXPECT_TRUE(counter.in_order);
  // The other end may still be reading, and a socket that closes drops its messages.
  ++complete;
  while (complete < 2) std::this_thread::yield();
  port.close();
  EXPECT_TRUE(run_until(io, [&] { return counter.ended.ended; }));
  ++ended;
}

TEST(EdgeThreads, lose_nothing_between_two_io_contexts) {
  const uint64_t seed = testing::test_seed();
  const uint64_t rounds = testing::long_or(5, 2);
  for (uint64_t round = 0; round < rounds; ++round) {
    ZmqContext context;
    std::atomic<int> complete = 0, ended = 0;
    std::thread other([&] { run_end(context, true, seed + 2 * round, ended, complete); });
    run_end(context, false, seed + 2 * round + 1, ended, complete);
    other.join();
    ASSERT_EQ(ended, 2) << "round " << round;
  }
}

// The first message of a connection comes at about the same time as the event of its beginning.
TEST(PeerEvents, do_not_take_messages_edges) {
  const testing::TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "socket").string();
  ZmqContext context;
  asio::io_context io{1};
  ZmqPort::Options options{.type = ZMQ_ROUTER, .routing_id = {}};
  options.watch_peers = true;
  ZmqPort router(io, context, options);
  ASSERT_TRUE(router.bind(endpoint).ok());
  int received = 0, gone = 0;
  struct Receiver {
    static Task<> run(ZmqPort& port, int& count) {
      while (const auto frames = co_await port.recv()) count += frames->size() == 2 ? 1 : 0;
    }
  };
  Ended receiving, watching;
  spawn(io, Receiver::run(router, received), receiving);
  spawn(io, router.watch_peers([&](const std::string&) { ++gone; }), watching);
  ZmqContext others;
  const int connections = testing::long_or(2000, 400);
  for (int i = 0; i < connections; ++i) {
    ZmqPort client(io, others, {.routing_id = {}});
    ASSERT_TRUE(client.connect(endpoint).ok());
    ASSERT_EQ(client.send({"hello"}), SendResult::kSent);
    ASSERT_TRUE(run_until(io, [&] { return received == i + 1; })) << "connection " << i;
  }
  EXPECT_TRUE(run_until(io, [&] { return gone == connections; }));
  router.close();
  EXPECT_TRUE(run_until(io, [&] { return receiving.ended && watching.ended; }));
}

// Connections that come and go, each with some messages and their echoes, on a few threads.
class Visitors {
 public:
  static constexpr int kThreads = 8;
  static constexpr int kMessages = 4;  // of each connection

  // `connections`: how many each thread makes. `io` gets a handler to run when a thread is done,
  // since the last event of its connections may come earlier.
  Visitors(asio::io_context& io, const std::string& endpoint, int connections) {
    for (int i = 0; i < kThreads; ++i) {
      threads_.emplace_back([this, &io, endpoint, connections] {
        for (int n = 0; n < connections; ++n) visit(endpoint);
        ++done_;
        asio::post(io, [] {});
      });
    }
  }
  ~Visitors() {
    for (std::thread& thread : threads_) thread.join();
  }
  bool done() const { return done_ == kThreads; }
  int lost() const { return lost_; }

 private:
  void visit(const std::string& endpoint) {
    const std::unique_ptr<void, int (*)(void*)> socket(zmq_socket(context_.get(), ZMQ_DEALER),
                                                       zmq_close);
    const int timeout_ms = 60'000, linger_ms = 0;
    zmq_setsockopt(socket.get(), ZMQ_RCVTIMEO, &timeout_ms, sizeof timeout_ms);
    zmq_setsockopt(socket.get(), ZMQ_LINGER, &linger_ms, sizeof linger_ms);
    zmq_connect(socket.get(), endpoint.c_str());
    char echo = 0;
    for (int i = 0; i < kMessages; ++i) {
      if (zmq_send(socket.get(), "x", 1, 0) != 1 || zmq_recv(socket.get(), &echo, 1, 0) != 1) {
        ++lost_;
      }
    }
  }

  ZmqContext context_;
  std::atomic<int> done_ = 0, lost_ = 0;
  std::vector<std::thread> threads_;
};

// Descriptors are used again at once: an event of the previous connection must not be taken for one
// of the next connection.
TEST(PeerEvents, do_not_end_the_next_connection_of_the_same_descriptor) {
  const testing::TemporaryFolder folder;
  const std::string endpoint = "ipc://" + (folder.path() / "socket").string();
  ZmqContext context;
  asio::io_context io{1};
  ZmqPort::Options options{.type = ZMQ_ROUTER, .routing_id = {}};
  options.watch_peers = true;
  ZmqPort router(io, context, options);
  ASSERT_TRUE(router.bind(endpoint).ok());
  std::map<std::string, int> messages;
  std::set<std::string> gone;
  int early = 0;
  struct Receiver {
    static Task<> run(ZmqPort& port, std::map<std::string, int>& counts) {
      while (const auto frames = co_await port.recv()) {
        ++counts[frames->front()];
        (void)port.send(*frames);
      }
    }
  };
  Ended receiving, watching;
  spawn(io, Receiver::run(router, messages), receiving);
  spawn(io, router.watch_peers([&](const std::string& peer) {
    gone.insert(peer);
    early += messages[peer] < Visitors::kMessages ? 1 : 0;
  }),
        watching);
  const int connections = testing::long_or(400, 100);
  {
    const Visitors visitors(io, endpoint, connections);
    EXPECT_TRUE(run_until(io, [&] { return visitors.done(); }));
    EXPECT_EQ(visitors.lost(), 0);
  }
  EXPECT_EQ(early, 0);
  const auto all = static_cast<size_t>(Visitors::kThreads * connections);
  EXPECT_TRUE(run_until(io, [&] { return gone.size() == all; }));
  router.close();
  EXPECT_TRUE(run_until(io, [&] { return receiving.ended && watching.ended; }));
}

}  // namespace
}  // namespace cascade
