// generate(): streams, cancellation, and daemons that die, restart or fall silent.
#include <gtest/gtest.h>

#include "clients/cpp/client.h"
#include "clients/cpp/endpoint.h"
#include "tests/clients/fake_daemon.h"

namespace cascade::client {
namespace {

using testing::FakeDaemon;
using testing::TempFolder;

wire::GenerateRequest request_of(const std::string& prompt) {
  wire::GenerateRequest request;
  request.prompt = prompt;
  return request;
}

bool is_generate(const wire::Envelope& envelope) {
  return std::holds_alternative<wire::GenerateRequest>(envelope.message);
}

Error error_of(const Result<Generation>& result) {
  return result.ok() ? Error{ErrorCode::kInternal, "none", "no error"} : result.error();
}

struct Fixture {
  explicit Fixture(FakeDaemon::Handler handler, ClientOptions options = {})
      : daemon(folder.endpoint(), std::move(handler)),
        client(Client::connect(folder.endpoint(), options)) {}
  TempFolder folder;
  FakeDaemon daemon;
  Result<Client> client;
};

TEST(Generate, streams_events_in_order) {
  Fixture fixture([](const wire::Envelope&, const FakeDaemon::Reply& reply) {
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
  const Result<Generation> result = fixture.client->generate(request_of("x"), on_event);
  ASSERT_TRUE(result.ok()) << result.error().to_string();
  EXPECT_EQ(seen, "accepted:2 progress:5 thought:hmm text:Par text:is ");
  EXPECT_EQ(result->text, "Paris");
  EXPECT_EQ(result->token_ids, (std::vector<int32_t>{1, 2, 3}));
  EXPECT_TRUE(std::get<wire::GenerateRequest>(fixture.daemon.received()[0].message).stream);
}

TEST(Generate, reports_an_error_in_the_middle_of_a_stream) {
  Fixture fixture([](const wire::Envelope&, const FakeDaemon::Reply& reply) {
    reply(wire::Accepted{});
    reply(wire::Delta{"a", false});
    reply(wire::ErrorReply{{ErrorCode::kDeadlineExceeded, "timeout_ms", "passed"}, 0});
  });
  ASSERT_TRUE(fixture.client.ok());
  const Result<Generation> result = fixture.client->generate(request_of("x"));
  EXPECT_EQ(error_of(result).to_string(), "deadline_exceeded: timeout_ms: passed");
  EXPECT_TRUE(fixture.client->ping().ok());
}

// Streams until it is cancelled.
FakeDaemon::Handler cancellable(wire::RequestId* cancelled) {
  auto generation = std::make_shared<FakeDaemon::Reply>();
  auto id = std::make_shared<wire::RequestId>();
  return [=](const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
    if (is_generate(envelope)) {
      *id = envelope.request;
      reply(wire::Accepted{});
      reply(wire::Delta{"first", false});
      return;
    }
    *cancelled = std::get<wire::CancelRequest>(envelope.message).target;
    reply(wire::Ack{});
  };
}

// The fake daemon answers a request only while it handles it, so the cancelled Final is sent from
// the CancelRequest's handler through this.
struct CancelFixture {
  CancelFixture()
      : daemon(folder.endpoint(),
               [this](const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
                 handle(envelope, reply);
               }) {}
  void handle(const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
    if (is_generate(envelope)) {
      generation = envelope.request;
      reply(wire::Accepted{});
      reply(wire::Delta{"first", false});
      return;
    }
    target = std::get<wire::CancelRequest>(envelope.message).target;
    reply(wire::Ack{});
    wire::Final final;
    final.text = "first";
    final.finish_reason = "cancelled";
    daemon.send_last_generation(final);
  }
  TempFolder folder;
  wire::RequestId generation{};
  wire::RequestId target{};
  FakeDaemon daemon;
};

}  // namespace
}  // namespace cascade::client
