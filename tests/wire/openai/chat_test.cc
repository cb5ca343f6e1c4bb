// Chat completions: requests in, replies and events out.
#include "wire/openai/chat.h"

#include <gtest/gtest.h>

#include <span>

#include "base/random.h"
#include "tests/long_tests.h"
#include "tests/seed.h"
#include "tests/wire/openai/reply_json.h"
#include "wire/openai/completions.h"
#include "wire/openai/responses.h"

namespace cascade::openai {
namespace {

using testing::parsed;

Result<ChatCall> decode_with(const std::string& more, const std::string& content = R"("Hi")") {
  return decode_chat(R"({"messages":[{"role":"user","content":)" + content + "}]" + more + "}");
}

wire::GenerateRequest request_with(const std::string& more) {
  const auto call = decode_with(more);
  EXPECT_TRUE(call.ok()) << more << call.error().to_string();
  return call.ok() ? call->request : wire::GenerateRequest();
}

std::string error_of(const Result<ChatCall>& call) {
  return call.ok() ? "none" : call.error().field;
}

wire::Final answer_of(const std::string& text) {
  wire::Final final;
  final.text = text;
  final.finish_reason = "stop";
  final.usage = {12, 11, 0, 1, {}, 5, 2};
  return final;
}

std::string reply_of(const ChatCall& call, const Answer& answer) {
  return encode_chat({"id", "demo", "fp", 7}, call, std::span(&answer, 1));
}

// The data of each event.
std::vector<OrderedJson> events_of(const std::string& text) {
  std::vector<OrderedJson> events;
  size_t begin = 0;
  for (size_t end; (end = text.find("\n\n", begin)) != std::string::npos; begin = end + 2) {
    const std::string data = text.substr(begin, end - begin);
    EXPECT_TRUE(data.starts_with("data: "));
    events.push_back(data == "data: [DONE]" ? OrderedJson("done") : parsed(data.substr(6)));
  }
  EXPECT_EQ(begin, text.size());
  return events;
}

TEST(OpenAiChat, fields_become_those_of_the_protocol) {
  const auto request = request_with(
      R"(,"temperature":0.5,"top_p":0.9,"top_k":-1,"min_p":0.1,"seed":-2,"presence_penalty":1,
      "frequency_penalty":-1,"repetition_penalty":1.1,"logit_bias":{"5":-100},"stop":["a","b"],
      "max_tokens":7,"max_completion_tokens":9,"timeout_ms":100,"ignore_eos":true,
      "logprobs":true,"top_logprobs":3,"unheard_of":{"x":1},"user":"me","service_tier":"auto")" +
      std::string());
  EXPECT_EQ(request.sampling.temperature, 0.5);
  EXPECT_EQ(request.sampling.top_k, 0);
  EXPECT_EQ(request.sampling.seed, UINT64_MAX - 1);
  ASSERT_EQ(request.sampling.logit_bias.size(), 1u);
  EXPECT_EQ(request.sampling.logit_bias[0].token, 5);
  EXPECT_EQ(request.stop, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(request.max_tokens, 9);
  EXPECT_EQ(request.timeout_ms, 100);
  EXPECT_TRUE(request.ignore_eos);
  EXPECT_EQ(request.top_logprobs, 3);
}

TEST(OpenAiChat, contents_are_strings_or_parts_of_text) {
  const auto call = decode_chat(R"({"messages":[
      {"role":"developer","content":"Be brief."},
      {"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
      {"role":"assistant","content":null,"reasoning_content":"hm","tool_calls":[
        {"id":"call_1","type":"function","function":{"name":"f","arguments":"{\"x\": 1}"}}]},
      {"role":"tool","tool_call_id":"call_1","content":"2"}]})");
  ASSERT_TRUE(call.ok()) << call.error().to_string();
  const auto& messages = call->request.messages;
  ASSERT_EQ(messages.size(), 4u);
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[1].content, "a\nb");
  EXPECT_EQ(messages[2].reasoning, "hm");
  EXPECT_EQ(messages[2].tool_calls, R"([{"id":"call_1","type":"function","function":{"name":"f",)"
                                    R"("arguments":"{\"x\": 1}"}}])");
  EXPECT_EQ(messages[3].tool_call_id, "call_1");
}

TEST(OpenAiChat, thoughts_are_read_under_both_names) {
  for (const char* name : {"reasoning", "reasoning_content"}) {
    const auto call = decode_chat(R"({"messages":[{"role":"assistant","content":"x",")" +
                                  std::string(name) + R"(":"hm"},{"role":"user","content":"y"}]})");
    ASSERT_TRUE(call.ok());
    EXPECT_EQ(call->request.messages[0].reasoning, "hm") << name;
  }
}

TEST(OpenAiChat, thinking_is_switched_by_effort_and_template_arguments) {
  EXPECT_EQ(request_with(R"(,"reasoning_effort":"none")").thinking, false);
  EXPECT_EQ(request_with(R"(,"reasoning_effort":"high")").thinking, true);
  EXPECT_EQ(request_with(R"(,"chat_template_kwargs":{"enable_thinking":false})").thinking, false);
  EXPECT_EQ(request_with("").thinking, std::nullopt);
  EXPECT_EQ(error_of(decode_with(R"(,"chat_template_kwargs":{"x":1})")), "chat_template_kwargs.x");
  const auto effort = request_with(R"(,"chat_template_kwargs":{"reasoning_effort":"low"})");
  EXPECT_EQ(effort.reasoning_effort, "low");
  EXPECT_EQ(effort.thinking, std::nullopt);
  EXPECT_EQ(error_of(decode_with(R"(,"chat_template_kwargs":{"reasoning_effort":"A"})")),
            "chat_template_kwargs.reasoning_effort");
}

TEST(OpenAiChat, cache_controls_keep_the_prompts_pages) {
  EXPECT_EQ(request_with(R"(,"cache_control":{"type":"ephemeral"})").prompt_priority_ms, 300'000);
  EXPECT_EQ(request_with(R"(,"attention":"window:512")").attention, "window:512");
  EXPECT_EQ(request_with(R"(,"prompt_cache_retention":"24h")").prompt_priority_ms, 86'400'000);
  const auto call = decode_with(
      "", R"([{"type":"text","text":"x","cache_control":{"type":"ephemeral","ttl":"1h"}}])");
  ASSERT_TRUE(call.ok());
  EXPECT_EQ(call->request.prompt_priority_ms, 3'600'000);
  EXPECT_EQ(call->request.prompt_priority, 75);
  for (const char* ttl : {"", "h", "1", "1w", "-1h", "0s", "99999999999999999999s"}) {
    const auto wrong = decode_with(R"(,"cache_control":{"ttl":")" + std::string(ttl) + "\"}");
    EXPECT_EQ(error_of(wrong), "cache_control.ttl") << ttl;
  }
}

TEST(OpenAiChat, tools_go_to_the_template_and_choices_decide) {
  const std::string tools =
      R"(,"tools":[{"type":"function","function":{"name":"f","strict":true,"parameters":{}}}])";
  const auto call = decode_with(tools);
  ASSERT_TRUE(call.ok());
  EXPECT_TRUE(call->tools);
  EXPECT_EQ(call->request.tools,
            R"([{"type":"function","function":{"name":"f","parameters":{}}}])");
  const auto none = decode_with(tools + R"(,"tool_choice":"none")");
  ASSERT_TRUE(none.ok());
  EXPECT_FALSE(none->tools);
  EXPECT_EQ(none->request.tools, "");
  for (const char* choice : {R"("required")", R"({"type":"function","function":{"name":"f"}})"}) {
    const auto forced = decode_with(tools + R"(,"tool_choice":)" + choice);
    ASSERT_TRUE(forced.ok());
    EXPECT_TRUE(forced->tools);
  }
  EXPECT_EQ(error_of(decode_with(tools + R"(,"tool_choice":"sometimes")")), "tool_choice");
}

// Tools that Codex sends, and tools that providers run themselves.
TEST(OpenAiChat, tools_that_are_no_functions_are_left_out_and_named) {
  const std::string function = R"({"type":"function","function":{"name":"f"}})";
  const std::string others =
      R"({"type":"web_search"},{"type":"custom","custom":{"name":"patch"}},{"type":"local_shell"})";
  const auto mixed = decode_with(R"(,"tools":[)" + others + "," + function + "]");
  ASSERT_TRUE(mixed.ok()) << mixed.error().to_string();
  EXPECT_TRUE(mixed->tools);
  EXPECT_EQ(mixed->request.tools, R"([{"type":"function","function":{"name":"f"}}])");
  EXPECT_EQ(mixed->ignored_tools, parsed(R"([{"type":"web_search"},)"
                                         R"({"type":"custom","name":"patch"},)"
                                         R"({"type":"local_shell"}])"));
  EXPECT_EQ(ignored_tools_header(mixed->ignored_tools), "web_search, custom patch, local_shell");
  const OrderedJson reply = parsed(reply_of(*mixed, {answer_of("Hi")}));
  EXPECT_EQ(reply["ignored_tools"], mixed->ignored_tools);
  ChatStream stream({"id", "demo", "fp", 7}, *mixed);
  EXPECT_EQ(events_of(stream.begin())[0]["ignored_tools"], mixed->ignored_tools);

  const auto none_left = decode_with(R"(,"tools":[)" + others + R"(],"tool_choice":"auto")");
  ASSERT_TRUE(none_left.ok()) << none_left.error().to_string();
  EXPECT_FALSE(none_left->tools);
  EXPECT_EQ(none_left->request.tools, "");
  EXPECT_EQ(none_left->ignored_tools.size(), 3u);
  // Without such tools, the reply does not mention any.
  const auto plain = decode_with(R"(,"tools":[)" + function + "]");
  ASSERT_TRUE(plain.ok());
  EXPECT_FALSE(parsed(reply_of(*plain, {answer_of("Hi")})).contains("ignored_tools"));
}

TEST(OpenAiChat, a_choice_of_a_tool_that_was_left_out_is_an_error) {
  const std::string function = R"({"type":"function","function":{"name":"f"}})";
  const std::string other = R"({"type":"web_search"})";
  const auto with = [](const std::string& tools, const std::string& choice) {
    return decode_with(R"(,"tools":[)" + tools + R"(],"tool_choice":)" + choice);
  };
  EXPECT_EQ(error_of(with(other, R"("required")")), "tool_choice");
  EXPECT_EQ(error_of(with(other + "," + function, R"({"type":"web_search"})")), "tool_choice");
  EXPECT_EQ(error_of(with(other, R"({"type":"function","function":{"name":"f"}})")), "tool_choice");
  EXPECT_EQ(error_of(with(other + "," + function, R"("required")")), "none");
  EXPECT_EQ(error_of(with(R"({"name":"f"})", R"("auto")")), "tools[0].type");
  EXPECT_EQ(error_of(with(R"({"type":7})", R"("auto")")), "tools[0].type");
  EXPECT_EQ(error_of(with(R"({"type":"function"})", R"("auto")")), "tools[0].function");
}

TEST(OpenAiChat, the_header_of_ignored_tools_is_plain_and_short) {
  const std::string evil = R"([{"type":"a\r\nX-Evil: 1","name":"\u001b[31m\u00e9"}])";
  const std::string header = ignored_tools_header(parsed(evil));
  EXPECT_EQ(header, "a__X-Evil__1 __31m__");
  OrderedJson many = OrderedJson::array();
  for (int i = 0; i < 1000; ++i) many.push_back({{"type", std::string(100, 'x')}});
  EXPECT_LT(ignored_tools_header(many).size(), 1200u);
  const auto call = decode_with(R"(,"tools":[{"type":")" + std::string(5000, 'x') + R"("}])");
  ASSERT_TRUE(call.ok());
  EXPECT_LT(call->ignored_tools.dump().size(), 200u);
}

TEST(OpenAiChat, an_answer_goes_on_with_a_last_message_of_the_assistants) {
  const std::string user = R"({"role":"user","content":"Hi"})";
  const auto with = [&](const std::string& last, const std::string& more = "") {
    return decode_chat(R"({"messages":[)" + user + "," + last + "]" + more + "}");
  };
  const std::string begun = R"({"role":"assistant","content":"The answer is")";
  for (const auto& call :
       {with(begun + "}"), with(begun + R"(,"prefix":true})"),
        with(begun + "}", R"(,"continue_final_message":true,"add_generation_prompt":false)"),
        with(begun + "}", R"(,"add_generation_prompt":false)")}) {
    ASSERT_TRUE(call.ok()) << call.error().to_string();
    EXPECT_EQ(call->request.continue_final_message, true);
    EXPECT_EQ(call->request.messages.size(), 2u);
    EXPECT_EQ(call->begun, "");
  }
  const auto echoed = with(begun + "}", R"(,"echo":true)");
  ASSERT_TRUE(echoed.ok());
  EXPECT_EQ(parsed(reply_of(*echoed, {answer_of(" 4.")}))["choices"][0]["message"]["content"],
            "The answer is 4.");
  // A last message that says nothing is left out.
  const auto empty = with(R"({"role":"assistant","content":""})");
  ASSERT_TRUE(empty.ok()) << empty.error().to_string();
  EXPECT_EQ(empty->request.messages.size(), 1u);
  EXPECT_EQ(empty->request.continue_final_message, std::nullopt);

  EXPECT_EQ(error_of(with(begun + R"(,"prefix":false})")), "messages[1].role");
  EXPECT_EQ(error_of(with(begun + "}", R"(,"continue_final_message":false)")), "messages[1].role");
  EXPECT_EQ(error_of(with(begun + "}", R"(,"add_generation_prompt":true)")), "messages[1].role");
  EXPECT_EQ(error_of(with(begun + "}", R"(,"response_format":{"type":"json_object"})")),
            "response_format");
  EXPECT_EQ(error_of(with(R"({"role":"assistant","tool_calls":[{"id":"c","type":"function",)"
                          R"("function":{"name":"f"}}]})")),
            "messages[1].tool_calls");
  EXPECT_EQ(error_of(with(begun + R"(,"prefix":true},)" + user)), "messages[1].prefix");
  EXPECT_EQ(error_of(decode_with(R"(,"continue_final_message":true)")), "continue_final_message");
  EXPECT_EQ(error_of(decode_with(R"(,"add_generation_prompt":false)")), "add_generation_prompt");
  EXPECT_EQ(error_of(decode_with(R"(,"add_generation_prompt":true)")), "none");
}

TEST(OpenAiChat, an_answer_says_what_was_used) {
  const auto call = decode_with("");
  ASSERT_TRUE(call.ok());
  wire::Final final = answer_of("Hello");
  final.reasoning = "hm";
  EXPECT_FALSE(parsed(reply_of(*call, {final})).contains("attention"));
  final.attention = "dense";
  const OrderedJson reply = parsed(reply_of(*call, {final}));
  EXPECT_EQ(reply["attention"], "dense");
  EXPECT_FALSE(reply["timings"].contains("selected_n"));
  final.usage.selected_tokens = 7;
  EXPECT_EQ(parsed(reply_of(*call, {final}))["timings"]["selected_n"], 7);
  EXPECT_FALSE(reply["timings"].contains("draft_n"));
  final.usage.drafted_tokens = 9;
  const OrderedJson drafted = parsed(reply_of(*call, {final}));
  EXPECT_EQ(drafted["timings"]["draft_n"], 9);
  EXPECT_EQ(drafted["timings"]["draft_n_accepted"], 0);
  EXPECT_EQ(reply["choices"][0]["message"]["content"], "Hello");
  EXPECT_EQ(reply["choices"][0]["message"]["reasoning_content"], "hm");
  EXPECT_EQ(reply["choices"][0]["message"]["reasoning"], "hm");
  EXPECT_EQ(reply["usage"]["prompt_tokens_details"]["cached_tokens"], 11);
  EXPECT_EQ(reply["usage"]["completion_tokens_details"]["reasoning_tokens"], 2);
  EXPECT_EQ(reply["usage"]["total_tokens"], 17);
}

TEST(OpenAiChat, logprobs_are_of_the_answer_alone) {
  const auto call = decode_with(R"(,"logprobs":true,"top_logprobs":1)");
  ASSERT_TRUE(call.ok());
  wire::Final final = answer_of("Hi");
  final.token_ids = {1, 2, 3, 4};  // two of thoughts, "Hi", the end
  final.think_spans = {{0, 2, true}};
  final.logprobs = {-1, -2, -3, -4};
  final.top_token_ids = {1, 2, 3, 4};
  final.top_logprobs = {-1, -2, -3, -4};
  const std::vector<TokenText> texts = {{"Hi", "Hi"}, {"", ""}, {"Hi", "Hi"}, {"<end>", "<end>"}};
  const OrderedJson reply = parsed(reply_of(*call, {final, texts}));
  const OrderedJson& content = reply["choices"][0]["logprobs"]["content"];
  ASSERT_EQ(content.size(), 1u);
  EXPECT_EQ(content[0]["token"], "Hi");
  EXPECT_EQ(content[0]["logprob"], -3);
  EXPECT_EQ(content[0]["top_logprobs"][0]["token"], "Hi");
}

TEST(OpenAiChat, a_stream_begins_with_the_role_and_ends_with_usage_and_done) {
  const auto call = decode_with(R"(,"stream":true,"stream_options":{"include_usage":true})");
  ASSERT_TRUE(call.ok());
  ChatStream stream({"id", "demo", "fp", 7}, *call);
  std::string text = stream.begin();
  for (const wire::Delta& delta :
       {wire::Delta{"hm", true}, wire::Delta{"Hel", false}, wire::Delta{"lo", false}}) {
    text += stream.delta(0, delta);
  }
  text += stream.end(0, {answer_of("Hello")});
  const auto events = events_of(text + stream.done());
  ASSERT_EQ(events.size(), 7u);
  EXPECT_EQ(events[0]["choices"][0]["delta"]["role"], "assistant");
  EXPECT_EQ(events[1]["choices"][0]["delta"]["reasoning_content"], "hm");
  EXPECT_EQ(events[1]["choices"][0]["delta"]["reasoning"], "hm");
  EXPECT_EQ(events[3]["choices"][0]["delta"]["content"], "lo");
  EXPECT_EQ(events[4]["choices"][0]["finish_reason"], "stop");
  EXPECT_TRUE(events[4]["usage"].is_null());
  EXPECT_TRUE(events[5]["choices"].empty());
  EXPECT_EQ(events[5]["usage"]["prompt_tokens"], 12);
  EXPECT_EQ(events[6], "done");
}

TEST(OpenAiChat, a_stream_without_usage_has_no_empty_choices) {
  const auto call = decode_with(R"(,"stream":true)");
  ASSERT_TRUE(call.ok());
  ChatStream stream({"id", "demo", "fp", 7}, *call);
  const std::string text = stream.begin() + stream.end(0, {answer_of("")}) + stream.done();
  for (const OrderedJson& event : events_of(text)) {
    if (event == "done") continue;
    EXPECT_EQ(event["choices"].size(), 1u);
    EXPECT_FALSE(event.contains("usage"));
  }
}

TEST(OpenAiChat, calls_are_streamed_with_index_id_and_name_first) {
  const auto call =
      decode_with(R"(,"stream":true,"tools":[{"type":"function","function":{"name":"f"}}])");
  ASSERT_TRUE(call.ok());
  ChatStream stream({"id", "demo", "fp", 7}, *call);
  std::string text;
  const std::string answer =
      "Well.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"x\": 1}}\n"
      "</tool_call>\n<tool_call>{\"name\":\"g\"}</tool_call>";
  for (const char c : answer) text += stream.delta(0, {std::string(1, c), false});
  text += stream.end(0, {answer_of(answer)}) + stream.done();
  std::string content;
  std::vector<OrderedJson> calls;
  OrderedJson finish;
  for (const OrderedJson& event : events_of(text)) {
    if (event == "done") continue;
    const OrderedJson& choice = event["choices"][0];
    content += choice["delta"].value("content", "");
    if (choice["delta"].contains("tool_calls")) calls.push_back(choice["delta"]["tool_calls"][0]);
    finish = choice["finish_reason"];
  }
  EXPECT_EQ(content, "Well.");
  EXPECT_EQ(finish, "tool_calls");
  ASSERT_EQ(calls.size(), 4u);
  EXPECT_EQ(calls[0]["index"], 0);
  EXPECT_EQ(calls[0]["function"]["name"], "f");
  EXPECT_EQ(calls[0]["function"]["arguments"], "");
  EXPECT_FALSE(calls[0]["id"].get<std::string>().empty());
  EXPECT_EQ(calls[1]["function"]["arguments"], R"({"x":1})");
  EXPECT_EQ(calls[2]["index"], 1);
  EXPECT_EQ(calls[3]["function"]["arguments"], "{}");
}

// The text of the parts of an answer, which must have no calls.
// Whatever comes in, a decoder gives a request that keeps the protocol's rules, or an error.
TEST(OpenAiChat, damaged_requests_are_decoded_or_refused) {
  Random random(testing::test_seed());
  const std::string chat =
      R"({"model":"demo","messages":[{"role":"user","content":[{"type":"text","text":"a"}]}],
      "tools":[{"type":"function","function":{"name":"f"}}],"stop":["x"],"logit_bias":{"1":2},
      "stream_options":{"include_usage":true},"temperature":1e0,"seed":5})";
  const std::string response =
      R"({"input":[{"role":"user","content":"a"},{"type":"function_call","call_id":"c","name":"f",
      "arguments":"{}"},{"type":"function_call_output","call_id":"c","output":"x"}],
      "metadata":{"a":"b"},"text":{"format":{"type":"text"}},"reasoning":{"effort":"low"}})";
  const int rounds = testing::long_or(20'000, 4'000);
  for (int round = 0; round < rounds; ++round) {
    std::string text = round % 2 == 0 ? chat : response;
    for (uint64_t n = 1 + random.below(3); n > 0; --n) {
      const size_t at = random.below(text.size());
      switch (random.below(4)) {
        case 0: text.erase(at, 1 + random.below(8)); break;
        case 1: text[at] = static_cast<char>(random.below(256)); break;
        case 2: text.insert(at, std::string("{}[]\",:0-tn").substr(random.below(11), 1)); break;
        default: text.insert(at, text.substr(random.below(text.size()), random.below(12)));
      }
    }
    const auto as_chat = decode_chat(text);
    if (!as_chat.ok()) {
      EXPECT_FALSE(as_chat.error().message.empty());
    }
    auto as_response = decode_response(text);
    if (as_response.ok()) (void)fill_in(*as_response, {});
    (void)decode_completion(text);
  }
}

}  // namespace
}  // namespace cascade::openai
