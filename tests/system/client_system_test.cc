// The client library and a daemon: tokens, prompts, and what a request may ask of its answer.
#include "clients/cpp/client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/system/process.h"

namespace cascade {
namespace {

using client::Client;
using ::testing::AnyOf;
using testing::DaemonProcess;
using testing::ScratchDir;

const char* const kFrance = "What is the capital of France?";

class ClientSystem : public ::testing::Test {
 protected:
  ClientSystem()
      : daemon_(scratch_.path() / "run"),
        client_(Client::connect(daemon_.endpoint(), {.timeout_ms = 60'000})) {}
  void SetUp() override {
    ASSERT_TRUE(client_.ok()) << client_.error().to_string() << "\n" << daemon_.log();
  }
  wire::GenerateRequest asking(const std::string& question) const {
    wire::GenerateRequest request;
    request.messages = {{.role = "user", .content = question, .reasoning = {}}};
    request.sampling.temperature = 0;
    request.max_tokens = 100;
    return request;
  }

  const ScratchDir scratch_;
  const DaemonProcess daemon_;
  Result<Client> client_;
};

TEST_F(ClientSystem, a_text_is_the_same_when_it_comes_back) {
  const std::string text = "Grüße, 世界 🙂 <|im_end|>\n";
  const auto ids = client_->tokenize(text);
  ASSERT_TRUE(ids.ok()) << ids.error().to_string();
  const auto back = client_->detokenize(*ids, /*skip_special=*/true, /*pieces=*/true);
  ASSERT_TRUE(back.ok()) << back.error().to_string();
  EXPECT_EQ(back->text, text);
  EXPECT_EQ(back->pieces.size(), ids->size());
  EXPECT_EQ(client_->tokenize("").error().field, "text");
  EXPECT_EQ(client_->detokenize({1 << 30}).error().field, "token_ids[0]");
}

TEST_F(ClientSystem, a_conversation_makes_the_prompt_that_is_generated_from) {
  const wire::GenerateRequest request = asking(kFrance);
  const auto prompt = client_->apply_template(request.messages, /*thinking=*/false);
  ASSERT_TRUE(prompt.ok()) << prompt.error().to_string();
  EXPECT_EQ(prompt->prompt,
            "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n"
            "<|im_start|>assistant\n<think>\n\n</think>\n\n");
  EXPECT_EQ(client_->detokenize(prompt->token_ids)->text, prompt->prompt);
  wire::GenerateRequest quiet = request;
  quiet.thinking = false;
  const auto answer = client_->generate(quiet);
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->usage.prompt_tokens, static_cast<int64_t>(prompt->token_ids.size()));
  EXPECT_EQ(client_->apply_template(request.messages, {}, "{}").error().field, "tools");
}

TEST_F(ClientSystem, an_answer_is_of_the_form_asked_for) {
  wire::GenerateRequest request = asking(kFrance);
  request.grammar = {GrammarKind::kJsonSchema, R"({"enum": ["Madrid", "Rome"]})"};
  const auto answer = client_->generate(request);
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_THAT(answer->text, AnyOf("\"Madrid\"", "\"Rome\""));
  request.grammar->schema = R"({"items": {"uniqueItems": true}})";
  EXPECT_EQ(client_->generate(request).error().field, "grammar.schema");
}

TEST_F(ClientSystem, an_output_has_the_id_that_was_announced) {
  wire::GenerateRequest request = asking(kFrance);
  request.retain_output = true;
  std::string announced;
  const auto answer = client_->generate(request, [&](const client::Event& event) {
    if (const auto* accepted = std::get_if<wire::Accepted>(&event)) announced = accepted->output_id;
    return true;
  });
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_FALSE(announced.empty());
  EXPECT_EQ(answer->output_chunk_id, announced);
}

TEST_F(ClientSystem, an_answer_ends_before_a_stop_and_at_its_deadline) {
  wire::GenerateRequest request = asking(kFrance);
  request.stop = {" is"};
  const auto answer = client_->generate(request);
  ASSERT_TRUE(answer.ok()) << answer.error().to_string();
  EXPECT_EQ(answer->text, "The capital of France");
  request.ignore_eos = true;
  request.stop.clear();
  request.max_tokens = 1 << 20;
  request.timeout_ms = 1;
  EXPECT_EQ(client_->generate(request).error().code, ErrorCode::kDeadlineExceeded);
}

}  // namespace
}  // namespace cascade
