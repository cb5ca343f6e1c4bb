// Several answers to one call: how they are requested, and how they are sent.
#include "wire/openai/choices.h"

#include <gtest/gtest.h>

#include <map>

#include "base/json.h"
#include "tests/wire/openai/reply_json.h"
#include "wire/openai/chat.h"
#include "wire/openai/completions.h"

namespace cascade::openai {
namespace {

using testing::parsed;

const ReplyContext kReplyContext = {"id", "demo", "fp", 7};

// The data of each event before the last one, which is [DONE].
std::vector<OrderedJson> events_before_done(const std::string& text) {
  std::vector<OrderedJson> events;
  size_t begin = 0;
  for (size_t end; (end = text.find("\n\n", begin)) != std::string::npos; begin = end + 2) {
    const std::string data = text.substr(begin + 6, end - begin - 6);
    if (data == "[DONE]") break;
    events.push_back(parsed(data));
  }
  return events;
}

Result<CompletionCall> completion(const std::string& prompt, const std::string& more = "") {
  return decode_completion(R"({"prompt":)" + prompt + more + "}");
}

CompletionCall completion_of(const std::string& prompt, const std::string& more = "") {
  const auto call = completion(prompt, more);
  EXPECT_TRUE(call.ok()) << (call.ok() ? "" : call.error().to_string());
  return call.ok() ? *call : CompletionCall();
}

std::string wrong_field(const std::string& prompt, const std::string& more = "") {
  const auto call = completion(prompt, more);
  return call.ok() ? "none" : call.error().field;
}

Answer answer(const std::string& text, int64_t prompt_tokens, int64_t completion_tokens) {
  wire::Final final;
  final.text = text;
  final.finish_reason = "stop";
  final.usage.prompt_tokens = prompt_tokens;
  final.usage.reused_tokens = prompt_tokens - 1;
  final.usage.completion_tokens = completion_tokens;
  final.attention = "window:512:16";
  return {final};
}

TEST(Choices, have_seeds_that_follow_the_first) {
  wire::GenerateRequest request;
  request.prompt = "x";
  request.sampling.seed = UINT64_MAX;
  const auto choices = choices_of(request, 3);
  ASSERT_EQ(choices.size(), 3u);
  EXPECT_EQ(choices[0].sampling.seed, UINT64_MAX);
  EXPECT_EQ(choices[1].sampling.seed, 0u);
  EXPECT_EQ(choices[2].sampling.seed, 1u);
  request.sampling.seed.reset();
  for (const auto& choice : choices_of(request, 8)) EXPECT_FALSE(choice.sampling.seed);
}

TEST(Choices, are_from_one_to_eight) {
  const std::string head = R"({"messages":[{"role":"user","content":"Hi"}],"n":)";
  for (const char* n : {"0", "9", "-1", "1.5", "\"2\""}) {
    const auto call = decode_chat(head + n + "}");
    ASSERT_FALSE(call.ok()) << n;
    EXPECT_EQ(call.error().field, "n");
    EXPECT_EQ(wrong_field(R"("x")", std::string(R"(,"n":)") + n), "n");
  }
  const auto call = decode_chat(head + "8}");
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->n, 8);
  EXPECT_EQ(decode_chat(head + "null}")->n, 1);
}

TEST(Choices, of_a_chat_have_an_index_and_count_its_prompt_once) {
  const auto call = decode_chat(R"({"messages":[{"role":"user","content":"Hi"}],"n":2,"seed":5})");
  ASSERT_TRUE(call.ok());
  const std::vector<Answer> answers = {answer("a", 10, 3), answer("b", 10, 4)};
  const OrderedJson reply = parsed(encode_chat(kReplyContext, *call, answers));
  ASSERT_EQ(reply["choices"].size(), 2u);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(reply["choices"][i]["index"], i);
    EXPECT_TRUE(reply["choices"][i].contains("timings"));
    EXPECT_EQ(reply["choices"][i]["attention"], "window:512:16");
  }
  EXPECT_EQ(reply["choices"][1]["message"]["content"], "b");
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 10);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 7);
  EXPECT_EQ(reply["usage"]["total_tokens"], 17);
  EXPECT_EQ(reply["usage"]["prompt_tokens_details"]["cached_tokens"], 9);
  EXPECT_FALSE(reply.contains("timings"));
  EXPECT_FALSE(reply.contains("attention"));
}

TEST(Choices, have_the_fingerprint_of_the_model_that_accepted_them) {
  const auto call = decode_chat(R"({"messages":[{"role":"user","content":"Hi"}],"stream":true})");
  ASSERT_TRUE(call.ok());
  ChatStream stream(kReplyContext, *call);
  stream.accept({.queue_position = 0, .output_id = {}, .fingerprint = "fp_other"});
  EXPECT_EQ(stream.context().fingerprint, "fp_other");
  const std::string text = stream.begin() + stream.end(0, answer("a", 10, 3)) + stream.done();
  for (const OrderedJson& event : events_before_done(text)) {
    EXPECT_EQ(event["system_fingerprint"], "fp_other");
  }
}

TEST(Choices, of_a_stream_come_in_any_order_each_with_its_index) {
  const auto call = decode_chat(R"({"messages":[{"role":"user","content":"Hi"}],"n":3,"stream":true,
      "stream_options":{"include_usage":true},
      "tools":[{"type":"function","function":{"name":"f"}}]})");
  ASSERT_TRUE(call.ok());
  ChatStream stream(kReplyContext, *call);
  std::string text = stream.begin();
  const std::string tool_call = "<tool_call>{\"name\":\"f\"}</tool_call>";
  text += stream.delta(2, {"c", false});
  text += stream.delta(0, {tool_call.substr(0, 15), false});
  text += stream.delta(1, {"b", false});
  text += stream.delta(0, {tool_call.substr(15), false});
  text += stream.end(1, answer("b", 10, 1));
  text += stream.end(0, answer(tool_call, 10, 2));
  text += stream.end(2, answer("c", 10, 3));
  text += stream.done();
  EXPECT_TRUE(text.ends_with("data: [DONE]\n\n"));
  std::map<int, std::string> contents, ends;
  OrderedJson usage;
  int roles = 0;
  for (const OrderedJson& event : events_before_done(text)) {
    if (event["choices"].empty()) {
      usage = event["usage"];
      continue;
    }
    const OrderedJson& choice = event["choices"][0];
    const int index = choice["index"];
    roles += choice["delta"].contains("role");
    contents[index] += choice["delta"].value("content", "");
    EXPECT_EQ(event.contains("attention"), !choice["finish_reason"].is_null());
    if (choice["finish_reason"].is_null()) continue;
    ends[index] = choice["finish_reason"];
    EXPECT_EQ(event["attention"], "window:512:16");
  }
  EXPECT_EQ(roles, 3);
  EXPECT_EQ(contents, (std::map<int, std::string>{{0, ""}, {1, "b"}, {2, "c"}}));
  EXPECT_EQ(ends, (std::map<int, std::string>{{0, "tool_calls"}, {1, "stop"}, {2, "stop"}}));
  EXPECT_EQ(usage["prompt_tokens"], 10);
  EXPECT_EQ(usage["completion_tokens"], 6);
}

TEST(Prompts, are_texts_token_ids_and_arrays_of_them) {
  EXPECT_EQ(completion_of(R"("a")").prompts.size(), 1u);
  EXPECT_EQ(completion_of(R"(["a","b","c"])").prompts[2].text, "c");
  const auto ids = completion_of("[1,2,3]");
  ASSERT_EQ(ids.prompts.size(), 1u);
  EXPECT_EQ(ids.prompts[0].token_ids, (std::vector<int32_t>{1, 2, 3}));
  const auto both = completion_of(R"([[1,2],"b",[2147483647]])");
  ASSERT_EQ(both.prompts.size(), 3u);
  EXPECT_EQ(both.prompts[2].token_ids, std::vector<int32_t>{INT32_MAX});
  const auto requests = requests_of(both);
  EXPECT_EQ(requests[0].prompt_token_ids, (std::vector<int32_t>{1, 2}));
  EXPECT_FALSE(requests[0].prompt);
  EXPECT_EQ(requests[1].prompt, "b");
  EXPECT_TRUE(requests[1].prompt_token_ids.empty());
  for (const char* wrong :
       {"null", "[]", "{}", "7", "[[]]", R"([1,"a"])", "[-1]", "[2147483648]", "[1.5]", R"("")",
        R"(["a",""])", "[[[1]]]", "[[1],[1.5]]", "[true]", "[18446744073709551615]"}) {
    EXPECT_EQ(wrong_field(wrong), "prompt") << wrong;
  }
}

TEST(Prompts, are_at_most_so_many_and_so_are_their_choices) {
  const auto list = [](size_t count) {
    std::string text = "[\"a\"";
    for (size_t i = 1; i < count; ++i) text += ",\"a\"";
    return text + "]";
  };
  EXPECT_EQ(wrong_field(list(kPromptsMax)), "none");
  EXPECT_EQ(wrong_field(list(kPromptsMax + 1)), "prompt");
  EXPECT_EQ(wrong_field(list(16), R"(,"n":8)"), "none");
  EXPECT_EQ(wrong_field(list(17), R"(,"n":8)"), "n");
  EXPECT_EQ(wrong_field(R"("a")", R"(,"n":2,"best_of":2)"), "none");
  EXPECT_EQ(wrong_field(R"("a")", R"(,"n":2,"best_of":3)"), "best_of");
}

TEST(Prompts, stand_before_their_answers_if_they_are_echoed) {
  const auto call = completion_of(R"(["a","b"])", R"(,"n":2,"echo":true,"seed":1)");
  EXPECT_TRUE(call.echo);
  const auto requests = requests_of(call);
  ASSERT_EQ(requests.size(), 4u);
  EXPECT_EQ(requests[1].prompt, "a");
  EXPECT_EQ(requests[1].sampling.seed, 2u);
  EXPECT_EQ(requests[2].prompt, "b");
  EXPECT_EQ(requests[2].sampling.seed, 1u);
  const std::vector<Answer> answers = {answer("1", 5, 1), answer("2", 5, 1), answer("3", 7, 1),
                                       answer("4", 7, 1)};
  const std::vector<std::string> echoes = {"a", "b"};
  const OrderedJson reply = parsed(encode_completion(kReplyContext, call, echoes, answers));
  ASSERT_EQ(reply["choices"].size(), 4u);
  EXPECT_EQ(reply["choices"][1]["text"], "a2");
  EXPECT_EQ(reply["choices"][2]["text"], "b3");
  EXPECT_EQ(reply["choices"][3]["index"], 3);
  EXPECT_EQ(reply["usage"]["prompt_tokens"], 12);
  EXPECT_EQ(reply["usage"]["completion_tokens"], 4);
  EXPECT_EQ(reply["choices"][3]["attention"], "window:512:16");
  CompletionStream stream(kReplyContext, call, echoes);
  const auto begin = events_before_done(stream.begin());
  ASSERT_EQ(begin.size(), 4u);
  EXPECT_EQ(begin[3]["choices"][0]["index"], 3);
  EXPECT_EQ(begin[3]["choices"][0]["text"], "b");
  EXPECT_EQ(events_before_done(stream.end(0, answers[0]))[0]["attention"], "window:512:16");
  EXPECT_EQ(CompletionStream(kReplyContext, call, {}).begin(), "");
  EXPECT_EQ(wrong_field(R"("a")", R"(,"echo":true,"logprobs":1)"), "echo");
}

}  // namespace
}  // namespace cascade::openai
