// cascaded as a process: conversations through the client library, many clients at once, cancels,
// and how it ends.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <thread>

#include "clients/cpp/client.h"
#include "model/model.h"
#include "tests/shared_dir.h"
#include "tests/system/process.h"

namespace cascade {
namespace {

using client::Client;
using testing::DaemonProcess;
using testing::ScratchDir;

Client connect(const DaemonProcess& daemon) {
  auto connected = Client::connect(daemon.endpoint(), {.timeout_ms = 60'000});
  EXPECT_TRUE(connected.ok()) << connected.error().to_string() << "\n" << daemon.log();
  return *std::move(connected);
}

client::Generation generate(Client& client, const wire::GenerateRequest& request) {
  auto generation = client.generate(request);
  EXPECT_TRUE(generation.ok()) << generation.error().to_string();
  return generation.ok() ? *std::move(generation) : client::Generation{};
}

wire::GenerateRequest ask(std::vector<wire::ChunkRef> chunks, const std::string& question) {
  wire::GenerateRequest request;
  chunks.push_back({ChunkType::kQuery, "", question});
  request.chunks = std::move(chunks);
  request.sampling.temperature = 0;
  request.logprobs = true;
  request.max_tokens = 100;
  return request;
}

// Waits until idle work has caught up: nothing runs and nothing is pending.
void wait_until_idle(Client& client) {
  const auto rests = [&] {
    const auto status = client.status();
    EXPECT_TRUE(status.ok()) << status.error().to_string();
    return !status.ok() || (status->reprefills_pending == 0 && status->requests_running == 0);
  };
  EXPECT_TRUE(testing::wait_until(rests)) << "the daemon does not come to rest";
}

const char* const kSystem = "You are a helpful assistant.";
const std::vector<std::string> kQuestions = {"What is the capital of France?",
                                             "What city did we just discuss?",
                                             "Calculate 9 + 6.",
                                             "Please repeat your last answer.",
                                             "What is the capital of Kenya?",
                                             "What was my first question?"};

TEST(DaemonSystem, a_client_that_goes_away_takes_its_prefixes_along) {
  const ScratchDir scratch;
  const DaemonProcess daemon(scratch.path() / "run");
  Client stays = connect(daemon);
  const auto pinned = [&] { return stays.get_chunk_stats()->cache->pages_pinned; };
  {
    Client leaves = connect(daemon);
    wire::PrefixCache prefix;
    prefix.chunks = {{ChunkType::kSystemPrompt, "", kSystem}};
    ASSERT_TRUE(leaves.cache_prefix(prefix).ok());
    EXPECT_GT(pinned(), 0);
  }
  EXPECT_TRUE(testing::wait_until([&] { return pinned() == 0; }));
}

TEST(DaemonSystem, six_turns_with_retained_outputs_equal_six_cold_prompts) {
  const ScratchDir scratch;
  const DaemonProcess daemon(scratch.path() / "warm");
  ASSERT_TRUE(daemon.serving()) << daemon.log();
  Client client = connect(daemon);
  const auto text = load_model_text(testing::demo_model_dir());
  ASSERT_TRUE(text.ok());

  std::vector<wire::ChunkRef> chunks = {{ChunkType::kSystemPrompt, "", kSystem}};
  std::vector<ChatMessage> history = {{.role = "system", .content = kSystem, .reasoning = {}}};
  for (size_t i = 0; i < kQuestions.size(); ++i) {
    wire::GenerateRequest request = ask(chunks, kQuestions[i]);
    request.retain_output = true;
    request.sampling.temperature = i % 2 == 0 ? 0 : 0.7;
    request.sampling.seed = 7 * i;
    const auto warm = generate(client, request);
    wait_until_idle(client);

    const std::string number = std::to_string(i);
    const DaemonProcess fresh(scratch.path() / ("cold" + number), {},
                              scratch.path() / ("state" + number));
    ASSERT_TRUE(fresh.serving()) << fresh.log();
    Client cold_client = connect(fresh);
    history.push_back({.role = "user", .content = kQuestions[i], .reasoning = {}});
    request.chunks.clear();
    request.messages = history;
    const auto cold = generate(cold_client, request);

    EXPECT_EQ(cold.usage.reused_tokens, 0);
    EXPECT_EQ(warm.token_ids, cold.token_ids) << "turn " << i;
    ASSERT_EQ(warm.logprobs.size(), cold.logprobs.size());
    EXPECT_EQ(std::memcmp(warm.logprobs.data(), cold.logprobs.data(),
                          warm.logprobs.size() * sizeof(float)),
              0);
    if (i > 0) {
      const auto own = text->tokenizer.encode(kQuestions[i], false, false);
      EXPECT_LE(warm.usage.prefilled_tokens, 64 + static_cast<int64_t>(own->size()));
    }
    history.push_back({.role = "assistant", .content = warm.text, .reasoning = {}});
    chunks.push_back({ChunkType::kOutput, warm.output_chunk_id, ""});
  }
}

TEST(DaemonSystem, clients_together_get_what_each_gets_alone) {
  const ScratchDir scratch;
  const DaemonProcess daemon(scratch.path() / "run");
  ASSERT_TRUE(daemon.serving()) << daemon.log();
  constexpr size_t kClients = 8;
  std::vector<client::Generation> together(kClients), alone(kClients);
  const auto question = [](size_t i) {
    auto request = ask({{ChunkType::kSystemPrompt, "", kSystem}}, kQuestions[i % 6]);
    request.sampling.temperature = 0.8;
    request.sampling.seed = i;
    return request;
  };
  {
    std::vector<std::thread> threads;
    for (size_t i = 0; i < kClients; ++i) {
      threads.emplace_back([&, i] {
        Client client = connect(daemon);
        for (int round = 0; round < 3; ++round) together[i] = generate(client, question(i));
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  Client client = connect(daemon);
  for (size_t i = 0; i < kClients; ++i) {
    alone[i] = generate(client, question(i));
    EXPECT_EQ(alone[i].token_ids, together[i].token_ids);
    EXPECT_EQ(alone[i].logprobs, together[i].logprobs);
  }
}

TEST(DaemonSystem, a_batch_gets_what_each_prompt_gets_alone) {
  const ScratchDir scratch;
  const DaemonProcess daemon(scratch.path() / "run");
  ASSERT_TRUE(daemon.serving()) << daemon.log();
  Client client = connect(daemon);
  std::vector<wire::GenerateRequest> requests;
  for (size_t i = 0; i < 12; ++i) {
    auto request = ask({}, kQuestions[i % 6]);
    request.top_logprobs = 3;
    request.sampling.temperature = 0.8;
    request.sampling.seed = i;
    request.sampling.presence_penalty = 0.5;
    request.sampling.frequency_penalty = 0.1 * static_cast<double>(i);
    request.sampling.logit_bias = {{static_cast<int32_t>(300 + i), 2.5}};
    if (i == 5) request.sampling.logit_bias.push_back({100'000, 1});
    if (i == 6) request.top_logprobs = 21;
    requests.push_back(request);
  }
  const auto together = client.generate_batch(requests);
  ASSERT_EQ(together.size(), requests.size());
  for (size_t i = 0; i < requests.size(); ++i) {
    if (i == 5 || i == 6) {
      ASSERT_FALSE(together[i].ok());
      EXPECT_EQ(together[i].error().field, i == 5 ? "sampling.logit_bias[100000]" : "top_logprobs");
      continue;
    }
    ASSERT_TRUE(together[i].ok()) << together[i].error().to_string();
    const auto alone = generate(client, requests[i]);
    EXPECT_EQ(alone.token_ids, together[i]->token_ids);
    EXPECT_EQ(alone.logprobs, together[i]->logprobs);
    EXPECT_EQ(alone.top_token_ids, together[i]->top_token_ids);
    EXPECT_EQ(alone.top_logprobs, together[i]->top_logprobs);
    EXPECT_EQ(alone.top_token_ids.size(), 3 * alone.token_ids.size());
  }
}

TEST(DaemonSystem, a_stream_is_cancelled_by_its_client) {
  const ScratchDir scratch;
  const DaemonProcess daemon(scratch.path() / "run");
  ASSERT_TRUE(daemon.serving()) << daemon.log();
  Client client = connect(daemon);
  auto request = ask({}, "What is the capital of France?");
  request.ignore_eos = true;
  request.max_tokens = 16'000;
  std::string streamed;
  const auto generation = client.generate(request, [&](const client::Event& event) {
    const auto* delta = std::get_if<wire::Delta>(&event);
    if (delta != nullptr && !delta->reasoning) streamed += delta->text;
    return streamed.size() < 200;
  });
  ASSERT_TRUE(generation.ok()) << generation.error().to_string();
  EXPECT_EQ(generation->finish_reason, "cancelled");
  EXPECT_TRUE(generation->text.starts_with(streamed.substr(0, 100)));
  EXPECT_EQ(client.status()->requests_running, 0);
}

TEST(DaemonSystem, a_client_that_goes_away_stops_its_generation) {
  const ScratchDir scratch;
  const DaemonProcess daemon(scratch.path() / "run");
  ASSERT_TRUE(daemon.serving()) << daemon.log();
  Client observer = connect(daemon);
  {
    Client leaving = connect(daemon);
    auto request = ask({}, "What is the capital of France?");
    request.ignore_eos = true;
    request.max_tokens = 16'000;
    // The client's process ends in the middle of a stream: its socket is closed.
    std::thread thread([&] {
      auto mine = std::move(leaving);
      int deltas = 0;
      try {
        (void)mine.generate(request, [&](const client::Event& event) -> bool {
          if (std::holds_alternative<wire::Delta>(event) && ++deltas == 3) throw deltas;
          return true;
        });
      } catch (int) {
      }
    });
    thread.join();
  }
  for (int i = 0; i < 5000; ++i) {
    const auto status = observer.status();
    ASSERT_TRUE(status.ok());
    if (status->requests_cancelled == 1 && status->requests_running == 0) return;
  }
  FAIL() << "the generation goes on without its client";
}

TEST(DaemonSystem, answers_the_same_from_packed_weights_of_an_earlier_start) {
  const ScratchDir scratch;
  std::vector<client::Generation> answers;
  for (const char* source : {"weights packed", "weights mapped from the cache"}) {
    DaemonProcess daemon(scratch.path() / "run", {}, scratch.path() / "kept");
    ASSERT_TRUE(daemon.serving()) << daemon.log();
    EXPECT_NE(daemon.log().find(source), std::string::npos) << daemon.log();
    {
      Client client = connect(daemon);
      answers.push_back(generate(client, ask({}, kQuestions[0])));
    }
    EXPECT_EQ(daemon.stop(SIGTERM), 0) << "the weights of a small model are kept before the end";
    EXPECT_EQ(daemon.log().find(" warning "), std::string::npos) << daemon.log();
  }
  EXPECT_EQ(answers[0].token_ids, answers[1].token_ids);
  EXPECT_EQ(answers[0].logprobs, answers[1].logprobs);
  EXPECT_FALSE(answers[0].token_ids.empty());
}

TEST(DaemonSystem, refuses_a_state_directory_that_cannot_be_used) {
  const ScratchDir scratch;
  const DaemonProcess daemon(scratch.path() / "run", {}, "/dev/null/state");
  EXPECT_FALSE(daemon.serving());
  EXPECT_EQ(daemon.log(), "cascaded: io: /dev/null/state: Not a directory\n");
}

TEST(DaemonSystem, two_daemons_do_not_share_a_state_directory) {
  const ScratchDir scratch;
  const auto state = scratch.path() / "state";
  const DaemonProcess first(scratch.path() / "one", {}, state);
  ASSERT_TRUE(first.serving()) << first.log();
  const DaemonProcess second(scratch.path() / "two", {}, state);
  EXPECT_FALSE(second.serving());
  EXPECT_NE(second.log().find("another process (pid "), std::string::npos) << second.log();
  Client client = connect(first);
  EXPECT_FALSE(generate(client, ask({}, kQuestions[0])).token_ids.empty());
}

TEST(DaemonSystem, ends_in_good_order_and_its_run_directory_serves_again) {
  const ScratchDir scratch;
  const auto run_dir = scratch.path() / "run";
  {
    DaemonProcess first(run_dir);
    ASSERT_TRUE(first.serving()) << first.log();
    const DaemonProcess second(run_dir);
    EXPECT_FALSE(second.serving());
    EXPECT_NE(second.log().find("another cascaded is running"), std::string::npos) << second.log();
    EXPECT_EQ(first.stop(SIGTERM), 0) << first.log();
  }
  {
    DaemonProcess killed(run_dir);
    ASSERT_TRUE(killed.serving()) << killed.log();
    EXPECT_EQ(killed.stop(SIGKILL), 128 + SIGKILL);
  }
  DaemonProcess after(run_dir);
  ASSERT_TRUE(after.serving()) << after.log();
  Client client = connect(after);
  EXPECT_EQ(generate(client, ask({}, "What is the capital of France?")).text,
            "The capital of France is Paris.");
  EXPECT_EQ(after.stop(SIGINT), 0) << after.log();
}

TEST(DaemonSystem, a_damaged_model_is_one_clear_error) {
  const ScratchDir scratch;
  const auto model = scratch.path() / "model";
  std::filesystem::copy(testing::demo_model_dir(), model);
  std::filesystem::resize_file(model / "model-00002-of-00003.safetensors", 1'000'000);
  DaemonProcess daemon(scratch.path() / "run", model);
  EXPECT_FALSE(daemon.serving());
  const std::string log = daemon.log();
  EXPECT_TRUE(log.starts_with("cascaded: data_corrupt: ")) << log;
  EXPECT_EQ(std::count(log.begin(), log.end(), '\n'), 1) << log;
}

}  // namespace
}  // namespace cascade
