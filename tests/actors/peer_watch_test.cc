// The watch ends when it is closed, throws when nobody is connected, and is quiet otherwise.
#include "actors/peer_watch.h"

#include <gtest/gtest.h>

#include <memory>

#include "tests/actors/port_testing.h"

namespace cascade {
namespace {

using testing::Ended;
using testing::run_until;
using testing::spawn;

class PeerWatchTest : public ::testing::Test {
 protected:
  void listen() {
    ZmqPort::Options options;
    options.type = ZMQ_ROUTER;
    router_ = std::make_unique<ZmqPort>(io_, context_, options);
    ASSERT_TRUE(router_->bind("inproc://router").ok());
  }
  // The first handler starts the watch, and each further one looks at the port.
  void run_handlers(int count) {
    int run = 0;
    ASSERT_TRUE(run_until(io_, [&] { return run++ == count; }));
  }

  ZmqContext context_;
  asio::io_context io_{1};
  std::unique_ptr<ZmqPort> router_;
  ZmqPort port_{io_, context_, {}};
  PeerWatch watch_{io_, context_, port_};
  Ended ended_;
};

TEST_F(PeerWatchTest, is_quiet_while_somebody_is_there_or_may_come) {
  ASSERT_TRUE(port_.connect("inproc://router").ok());
  spawn(io_, watch_.run(), ended_);
  run_handlers(2);
  EXPECT_FALSE(ended_.ended);
  listen();
  run_handlers(1);
  EXPECT_FALSE(ended_.ended);
  watch_.close();
  ASSERT_TRUE(run_until(io_, [&] { return ended_.ended; }));
  EXPECT_FALSE(ended_.error);
}

TEST_F(PeerWatchTest, throws_when_the_other_is_gone) {
  listen();
  ASSERT_TRUE(port_.connect("inproc://router").ok());
  spawn(io_, watch_.run(), ended_);
  run_handlers(1);
  router_.reset();
  ASSERT_TRUE(run_until(io_, [&] { return ended_.ended; }));
  ASSERT_TRUE(ended_.error);
  EXPECT_THROW(std::rethrow_exception(ended_.error), std::runtime_error);
}

TEST_F(PeerWatchTest, throws_if_nobody_was_ever_connected) {
  spawn(io_, watch_.run(), ended_);
  ASSERT_TRUE(run_until(io_, [&] { return ended_.ended; }));
  EXPECT_TRUE(ended_.error);
}

// The daemon is stopped right after its start: the scheduler has ended before a worker came.
TEST_F(PeerWatchTest, throws_if_whom_it_waits_for_will_never_come) {
  ASSERT_TRUE(port_.connect("inproc://router").ok());
  spawn(io_, watch_.run(), ended_);
  run_handlers(2);
  EXPECT_FALSE(ended_.ended);
  context_.end_binding();
  ASSERT_TRUE(run_until(io_, [&] { return ended_.ended; }));
  EXPECT_TRUE(ended_.error);
}

TEST_F(PeerWatchTest, ends_at_once_if_closed_before_it_runs) {
  watch_.close();
  spawn(io_, watch_.run(), ended_);
  ASSERT_TRUE(run_until(io_, [&] { return ended_.ended; }));
  EXPECT_FALSE(ended_.error);
}

}  // namespace
}  // namespace cascade
