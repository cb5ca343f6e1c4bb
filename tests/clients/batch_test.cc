// generate_batch(): results in the order of the requests, each with its own end.
#include <gtest/gtest.h>

#include <map>

#include "clients/cpp/client.h"
#include "clients/cpp/endpoint.h"
#include "tests/clients/connected_client.h"
#include "tests/clients/fake_daemon.h"

namespace cascade::client {
namespace {

using testing::ConnectedClient;
using testing::FakeDaemon;
using testing::TempFolder;

std::vector<wire::GenerateRequest> requests_of(const std::vector<std::string>& prompts) {
  std::vector<wire::GenerateRequest> requests(prompts.size());
  for (size_t i = 0; i < prompts.size(); ++i) requests[i].prompt = prompts[i];
  return requests;
}

// "text (finish_reason)", or the error.
std::string shown(const Result<Generation>& result) {
  if (!result.ok()) return result.error().to_string();
  return result->text + " (" + result->finish_reason + ")";
}

std::vector<std::string> shown(const std::vector<Result<Generation>>& results) {
  std::vector<std::string> texts;
  for (const auto& result : results) texts.push_back(shown(result));
  return texts;
}

using Texts = std::vector<std::string>;

wire::Final final_of(const std::string& text, const std::string& reason = "stop") {
  wire::Final final;
  final.text = text;
  final.finish_reason = reason;
  return final;
}

// Collects `count` generations and then answers them from the last to the first: "fail" with an
// error, "busy" with an error that says when to come back. "hang" is answered when it is cancelled.
class Backwards {
 public:
  explicit Backwards(size_t count) : count_(count) {}

  void operator()(const wire::Envelope& envelope, const FakeDaemon::Reply& reply) {
    if (const auto* cancel = std::get_if<wire::CancelRequest>(&envelope.message)) {
      reply(wire::Ack{});
      return reply.to(cancel->target, final_of("partly", "cancelled"));
    }
    const auto& request = std::get<wire::GenerateRequest>(envelope.message);
    waiting_.emplace_back(envelope.request, *request.prompt);
    reply(wire::Accepted{static_cast<int32_t>(waiting_.size()) - 1});
    if (waiting_.size() < count_) return;
    for (auto it = waiting_.rbegin(); it != waiting_.rend(); ++it)
      answer(it->first, it->second, reply);
    waiting_.clear();
  }

 private:
  static void answer(const wire::RequestId& id, const std::string& prompt,
                     const FakeDaemon::Reply& reply) {
    if (prompt == "hang") return reply.to(id, wire::Delta{"partly", false});
    if (prompt == "fail")
      return reply.to(id, wire::ErrorReply{not_found("chunks[0].id", "gone"), 0});
    if (prompt == "busy" || prompt == "busier") {
      const int64_t retry_after_ms = prompt == "busy" ? 700 : 900;
      return reply.to(
          id, wire::ErrorReply{resource_exhausted("", "the queue is full"), retry_after_ms});
    }
    reply.to(id, wire::Delta{"to " + prompt, false});
    reply.to(id, final_of("to " + prompt));
  }

  size_t count_;
  std::vector<std::pair<wire::RequestId, std::string>> waiting_;
};

TEST(GenerateBatch, all_are_in_flight_and_results_have_the_order_of_the_requests) {
  ConnectedClient fixture(Backwards{5});
  ASSERT_TRUE(fixture.client.ok());
  const auto results = fixture.client->generate_batch(requests_of({"a", "b", "c", "b", "e"}));
  EXPECT_EQ(shown(results),
            (Texts{"to a (stop)", "to b (stop)", "to c (stop)", "to b (stop)", "to e (stop)"}));
  EXPECT_EQ(fixture.client->retry_after_ms(), 0);
}

TEST(GenerateBatch, each_has_its_own_error) {
  ConnectedClient fixture(Backwards{5});
  ASSERT_TRUE(fixture.client.ok());
  const auto results =
      fixture.client->generate_batch(requests_of({"busier", "a", "fail", "busy", "b"}));
  EXPECT_EQ(shown(results), (Texts{"resource_exhausted: the queue is full", "to a (stop)",
                                   "not_found: chunks[0].id: gone",
                                   "resource_exhausted: the queue is full", "to b (stop)"}));
  EXPECT_EQ(fixture.client->retry_after_ms(), 900) << "the longest";
  EXPECT_TRUE(fixture.client->ping().ok());
}

TEST(GenerateBatch, of_nothing_has_no_results) {
  ConnectedClient fixture(Backwards{1});
  ASSERT_TRUE(fixture.client.ok());
  EXPECT_TRUE(fixture.client->generate_batch({}).empty());
  EXPECT_TRUE(fixture.daemon.received().empty());
}

TEST(GenerateBatch, is_bounded) {
  ConnectedClient fixture(Backwards{kBatchRequestsMax});
  ASSERT_TRUE(fixture.client.ok());
  std::vector<std::string> prompts(kBatchRequestsMax + 1, "x");
  const auto refused = fixture.client->generate_batch(requests_of(prompts));
  ASSERT_EQ(refused.size(), prompts.size());
  for (const auto& result : refused) {
    EXPECT_EQ(shown(result),
              "invalid_argument: requests: has 257 requests, more than the limit of 256");
  }
  EXPECT_TRUE(fixture.daemon.received().empty());
  prompts.pop_back();
  for (const auto& result : fixture.client->generate_batch(requests_of(prompts))) {
    EXPECT_EQ(shown(result), "to x (stop)");
  }
}

TEST(GenerateBatch, events_name_their_request) {
  ConnectedClient fixture(Backwards{3});
  ASSERT_TRUE(fixture.client.ok());
  std::map<size_t, std::string> seen;
  const auto on_event = [&](size_t index, const Event& event) {
    if (const auto* accepted = std::get_if<wire::Accepted>(&event)) {
      seen[index] += std::to_string(accepted->queue_position);
    } else {
      seen[index] += " " + std::get<wire::Delta>(event).text;
    }
    return true;
  };
  (void)fixture.client->generate_batch(requests_of({"a", "b", "c"}), on_event);
  EXPECT_EQ(seen, (std::map<size_t, std::string>{{0, "0 to a"}, {1, "1 to b"}, {2, "2 to c"}}));
}

TEST(GenerateBatch, an_event_cancels_its_own_request) {
  ConnectedClient fixture(Backwards{3});
  ASSERT_TRUE(fixture.client.ok());
  const auto on_event = [](size_t index, const Event& event) {
    return index != 1 || !std::holds_alternative<wire::Delta>(event);
  };
  const auto results = fixture.client->generate_batch(requests_of({"a", "hang", "c"}), on_event);
  EXPECT_EQ(shown(results), (Texts{"to a (stop)", "partly (cancelled)", "to c (stop)"}));
}

TEST(GenerateBatch, the_flag_cancels_all_that_run) {
  ConnectedClient fixture(Backwards{4});
  ASSERT_TRUE(fixture.client.ok());
  std::atomic<bool> cancel{false};
  int deltas = 0;
  const auto on_event = [&](size_t, const Event& event) {
    deltas += std::holds_alternative<wire::Delta>(event);
    cancel = deltas == 4;  // all generations have been answered
    return true;
  };
  const auto results =
      fixture.client->generate_batch(requests_of({"hang", "a", "hang", "b"}), on_event, &cancel);
  EXPECT_EQ(shown(results),
            (Texts{"partly (cancelled)", "to a (stop)", "partly (cancelled)", "to b (stop)"}));
}

TEST(GenerateBatch, a_lost_connection_ends_what_has_not_ended) {
  const TempFolder folder;
  auto daemon = std::make_unique<FakeDaemon>(folder.endpoint(), Backwards(3));
  Result<Client> client = Client::connect(folder.endpoint());
  ASSERT_TRUE(client.ok());
  int deltas = 0;
  const auto on_event = [&](size_t, const Event& event) {
    deltas += std::holds_alternative<wire::Delta>(event);
    // "hang" is answered last, so the others have ended.
    if (deltas == 3) daemon.reset();
    return true;
  };
  const auto results = client->generate_batch(requests_of({"hang", "a", "b"}), on_event);
  EXPECT_EQ(shown(results), (Texts{"unavailable: endpoint: the connection to the daemon broke",
                                   "to a (stop)", "to b (stop)"}));
  EXPECT_TRUE(is_unreachable(results[0].error()));
  const auto later = client->generate_batch(requests_of({"a", "b"}));
  ASSERT_EQ(later.size(), 2u);
  for (const auto& result : later) {
    ASSERT_FALSE(result.ok());
    EXPECT_TRUE(is_unreachable(result.error()));
  }
}

}  // namespace
}  // namespace cascade::client
