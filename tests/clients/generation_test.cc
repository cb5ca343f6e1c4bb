// generate(): streams, cancellation, and daemons that die, restart or fall silent.
#include <gtest/gtest.h>

#include "clients/cpp/client.h"
#include "clients/cpp/endpoint.h"
#include "tests/clients/connected_client.h"
#include "tests/clients/fake_daemon.h"

namespace cascade::client {
namespace {

using testing::ConnectedClient;
using testing::FakeDaemon;
using testing::TempFolder;

wire::GenerateRequest prompt_request(const std::string& prompt) {
  wire::GenerateRequest request;
  request.prompt = prompt;
  return request;
}

bool is_generate(const wire::Envelope& envelope) {
  return std::holds_alternative<wire::GenerateRequest>(envelope.message);
}

Error generation_error(const Result<Generation>& result) {
  return result.ok() ? Error{ErrorCode::kInternal, "none", "no error"} : result.error();
}

TEST(Generate, streams_events_in_order) {
  ConnectedClient fixture([](const wire::Envelope&, const FakeDaemon::Reply& reply) {
    reply(wire::Accepted{2});
    reply(wire::Progress{10, 5});
    reply(wire::Delta{"hmm", true});
    reply(wire::Delta{"Par", false});
    reply(wire::Delta{"is", false});
    wire::Final final;
    final.text = "Paris";
    final.token_ids = {1, 2, 3};
    reply(final);
  });
  ASSERT_TRUE(fixture.client.ok());
  std::string seen;
  const auto on_event = [&](const Event& event) {
    if (const auto* accepted = std::get_if<wire::Accepted>(&event)) {
      seen += "accepted:" + std::to_string(accepted->queue_position) + " ";
    } else if (const auto* progress = std::get_if<wire::Progress>(&event)) {
      seen += "progress:" + std::to_string(progress->prompt_tokens_done) + " ";
    } else {
      const auto& delta = std::get<wire::Delta>(event);
      seen += (delta.reasoning ? "thought:" : "text:") + delta.text + " ";
    }
    return true;
  };
  const Result<Generation> result = fixture.client->generate(prompt_request("x"), on_event);
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(seen, "accepted:2 progress:5 thought:hmm text:Par text:is ");
  EXPECT_EQ(result->text, "Paris");
  EXPECT_EQ(result->token_ids, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_TRUE(std::get<wire::GenerateRequest>(fixture.daemon.received()[0].message).stream);
}

// A hundred Deltas, then the end.
FakeDaemon::Handler hundred_deltas() {
  return [](const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
    if (!is_generate(envelope)) return reply(wire::Ack{});
    for (int i = 0; i < 100; ++i) reply(wire::Delta{"a", false});
    reply(wire::Final{});
  };
}

TEST(Generate, makes_room_for_more_text_as_it_is_read) {
  ConnectedClient fixture(hundred_deltas());
  ASSERT_TRUE(fixture.client.ok());
  ASSERT_TRUE(
      fixture.client->generate(prompt_request("x"), [](const Event&) { return true; }).ok());
  ASSERT_TRUE(fixture.client->ping().ok());  // messages sent before have arrived
  const auto received = fixture.daemon.received();
  ASSERT_EQ(received.size(), 4u);
  EXPECT_EQ(std::get<wire::GenerateRequest>(received[0].message).delta_credit, 64);
  for (size_t i = 1; i < received.size(); ++i) {
    const auto* credit = std::get_if<wire::DeltaCredit>(&received[i].message);
    ASSERT_NE(credit, nullptr);
    EXPECT_EQ(credit->target, received[0].request);
    EXPECT_EQ(credit->deltas, 32);
  }
}

TEST(Generate, takes_no_text_before_the_end_that_nobody_looks_at) {
  ConnectedClient fixture(hundred_deltas());
  ASSERT_TRUE(fixture.client.ok());
  ASSERT_TRUE(fixture.client->generate(prompt_request("x")).ok());
  ASSERT_TRUE(fixture.client->ping().ok());
  const auto received = fixture.daemon.received();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(std::get<wire::GenerateRequest>(received[0].message).delta_credit, 0);
}

TEST(Generate, leaves_the_credit_to_who_gives_it) {
  ConnectedClient fixture(hundred_deltas());
  ASSERT_TRUE(fixture.client.ok());
  wire::GenerateRequest request = prompt_request("x");
  request.delta_credit = 1000;
  ASSERT_TRUE(fixture.client->generate(request, [](const Event&) { return true; }).ok());
  ASSERT_TRUE(fixture.client->ping().ok());
  const auto received = fixture.daemon.received();
  ASSERT_EQ(received.size(), 1u);
  EXPECT_EQ(std::get<wire::GenerateRequest>(received[0].message).delta_credit, 1000);
}

TEST(Generate, reports_an_error_in_the_middle_of_a_stream) {
  ConnectedClient fixture([](const wire::Envelope&, const FakeDaemon::Reply& reply) {
    reply(wire::Accepted{});
    reply(wire::Delta{"a", false});
    reply(wire::ErrorReply{{ErrorCode::kDeadlineExceeded, "timeout_ms", "passed"}, 0});
  });
  ASSERT_TRUE(fixture.client.ok());
  const Result<Generation> result = fixture.client->generate(prompt_request("x"));
  EXPECT_EQ(generation_error(result).to_string(), "deadline_exceeded: timeout_ms: passed");
  EXPECT_TRUE(fixture.client->ping().ok());
}

// Answers a generation with some text, and ends it when it is cancelled.
FakeDaemon::Handler until_cancelled() {
  auto generation = std::make_shared<wire::RequestId>();
  return [=](const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
    if (is_generate(envelope)) {
      *generation = envelope.request;
      reply(wire::Accepted{});
      return reply(wire::Delta{"first", false});
    }
    reply(wire::Ack{});
    wire::Final final;
    final.text = "first";
    const bool right = std::get<wire::CancelRequest>(envelope.message).target == *generation;
    final.finish_reason = right ? "cancelled" : "stop";
    reply.to(*generation, final);
  };
}

TEST(Generate, is_cancelled_by_its_events) {
  ConnectedClient fixture(until_cancelled());
  ASSERT_TRUE(fixture.client.ok());
  int events = 0;
  const Result<Generation> result =
      fixture.client->generate(prompt_request("x"), [&](const Event& event) {
        ++events;
        return !std::holds_alternative<wire::Delta>(event);
      });
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(result->finish_reason, "cancelled");
  EXPECT_EQ(result->text, "first");
  EXPECT_EQ(events, 2);
}

TEST(Generate, is_cancelled_by_a_flag) {
  ConnectedClient fixture(until_cancelled());
  ASSERT_TRUE(fixture.client.ok());
  std::atomic<bool> cancel{false};
  const auto on_event = [&](const Event&) {
    cancel = true;
    return true;
  };
  const Result<Generation> result =
      fixture.client->generate(prompt_request("x"), on_event, &cancel);
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(result->finish_reason, "cancelled");
  EXPECT_EQ(fixture.daemon.received().size(), 2u);
}

// Accepts generations and then answers nothing but Pings.
void accept_only(const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
  if (is_generate(envelope)) reply(wire::Accepted{});
}

// A timeout for daemons that never answer; daemons that do answer may take their time.
ClientOptions short_waits(int64_t timeout_ms = 60'000) {
  ClientOptions options;
  options.timeout_ms = timeout_ms;
  options.silence_ms = 30;
  return options;
}

TEST(Generate, does_not_wait_for_ever_for_a_cancellation) {
  ConnectedClient fixture(accept_only, short_waits(1'000));
  ASSERT_TRUE(fixture.client.ok());
  const Result<Generation> result =
      fixture.client->generate(prompt_request("x"), [](const Event&) { return false; });
  EXPECT_EQ(generation_error(result).to_string(),
            "unavailable: endpoint: the daemon did not confirm the cancellation within 1000 ms");
}

TEST(Generate, notices_a_daemon_that_fell_silent) {
  ConnectedClient fixture(accept_only, short_waits(1'000));
  ASSERT_TRUE(fixture.client.ok());
  const Result<Generation> result =
      fixture.client->generate(prompt_request("x"), [&](const Event&) {
        fixture.daemon.set_answers_pings(false);
        return true;
      });
  EXPECT_EQ(generation_error(result).to_string(), "unavailable: endpoint: the daemon fell silent");
  EXPECT_TRUE(is_unreachable(generation_error(result)));
}

TEST(Generate, notices_a_restart_by_the_boot_id) {
  ConnectedClient fixture(accept_only, short_waits());
  ASSERT_TRUE(fixture.client.ok());
  const Result<Generation> result =
      fixture.client->generate(prompt_request("x"), [&](const Event&) {
        fixture.daemon.set_boot_id("boot_2");
        return true;
      });
  EXPECT_EQ(
      generation_error(result).to_string(),
      "unavailable: endpoint: the daemon was restarted: the request is lost, and chunks may be "
      "lost, too");
  EXPECT_TRUE(fixture.client->ping().ok());
  EXPECT_EQ(fixture.client->boot_id(), "boot_2");
}

TEST(Generate, notices_a_daemon_that_answers_but_lost_the_request) {
  ClientOptions options = short_waits();
  options.lost_ms = 200;
  ConnectedClient fixture(accept_only, options);
  ASSERT_TRUE(fixture.client.ok());
  const Result<Generation> result = fixture.client->generate(prompt_request("x"));
  EXPECT_EQ(generation_error(result).to_string(),
            "unavailable: endpoint: nothing came from the generation for 200 ms; the daemon has "
            "lost it");
}

TEST(Generate, notices_at_once_that_the_connection_broke) {
  const TempFolder folder;
  auto daemon = std::make_unique<FakeDaemon>(folder.endpoint(), accept_only);
  Result<Client> client = Client::connect(folder.endpoint());  // waits up to 10 s for silence
  ASSERT_TRUE(client.ok());
  const Result<Generation> result = client->generate(prompt_request("x"), [&](const Event&) {
    daemon.reset();
    return true;
  });
  EXPECT_EQ(generation_error(result).to_string(),
            "unavailable: endpoint: the connection to the daemon broke");
}

TEST(Generate, survives_a_slow_daemon_that_answers_pings) {
  auto generation = std::make_shared<wire::RequestId>();
  ConnectedClient fixture(
      [=](const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
        if (is_generate(envelope)) {
          *generation = envelope.request;
          return reply(wire::Accepted{});
        }
        reply(wire::StatusReply{});
        wire::Final final;
        final.text = "late";
        reply.to(*generation, final);
      },
      short_waits());
  ASSERT_TRUE(fixture.client.ok());
  // The daemon answers pings. It answers the generation when it sees another request of the client,
  // which here is the cancellation.
  std::atomic<bool> cancel{false};
  fixture.daemon.on_ping([&](int pings) {
    if (pings == 4) cancel = true;
  });
  const Result<Generation> result = fixture.client->generate(prompt_request("x"), {}, &cancel);
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(result->text, "late");
}

}  // namespace
}  // namespace cascade::client
