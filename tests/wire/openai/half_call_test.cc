// Calls that were cut in the middle, and damaged calls.
#include <gtest/gtest.h>

#include "base/random.h"
#include "tests/seed.h"
#include "wire/openai/chat.h"
#include "wire/openai/response_stream.h"
#include "wire/openai/responses.h"

namespace cascade::openai {
namespace {

const std::string kFirst =
    R"(<tool_call>
{"name": "write", "arguments": {"path": "a.txt", "text": "x </tool_call> y \" z"}}
</tool_call>)";
const std::string kSecond =
    R"(<tool_call>{"name":"read","arguments":{"n":[1,2,{"a":null}]}}</tool_call>)";

struct Parsed {
  std::string text;
  std::vector<ToolCall> calls;
  bool half_call = false;
};

void add(const std::vector<AnswerPart>& parts, Parsed& parsed) {
  for (const AnswerPart& part : parts) {
    parsed.text += part.text;
    parsed.calls.insert(parsed.calls.end(), part.calls.begin(), part.calls.end());
  }
}

// Parses the answer as a whole, or in random pieces if `random` is given.
Parsed parse(const std::string& answer, bool cut, Random* random = nullptr) {
  ToolCallParser parser(/*parallel=*/true);
  Parsed parsed;
  for (size_t at = 0; at < answer.size();) {
    const size_t n = random == nullptr ? answer.size() : 1 + random->below(answer.size() - at);
    add(parser.push(std::string_view(answer).substr(at, n)), parsed);
    at += n;
  }
  add(parser.finish(cut), parsed);
  parsed.half_call = parser.left_out_call();
  EXPECT_EQ(parsed.half_call, ends_in_half_call(answer, cut)) << answer;
  return parsed;
}

// Wherever an answer is cut, its complete parts are there, and no part of a call is text.
TEST(OpenAiHalfCall, an_answer_that_is_cut_anywhere_has_whole_calls_and_text_alone) {
  Random random(testing::test_seed());
  const std::string before = "I look.\n\n", answer = before + kFirst + "\n" + kSecond;
  const size_t first_end = before.size() + kFirst.size();
  // With its last brace a call is complete, even without the mark that closes it.
  const size_t first_whole = before.size() + kFirst.find("}}") + 2;
  const size_t second_whole = first_end + 1 + kSecond.rfind("}}") + 2;
  for (size_t size = 0; size <= answer.size(); ++size) {
    const Parsed parsed = parse(answer.substr(0, size), /*cut=*/true, &random);
    SCOPED_TRACE(answer.substr(0, size));
    EXPECT_EQ(parsed.text, size <= before.size() ? answer.substr(0, size) : "I look.");
    const size_t calls = size >= second_whole ? 2 : size >= first_whole ? 1 : 0;
    ASSERT_EQ(parsed.calls.size(), calls);
    if (calls > 0) {
      EXPECT_EQ(parsed.calls[0].name, "write");
      EXPECT_EQ(parsed.calls[0].arguments, R"({"path":"a.txt","text":"x </tool_call> y \" z"})");
    }
    if (calls > 1) {
      EXPECT_EQ(parsed.calls[1].arguments, R"({"n":[1,2,{"a":null}]})");
    }
    const bool in_first = size > before.size() && size < first_whole;
    const bool in_second = size > first_end + 1 && size < second_whole;
    EXPECT_EQ(parsed.half_call, in_first || in_second);
  }
}

TEST(OpenAiHalfCall, an_answer_of_nothing_but_a_call_is_empty_however_early_it_is_cut) {
  for (size_t size = 1; size < kSecond.size() - 12; ++size) {
    const Parsed parsed = parse(kSecond.substr(0, size), /*cut=*/true);
    EXPECT_EQ(parsed.text, "") << size;
    EXPECT_TRUE(parsed.calls.empty());
    EXPECT_TRUE(parsed.half_call);
  }
}

// A stop string that the client gave, or the model itself, ended the answer within the call.
TEST(OpenAiHalfCall, a_call_that_something_else_ended_is_no_text_either) {
  const Parsed parsed = parse("Well.\n<tool_call>\n{\"name\": \"f\", \"argu", /*cut=*/false);
  EXPECT_EQ(parsed.text, "Well.");
  EXPECT_TRUE(parsed.half_call);
  const Parsed whole = parse("<tool_call>\n{\"name\": \"f\", \"arguments\": {}}", /*cut=*/false);
  ASSERT_EQ(whole.calls.size(), 1u);
  EXPECT_FALSE(whole.half_call);
}

TEST(OpenAiHalfCall, text_that_looks_like_a_mark_stays) {
  for (const std::string text :
       {"a < b", "see <to", "a <tool_call> is a mark", "1 <t", "x <tool"}) {
    EXPECT_EQ(parse(text, /*cut=*/false).text, text);
  }
  EXPECT_EQ(parse("see <to", /*cut=*/true).text, "see <to");
  EXPECT_EQ(parse("The mark <tool_call> opens a", /*cut=*/true).text,
            "The mark <tool_call> opens a");
  const Parsed both = parse("The mark <tool_call> opens it: <tool_call>{\"na", /*cut=*/true);
  EXPECT_EQ(both.text, "The mark <tool_call> opens it:");
  EXPECT_TRUE(both.half_call);
}

TEST(OpenAiHalfCall, of_a_damaged_call_the_arguments_are_what_the_model_wrote) {
  const auto arguments_of = [](const std::string& body) {
    const Parsed parsed = parse("<tool_call>" + body + "</tool_call>", /*cut=*/false);
    EXPECT_EQ(parsed.text, "") << body;
    EXPECT_EQ(parsed.calls.size(), 1u) << body;
    return parsed.calls.empty() ? "" : parsed.calls[0].name + ": " + parsed.calls[0].arguments;
  };
  EXPECT_EQ(arguments_of(R"({"name": "f", "arguments": {"x": 1})"), R"(f: {"x": 1})");
  EXPECT_EQ(arguments_of(R"({"name": "f", "arguments": {"x": 1}}})"), R"(f: {"x": 1}})");
  EXPECT_EQ(arguments_of(R"({"name": "f", "arguments": {"x": 1,}})"), R"(f: {"x": 1,})");
  EXPECT_EQ(arguments_of(R"({"name": "f\"", "arguments": {"x": "a)"), R"(f": {"x": "a)");
  EXPECT_EQ(arguments_of("\n{\"name\" : \"f\" , \"arguments\" : {x: 1}}\n"), "f: {x: 1}");
  // The model began the call anew.
  EXPECT_EQ(arguments_of(R"({"name": "f", "arg<tool_call>{"name": "g", "arguments": {"y":2}})"),
            R"(g: {"y":2})");
  // These bodies name nothing that could be called.
  for (const std::string body :
       {"{}", R"({"name": 3})", R"({"name": "f)", R"(5" wide)", R"({"n": "f"})"}) {
    const std::string answer = "<tool_call>" + body + "</tool_call>";
    EXPECT_EQ(parse(answer, /*cut=*/false).text, answer);
  }
}

ChatCall chat_with_tools() {
  auto call = decode_chat(R"({"messages":[{"role":"user","content":"Hi"}],
      "tools":[{"type":"function","function":{"name":"f"}}]})");
  EXPECT_TRUE(call.ok());
  return *std::move(call);
}

wire::Final final_of(const std::string& text, const std::string& finish_reason) {
  wire::Final final;
  final.text = text;
  final.finish_reason = finish_reason;
  return final;
}

std::vector<Answer> answers_of(const wire::Final& final) {
  return {{final}};
}

TEST(OpenAiHalfCall, a_chat_says_that_it_was_cut) {
  const ChatCall call = chat_with_tools();
  for (const std::string reason : {"length", "stop"}) {
    const wire::Final final = final_of("Well. " + kSecond + "<tool_call>{\"name\": \"f\"", reason);
    const auto reply =
        parse_ordered_json(encode_chat({"id", "demo", "fp", 7}, call, answers_of(final)), "x");
    ASSERT_TRUE(reply.ok());
    const OrderedJson& choice = (*reply)["choices"][0];
    EXPECT_EQ(choice["message"]["content"], "Well.");
    EXPECT_EQ(choice["message"]["tool_calls"].size(), 1u);
    EXPECT_EQ(choice["finish_reason"], "length");
    ChatStream stream({"id", "demo", "fp", 7}, call);
    std::string events = stream.begin();
    for (const char c : final.text) events += stream.delta(0, {std::string(1, c), false});
    events += stream.end(0, {final}) + stream.done();
    EXPECT_EQ(events.find("<tool"), events.npos);
    EXPECT_NE(events.find(R"("finish_reason":"length")"), events.npos);
    EXPECT_EQ(events.find(R"("finish_reason":"tool_calls")"), events.npos);
  }
}

TEST(OpenAiHalfCall, thoughts_that_were_cut_are_thoughts) {
  wire::Final final = final_of("", "length");
  final.reasoning = "I might call <tool_call>{\"na";
  const auto reply = parse_ordered_json(
      encode_chat({"id", "demo", "fp", 7}, chat_with_tools(), answers_of(final)), "reply");
  ASSERT_TRUE(reply.ok());
  const OrderedJson& choice = (*reply)["choices"][0];
  EXPECT_EQ(choice["message"]["content"], "");
  EXPECT_EQ(choice["message"]["reasoning_content"], final.reasoning);
  EXPECT_EQ(choice["finish_reason"], "length");
}

OrderedJson last_response(const std::string& events) {
  const size_t data = events.rfind("\ndata: ");
  const auto event = parse_ordered_json(events.substr(data + 7), "event");
  EXPECT_TRUE(event.ok()) << events;
  return event.ok() ? event->at("response") : OrderedJson();
}

TEST(OpenAiHalfCall, a_response_is_incomplete_and_has_what_was_complete) {
  auto call =
      decode_response(R"({"input":"Hi","tools":[{"type":"function","name":"f","parameters":{}}]})");
  ASSERT_TRUE(call.ok());
  ASSERT_TRUE(fill_in(*call, {}).ok());
  struct Case {
    std::string text, reasoning, reason;
    std::vector<std::string> items;  // type and status of each item
  };
  const Case cases[] = {
      {"Well. <tool_call>{\"name", "hm", "length", {"reasoning completed", "message completed"}},
      {kSecond + "\n<tool_call>", "", "length", {"function_call completed"}},
      {"Well. <tool_call>{\"name", "", "stop", {"message completed"}},
      {"Well, I th", "hm", "length", {"reasoning completed", "message incomplete"}},
      {"", "hm", "length", {"reasoning incomplete"}},
      {"<tool_call>", "", "length", {}},
      {kSecond, "", "length", {"function_call completed"}}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.text);
    wire::Final final = final_of(one.text, one.reason);
    final.reasoning = one.reasoning;
    const auto whole =
        parse_ordered_json(encode_response({"resp_1", "demo", "fp", 7}, *call, {final}), "reply");
    ASSERT_TRUE(whole.ok());
    std::vector<std::string> items;
    for (const OrderedJson& item : (*whole)["output"]) {
      items.push_back(item["type"].get<std::string>() + " " + item["status"].get<std::string>());
    }
    EXPECT_EQ(items, one.items);
    EXPECT_EQ((*whole)["status"], "incomplete");
    EXPECT_EQ((*whole)["incomplete_details"]["reason"], "max_output_tokens");
    ResponseStream stream({"resp_1", "demo", "fp", 7}, *call);
    std::string events = stream.begin();
    if (!one.reasoning.empty()) events += stream.delta(0, {one.reasoning, true});
    for (const char c : one.text) events += stream.delta(0, {std::string(1, c), false});
    events += stream.end(0, {final}) + stream.done();
    EXPECT_EQ(events.find("<tool"), events.npos);
    EXPECT_NE(events.find("event: response.incomplete"), events.npos);
    EXPECT_EQ(last_response(events)["output"], (*whole)["output"]);
  }
}

TEST(OpenAiHalfCall, a_stored_response_is_as_it_was) {
  auto call =
      decode_response(R"({"input":"Hi","tools":[{"type":"function","name":"f","parameters":{}}]})");
  ASSERT_TRUE(call.ok());
  ASSERT_TRUE(fill_in(*call, {}).ok());
  Chunk output;
  output.id = "output_1";
  output.text = "Well. <tool_call>{\"name";
  output.generation.finish_reason = "length";
  output.client_data = call->request.client_data;
  const auto again =
      parse_ordered_json(encode_stored({"resp_1", "demo", "fp", 7}, output, ""), "x");
  ASSERT_TRUE(again.ok());
  EXPECT_EQ((*again)["status"], "incomplete");
  ASSERT_EQ((*again)["output"].size(), 1u);
  EXPECT_EQ((*again)["output"][0]["content"][0]["text"], "Well.");
}

}  // namespace
}  // namespace cascade::openai
