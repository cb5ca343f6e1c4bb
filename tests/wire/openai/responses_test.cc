// Responses: items in, items and events out, and what is kept in between.
#include "wire/openai/responses.h"

#include <gtest/gtest.h>

#include "tests/wire/openai/reply_json.h"
#include "wire/openai/response_stream.h"
#include "wire/request_rules.h"

namespace cascade::openai {
namespace {

using testing::parsed;

ResponseCall call_of(const std::string& body) {
  auto call = decode_response(body);
  EXPECT_TRUE(call.ok()) << (call.ok() ? "" : call.error().to_string());
  return call.ok() ? *call : ResponseCall();
}

const ReplyContext kResponseContext = {"resp_0123", "demo", "fp", 7};

TEST(OpenAiResponses, items_become_messages_in_order) {
  ResponseCall call = call_of(R"({"instructions":"Be brief.","input":[
      {"role":"user","content":[{"type":"input_text","text":"Weather?"}]},
      {"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"hm"}]},
      {"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},
      {"type":"function_call","call_id":"c1","name":"f","arguments":"{}"},
      {"type":"function_call","call_id":"c2","name":"g","arguments":"{}"},
      {"type":"function_call_output","call_id":"c1","output":"sunny"},
      {"type":"function_call_output","call_id":"c2",
       "output":[{"type":"input_text","text":"3"}]}]})");
  ASSERT_TRUE(fill_in(call, {}).ok());
  const auto& messages = call.request.messages;
  ASSERT_EQ(messages.size(), 5u);
  EXPECT_EQ(messages[0].role, "system");
  EXPECT_EQ(messages[1].content, "Weather?");
  EXPECT_EQ(messages[2].content, "I look.");
  EXPECT_EQ(messages[2].reasoning, "hm");
  EXPECT_EQ(parsed(messages[2].tool_calls).size(), 2u);
  EXPECT_EQ(messages[3].content, "sunny");
  EXPECT_EQ(messages[4].tool_call_id, "c2");
}

TEST(OpenAiResponses, what_is_kept_gives_the_turn_back) {
  ResponseCall call = call_of(
      R"({"input":"Hi","instructions":"secret","metadata":{"a":"b"},
      "previous_response_id":"resp_1"})");
  const PastTurn past = {
      "output_1", OrderedJson::array(), {.role = "assistant", .content = "x", .reasoning = {}}};
  ASSERT_TRUE(fill_in(call, {"output_0", {past}}).ok());
  EXPECT_EQ(call.request.previous_output, "output_0");
  EXPECT_EQ(call.request.parents, std::vector<std::string>{"output_1"});
  EXPECT_TRUE(call.request.retain_output);
  EXPECT_EQ(call.request.client_data.find("secret"), std::string::npos);
  Chunk output;
  output.id = "output_0123";
  output.text = "Hello";
  output.generation.finish_reason = "stop";
  output.client_data = call.request.client_data;
  const StoredResponse stored = stored_response(output);
  EXPECT_EQ(stored.previous_id, "resp_1");
  ASSERT_EQ(stored.items.size(), 1u);
  EXPECT_EQ(stored.items[0]["content"][0]["text"], "Hi");
  const OrderedJson again = parsed(encode_stored(kResponseContext, output, "hm"));
  EXPECT_EQ(again["metadata"]["a"], "b");
  EXPECT_EQ(again["output"][0]["content"][0]["text"], "hm");
  EXPECT_EQ(again["output"][1]["content"][0]["text"], "Hello");
  EXPECT_EQ(again["status"], "completed");
}

TEST(OpenAiResponses, any_output_is_a_response_to_its_question) {
  Chunk output;
  output.id = "output_0123";
  output.query_text = "Hi";
  for (const char* data :
       {"", "{", "[]", R"({"items":3})", R"({"items":[],"echo":3})", R"({"items":[1],"echo":{}})",
        R"({"items":[],"echo":{},"previous":5})", R"({"items":[],"echo":{},"tools":"x"})",
        R"({"items":[{"type":"message","id":"m","role":"user","content":"x"}],"echo":{}})",
        R"({"items":[{"type":"reasoning","id":"r","content":[{"text":1}]}],"echo":{}})",
        R"({"items":[{"type":"function_call","id":"f","call_id":1}],"echo":{}})"}) {
    output.client_data = data;
    const StoredResponse stored = stored_response(output);
    ASSERT_EQ(stored.items.size(), 1u) << data;
    EXPECT_EQ(stored.items[0]["content"][0]["text"], "Hi");
    EXPECT_TRUE(stored.previous_id.empty());
  }
}

// Formerly all earlier calls were parsed and written again for each call, which took minutes.
TEST(OpenAiResponses, a_turn_may_have_many_calls) {
  constexpr size_t kCalls = 20'000;
  OrderedJson items = OrderedJson::array();
  for (size_t i = 0; i < kCalls; ++i) items.push_back(call_item("fc", {"c", "f", "{}"}));
  std::vector<ChatMessage> messages;
  append_items(items, messages);
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(parsed(messages[0].tool_calls).size(), kCalls);
}

TEST(OpenAiResponses, input_that_is_too_large_to_keep_is_refused_unless_it_is_not_kept) {
  const std::string large(wire::kClientDataBytesMax, 'x');
  ResponseCall call = call_of(R"({"input":")" + large + "\"}");
  const Status filled = fill_in(call, {});
  ASSERT_FALSE(filled.ok());
  EXPECT_EQ(filled.error().field, "input");
  call = call_of(R"({"store":false,"input":")" + large + "\"}");
  EXPECT_TRUE(fill_in(call, {}).ok());
  EXPECT_FALSE(call.request.retain_output);
  EXPECT_TRUE(call.request.client_data.empty());
}

TEST(OpenAiResponses, ids_are_those_of_outputs) {
  EXPECT_EQ(response_id_of("output_12"), "resp_12");
  EXPECT_EQ(output_id_of("resp_12"), "output_12");
  EXPECT_EQ(output_id_of("output_12"), "output_12");
}

TEST(OpenAiResponses, a_stream_numbers_its_events_and_repeats_its_items_in_the_end) {
  ResponseCall call = call_of(R"({"input":"x","stream":true,"tools":[
      {"type":"function","name":"f","parameters":{}}]})");
  ASSERT_TRUE(fill_in(call, {}).ok());
  EXPECT_EQ(call.request.tools, R"([{"type":"function","function":{"name":"f","parameters":{}}}])");
  ResponseStream stream(kResponseContext, call);
  stream.accept({0, "output_99"});
  wire::Final final;
  final.finish_reason = "stop";
  final.output_chunk_id = "output_99";
  final.attention = "window:512:16";
  final.reasoning = "hm";
  final.text = "Well.<tool_call>{\"name\":\"f\",\"arguments\":{}}</tool_call>";
  std::string text = stream.begin();
  text += stream.delta(0, {"hm", true});
  text += stream.delta(0, {final.text, false});
  text += stream.end(0, {final}) + stream.done();
  std::vector<OrderedJson> events;
  size_t begin = 0;
  for (size_t end; (end = text.find("\n\n", begin)) != std::string::npos; begin = end + 2) {
    const size_t data = text.find("\ndata: ", begin);
    events.push_back(parsed(text.substr(data + 7, end - data - 7)));
    EXPECT_EQ(text.substr(begin, data - begin),
              "event: " + events.back()["type"].get<std::string>());
    EXPECT_EQ(events.back()["sequence_number"], events.size() - 1);
  }
  EXPECT_EQ(events.front()["response"]["id"], "resp_99");
  EXPECT_EQ(events.back()["type"], "response.completed");
  const OrderedJson whole = parsed(encode_response({"resp_99", "demo", "fp", 7}, call, {final}));
  EXPECT_EQ(events.back()["response"]["output"], whole["output"]);
  EXPECT_EQ(events.back()["response"]["attention"], "window:512:16");
  EXPECT_EQ(whole["attention"], "window:512:16");
  EXPECT_EQ(whole["output"].size(), 3u);
  EXPECT_EQ(whole["output"][2]["name"], "f");
}

// Tools as Codex sends them.
TEST(OpenAiResponses, tools_that_are_no_functions_are_left_out_and_named) {
  ResponseCall call = call_of(R"({"input":"x","store":true,"tool_choice":"auto","tools":[
      {"type":"namespace","name":"mcp__files","description":"d","tools":[
        {"type":"function","name":"read","parameters":{}}]},
      {"type":"function","name":"shell","strict":false,"parameters":{"type":"object"}},
      {"type":"web_search","external_web_access":false},
      {"type":"custom","name":"apply_patch","format":{"type":"grammar","syntax":"lark",
       "definition":"start: x"}}]})");
  const OrderedJson named = parsed(R"([{"type":"namespace","name":"mcp__files"},)"
                                   R"({"type":"web_search"},)"
                                   R"({"type":"custom","name":"apply_patch"}])");
  ASSERT_TRUE(fill_in(call, {}).ok());
  EXPECT_EQ(call.ignored_tools, named);
  EXPECT_EQ(parsed(call.request.tools).size(), 1u);
  wire::Final final;
  final.finish_reason = "stop";
  EXPECT_EQ(parsed(encode_response(kResponseContext, call, {final}))["ignored_tools"], named);
  ResponseStream stream(kResponseContext, call);
  EXPECT_NE(stream.begin().find(R"("ignored_tools":[{"type":"namespace")"), std::string::npos);
  EXPECT_NE(stream.end(0, {final}).find(R"("ignored_tools":[)"), std::string::npos);
  EXPECT_EQ(call.request.client_data.find("mcp__files"), std::string::npos);
}

TEST(OpenAiResponses, the_effort_of_reasoning_reaches_the_request_and_is_repeated) {
  const ResponseCall call = call_of(R"({"input":"x","reasoning":{"effort":"minimal"}})");
  EXPECT_EQ(call.request.reasoning_effort, "minimal");
  EXPECT_EQ(call.request.thinking, true);
  EXPECT_EQ(call.echo["reasoning"]["effort"], "minimal");
  const ResponseCall absent = call_of(R"({"input":"x","reasoning":{"effort":null}})");
  EXPECT_FALSE(absent.request.reasoning_effort || absent.request.thinking);
  const auto wrong = decode_response(R"({"input":"x","reasoning":{"effort":"A lot"}})");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(wrong.error().field, "reasoning.effort");
}

// Fields that Codex, the AI SDK, LangChain and others send by default.
TEST(OpenAiResponses, fields_without_a_meaning_here_are_taken) {
  const auto call = decode_response(R"({"model":"m","instructions":"i","input":[
      {"type":"message","role":"user","content":[{"type":"input_text","text":"x"}]}],
      "tools":[],"tool_choice":"auto","parallel_tool_calls":true,"reasoning":{"effort":"medium",
      "summary":"auto"},"store":false,"stream":true,"include":["reasoning.encrypted_content"],
      "prompt_cache_key":"k","service_tier":"auto","text":{"verbosity":"medium"},
      "truncation":"auto","safety_identifier":"s","user":"u","metadata":{},"max_tool_calls":4,
      "client_metadata":{"a":"b"},"stream_options":{"include_obfuscation":false},
      "previous_response_id":null,"background":false,"temperature":null,"top_logprobs":null})");
  ASSERT_TRUE(call.ok()) << call.error().to_string();
  EXPECT_FALSE(call->request.logprobs);
  const auto other = decode_response(R"({"input":"x","truncation":"middle"})");
  ASSERT_FALSE(other.ok());
  EXPECT_EQ(other.error().field, "truncation");
}

TEST(OpenAiResponses, items_of_earlier_responses_are_found_by_their_ids) {
  Chunk output;
  output.id = "output_0123";
  output.query_text = "Hi";
  output.text = "Hello";
  output.generation.finish_reason = "stop";
  const OrderedJson items = items_of(output, "hm");
  ASSERT_EQ(items.size(), 3u);
  for (const OrderedJson& item : items) {
    EXPECT_EQ(output_id_of_item(item["id"].get<std::string>()), output.id);
  }
  EXPECT_EQ(items[2]["content"][0]["text"], "Hello");
  for (const char* id : {"", "msg", "msg_", "msg_1"}) EXPECT_EQ(output_id_of_item(id), "") << id;
  const ResponseCall call = call_of(R"({"input":[{"type":"item_reference","id":"msg_0123_1"}]})");
  EXPECT_EQ(call.items[0]["id"], "msg_0123_1");
  EXPECT_FALSE(decode_response(R"({"input":[{"type":"item_reference"}]})").ok());
  EXPECT_FALSE(is_item(call.items[0]));
}

TEST(OpenAiResponses, an_answer_that_was_cut_is_incomplete) {
  ResponseCall call = call_of(R"({"input":"x"})");
  wire::Final final;
  final.finish_reason = "length";
  const OrderedJson reply = parsed(encode_response(kResponseContext, call, {final}));
  EXPECT_EQ(reply["status"], "incomplete");
  EXPECT_EQ(reply["incomplete_details"]["reason"], "max_output_tokens");
}

}  // namespace
}  // namespace cascade::openai
