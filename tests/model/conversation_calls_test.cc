// Conversations with calls in the forms of Gemma 4 and Ministral 3: what the model wrote is found
// again in later prompts.
#include <gtest/gtest.h>

#include "tests/model/calls/calls_models.h"
#include "tests/model/calls/calls_testing.h"

namespace cascade::testing {
namespace {

class Conversation {
 public:
  explicit Conversation(TextModel model) : model_(std::move(model)) {}

  std::string prompt(const Messages& messages) const {
    const auto made = encode_prompt(context(), messages);
    return made.ok() ? shown(made->token_ids) : made.error().to_string();
  }
  std::string history(const Messages& messages, const std::string& follower) const {
    const auto ids = encode_history(context(), messages, follower);
    return ids.ok() ? shown(*ids) : ids.error().to_string();
  }

 private:
  ConversationContext context() const {
    ConversationContext context = model_.context();
    context.tools = *parse_ordered_json(kCallTools, "tools");
    return context;
  }
  std::string shown(const Ids& ids) const {
    return model_.tokenizer.decode(ids, /*skip_special=*/false);
  }

  const TextModel model_;
};

// What clients send for an answer that has `text` and a call.
ChatMessage called(const std::string& text, const std::string& reasoning = "") {
  ChatMessage answer = message("assistant", text, reasoning);
  answer.tool_calls = R"([{"id":"1","type":"function","function":{"name":"get","arguments":)"
                      R"("{\"city\":\"Paris\",\"days\":3}"}}])";
  return answer;
}

ChatMessage result(const std::string& text) {
  ChatMessage message = testing::message("tool", text);
  message.tool_call_id = "1";
  return message;
}

TEST(CallsConversation, gemma_finds_its_calls_after_its_text) {
  const Conversation gemma(gemma_model());
  const std::string before = "<|turn>user\nWhere?<turn|>\n<|turn>model\n";
  const std::string answer =
      "<|channel>thought\nHm.\n<channel|>I look."
      "<|tool_call>call:get{city:<|\"|>Paris<|\"|>,days:3}<tool_call|>";
  Messages messages = {message("user", "Where?")};
  EXPECT_EQ(gemma.prompt(messages), before);
  messages.push_back(message("assistant", "I look.\n" + kGetCall, "Hm."));
  const std::string history = gemma.history(messages, "tool");
  EXPECT_EQ(history, before + answer + "<|tool_response>response:get{value:<|\"|>");
  messages.back() = called("I look.", "Hm.");
  messages.push_back(result("There."));
  EXPECT_EQ(gemma.prompt(messages), history + "There.<|\"|>}<tool_response|>");
}

TEST(CallsConversation, mistral_finds_its_thoughts_and_calls) {
  const Conversation mistral(mistral_model());
  Messages messages = {message("user", "Where?"),
                       message("assistant", "I look." + kGetCall, "Hm.")};
  const std::string history = mistral.history(messages, "tool");
  EXPECT_EQ(history,
            "[INST]Where?[/INST][THINK]Hm.[/THINK]I look."
            "[TOOL_CALLS]get[ARGS]{\"city\": \"Paris\", \"days\": 3}</s>[TOOL_RESULTS]");
  messages.back() = called("I look.", "Hm.");
  messages.push_back(result("There."));
  EXPECT_EQ(mistral.prompt(messages), history + "There.[/TOOL_RESULTS]");
}

}  // namespace
}  // namespace cascade::testing
