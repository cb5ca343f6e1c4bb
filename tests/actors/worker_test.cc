// A worker on its own thread. The test has the scheduler's end of the connection.
#include "actors/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>
#include <memory>
#include <stdexcept>
#include <thread>

#include "tests/actors/port_testing.h"

namespace cascade {
namespace {

using ::testing::HasSubstr;
using testing::receive;

constexpr wire::RequestId kRequest = {1, 2, 3};

class WorkerTest : public ::testing::Test {
 protected:
  void listen() {
    ZmqPort::Options options;
    options.type = ZMQ_ROUTER;
    options.replace_peer = true;
    scheduler_ = std::make_unique<ZmqPort>(io_, context_, options);
    ASSERT_TRUE(scheduler_->bind(kSchedulerEndpoint).ok());
  }
  // Runs a worker that answers StoreLoad with StoreAck of the same job.
  std::future<void> start(uint64_t incarnation = 1) {
    return std::async(std::launch::async, [this, incarnation] {
      run_worker(context_, kStoreActor, incarnation,
                 [this](const wire::Message& m, const auto&) { return handle(m); });
    });
  }
  std::optional<wire::Message> handle(const wire::Message& message) {
    ++handled_;
    if (std::holds_alternative<wire::ClientGone>(message)) throw std::out_of_range("a bug");
    const auto* load = std::get_if<wire::StoreLoad>(&message);
    if (load == nullptr) return std::nullopt;
    return wire::StoreAck{load->job, std::nullopt};
  }
  SendResult send(wire::Message message, const wire::RequestId& request) {
    wire::Frames frames = *wire::encode({request, std::move(message)});
    frames.insert(frames.begin(), kStoreActor);
    return scheduler_->send(frames);
  }
  void tell(wire::Message message, const wire::RequestId& request = {}) {
    ASSERT_EQ(send(std::move(message), request), SendResult::kSent);
  }
  wire::Envelope heard() {
    const wire::Frames frames = receive(io_, *scheduler_);
    EXPECT_EQ(frames.front(), kStoreActor);
    auto envelope = wire::decode(std::span(frames).subspan(1));
    EXPECT_TRUE(envelope.ok());
    return envelope.ok() ? *std::move(envelope) : wire::Envelope{};
  }
  void hear_hello(uint64_t incarnation) {
    const wire::Envelope envelope = heard();
    const auto* hello = std::get_if<wire::ActorHello>(&envelope.message);
    ASSERT_NE(hello, nullptr);
    EXPECT_EQ(hello->actor, kStoreActor);
    EXPECT_EQ(hello->incarnation, incarnation);
  }
  void hear_ack(uint64_t job) {
    const wire::Envelope envelope = heard();
    const auto* ack = std::get_if<wire::StoreAck>(&envelope.message);
    ASSERT_NE(ack, nullptr);
    EXPECT_EQ(ack->job, job);
    EXPECT_EQ(envelope.request, kRequest);
  }

  ZmqContext context_;
  asio::io_context io_{1};
  std::unique_ptr<ZmqPort> scheduler_;
  std::atomic<int> handled_ = 0;
};

TEST_F(WorkerTest, greets_answers_and_stops) {
  listen();
  std::future<void> worker = start(7);
  hear_hello(7);
  for (uint64_t job = 1; job <= 1000; ++job) {
    tell(wire::StoreLoad{job, ""}, kRequest);
    hear_ack(job);
  }
  tell(wire::Stop{});
  worker.get();
  EXPECT_EQ(handled_, 1000);  // the handler does not get Stop
}

TEST_F(WorkerTest, tells_a_handler_when_another_message_waits) {
  listen();
  std::atomic<bool> begun = false;
  bool was_wanted = true;
  std::future<void> worker = std::async(std::launch::async, [&] {
    run_worker(context_, kStoreActor, 1, [&](const wire::Message& message, const auto& wanted) {
      const uint64_t job = std::get<wire::StoreLoad>(message).job;
      if (job == 1) {
        was_wanted = wanted();
        begun = true;
        while (!wanted()) std::this_thread::yield();
      }
      return wire::StoreAck{job, std::nullopt};
    });
  });
  hear_hello(1);
  tell(wire::StoreLoad{1, ""}, kRequest);
  while (!begun) std::this_thread::yield();
  EXPECT_FALSE(was_wanted);
  tell(wire::StoreLoad{2, ""}, kRequest);
  hear_ack(1);
  hear_ack(2);
  tell(wire::StoreLoad{3, ""}, kRequest);
  hear_ack(3);
  tell(wire::Stop{});
  worker.get();
}

TEST_F(WorkerTest, says_so_if_its_answer_is_larger_than_a_message) {
  listen();
  std::future<void> worker = std::async(std::launch::async, [&] {
    run_worker(context_, kStoreActor, 1, [](const wire::Message& message, const auto&) {
      wire::EncodeDone done;
      done.job = std::get<wire::EncodeJob>(message).job;
      done.text.assign(wire::kTextBytesMax + 1, 'x');
      return done;
    });
  });
  hear_hello(1);
  wire::EncodeJob job;
  job.job = 5;
  tell(job, kRequest);
  const wire::Envelope envelope = heard();
  const auto* done = std::get_if<wire::EncodeDone>(&envelope.message);
  ASSERT_NE(done, nullptr);
  EXPECT_EQ(envelope.request, kRequest);
  EXPECT_EQ(done->job, 5u);
  ASSERT_TRUE(done->error.has_value());
  EXPECT_EQ(done->error->to_string(),
            "invalid_argument: text: has 16777217 bytes, more than the limit of 16777216");
  tell(wire::Stop{});
  worker.get();
}

TEST_F(WorkerTest, is_called_again_while_it_has_more_to_do_and_hears_messages_meanwhile) {
  listen();
  uint64_t idle_calls = 0;  // since the last job came
  bool busy = false;
  std::future<void> worker = std::async(std::launch::async, [&] {
    run_batch_worker(context_, kStoreActor, 1,
                     [&](const std::vector<wire::Message>& batch, const Send& send) {
                       if (!batch.empty()) {
                         busy = true;
                         idle_calls = 0;
                       } else if (busy && ++idle_calls == 100) {
                         busy = false;
                         send(wire::StoreAck{idle_calls, std::nullopt});
                       }
                       return busy;
                     });
  });
  hear_hello(1);
  for (int round = 0; round < 3; ++round) {
    tell(wire::StoreLoad{1, ""});
    tell(wire::StoreLoad{2, ""});
    const wire::Envelope envelope = heard();
    const auto* ack = std::get_if<wire::StoreAck>(&envelope.message);
    ASSERT_NE(ack, nullptr);
    EXPECT_EQ(ack->job, 100u);
  }
  tell(wire::StoreLoad{1, ""});
  tell(wire::Stop{});
  worker.get();
}

TEST_F(WorkerTest, answers_in_order) {
  listen();
  std::future<void> worker = start();
  hear_hello(1);
  for (uint64_t job = 1; job <= 500; ++job) tell(wire::StoreLoad{job, ""}, kRequest);
  for (uint64_t job = 1; job <= 500; ++job) hear_ack(job);
  tell(wire::Stop{});
  worker.get();
}

TEST_F(WorkerTest, answers_nothing_if_its_handler_does_not) {
  listen();
  std::future<void> worker = start();
  hear_hello(1);
  tell(wire::StoreDelete{1, "tenant", "id"}, kRequest);
  tell(wire::StoreLoad{2, ""}, kRequest);
  hear_ack(2);
  tell(wire::Stop{});
  worker.get();
  EXPECT_EQ(handled_, 2);
}

TEST_F(WorkerTest, carries_out_what_was_sent_before_stop) {
  listen();
  std::future<void> worker = start();
  hear_hello(1);
  for (int i = 0; i < 100; ++i) tell(wire::StoreLoad{1, ""}, kRequest);
  tell(wire::Stop{});
  // The worker may have ended by now. If not, it does not carry out this job.
  EXPECT_NE(send(wire::StoreLoad{2, ""}, kRequest), SendResult::kFull);
  worker.get();
  EXPECT_EQ(handled_, 100);
}

TEST_F(WorkerTest, may_start_before_the_scheduler) {
  std::future<void> worker = start();
  listen();
  hear_hello(1);
  tell(wire::Stop{});
  worker.get();
}

TEST_F(WorkerTest, throws_what_its_handler_throws) {
  listen();
  std::future<void> worker = start();
  hear_hello(1);
  tell(wire::ClientGone{});
  EXPECT_THROW(worker.get(), std::out_of_range);
}

TEST_F(WorkerTest, is_reached_again_after_a_restart) {
  listen();
  std::future<void> first = start(1);
  hear_hello(1);
  tell(wire::ClientGone{});
  EXPECT_THROW(first.get(), std::out_of_range);
  std::future<void> second = start(2);
  hear_hello(2);
  tell(wire::StoreLoad{5, ""}, kRequest);
  hear_ack(5);
  tell(wire::Stop{});
  second.get();
}

TEST_F(WorkerTest, throws_when_the_scheduler_is_gone) {
  listen();
  std::future<void> worker = start();
  hear_hello(1);
  scheduler_.reset();
  try {
    worker.get();
    FAIL() << "it returned";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("scheduler"));
  }
}

TEST_F(WorkerTest, finds_the_scheduler_that_takes_the_place_of_a_lost_one) {
  listen();
  std::future<void> first = start(1);
  hear_hello(1);
  scheduler_.reset();
  EXPECT_THROW(first.get(), std::runtime_error);
  listen();
  std::future<void> second = start(2);
  hear_hello(2);
  tell(wire::Stop{});
  second.get();
}

}  // namespace
}  // namespace cascade
