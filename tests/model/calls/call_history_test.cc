// Calls of past answers.
#include "model/calls/call_history.h"

#include <gtest/gtest.h>

#include "base/call_id.h"
#include "tests/model/calls/calls_testing.h"

namespace cascade {
namespace {

using testing::kGetCall;

OrderedJson call_of(const char* id, const char* function) {
  OrderedJson call = {{"id", id}, {"type", "function"}};
  call["function"] = {{"name", function}, {"arguments", "{}"}};
  return call;
}

TEST(CallHistory, calls_in_a_content_become_calls_of_the_message) {
  OrderedJson message = {{"role", "assistant"},
                         {"content", "I look.\n\n" + kGetCall + "\n" + kGetCall}};
  calls_from_content(message);
  EXPECT_EQ(message["content"], "I look.");
  ASSERT_EQ(message["tool_calls"].size(), 2u);
  EXPECT_EQ(message["tool_calls"][1]["function"],
            (OrderedJson{{"name", "get"}, {"arguments", R"({"city":"Paris","days":3})"}}));
  const OrderedJson before = message;
  calls_from_content(message);
  EXPECT_EQ(message, before);
  for (const char* content : {"", "a <tool_call> b", "x"}) {
    OrderedJson plain = {{"role", "assistant"}, {"content", content}};
    const OrderedJson same = plain;
    calls_from_content(plain);
    EXPECT_EQ(plain, same);
  }
}

TEST(CallHistory, a_result_gets_the_id_and_the_name_of_its_call) {
  OrderedJson messages = OrderedJson::array(
      {{{"role", "assistant"}, {"tool_calls", {call_of("1", "f"), call_of("2", "g")}}},
       {{"role", "tool"}, {"tool_call_id", "2"}, {"content", "of g"}},
       {{"role", "tool"}, {"content", "of f"}},
       {{"role", "tool"}, {"content", "of none"}},
       {{"role", "tool"}, {"tool_call_id", "7"}, {"content", "of none"}},
       {{"role", "assistant"}, {"tool_calls", {call_of("3", "h")}}},
       {{"role", "tool"}, {"name", "own"}, {"content", "of h"}}});
  name_results(messages);
  const auto shown = [&](size_t i) {
    return text_member(messages[i], "tool_call_id") + " " + text_member(messages[i], "name");
  };
  EXPECT_EQ(shown(1), "2 g");
  EXPECT_EQ(shown(2), "1 f");
  EXPECT_EQ(shown(3), " ");
  EXPECT_EQ(shown(4), "7 ");
  EXPECT_EQ(shown(6), "3 own");
}

TEST(CallHistory, a_result_with_an_id_that_no_call_has_belongs_to_the_first_open_call) {
  OrderedJson messages = OrderedJson::array(
      {{{"role", "assistant"}, {"tool_calls", {call_of("", "f"), call_of("", "g")}}},
       {{"role", "tool"}, {"tool_call_id", "x"}, {"content", "of f"}},
       {{"role", "tool"}, {"content", "of g"}}});
  name_results(messages);
  EXPECT_EQ(text_member(messages[1], "name"), "f");
  EXPECT_EQ(text_member(messages[2], "name"), "g");
  const OrderedJson& calls = messages[0]["tool_calls"];
  EXPECT_EQ(messages[1]["tool_call_id"], calls[0]["id"]);
  EXPECT_NE(calls[0]["id"], calls[1]["id"]);
}

TEST(CallHistory, ids_that_are_made_up_are_different) {
  OrderedJson messages = OrderedJson::array(
      {{{"role", "assistant"}, {"tool_calls", {call_of("", "f"), call_of("", "g")}}},
       {{"role", "tool"}, {"content", "of f"}},
       {{"role", "assistant"}, {"tool_calls", OrderedJson::array({call_of("", "h")})}},
       {{"role", "tool"}, {"content", "of g"}},
       {{"role", "tool"}, {"content", "of h"}}});
  name_results(messages);
  EXPECT_EQ(text_member(messages[3], "name"), "g");
  EXPECT_EQ(text_member(messages[4], "name"), "h");
}

TEST(CallHistory, the_ids_of_calls_begin_as_the_message_says) {
  OrderedJson message = {{"role", "assistant"}, {"content", kGetCall}, {kCallIdPrefix, "call_7_"}};
  calls_from_content(message);
  EXPECT_FALSE(message.contains(kCallIdPrefix));
  EXPECT_EQ(message["tool_calls"][0]["id"], call_id_of("call_7_0"));
}

TEST(CallHistory, odd_calls_have_no_results) {
  for (const char* calls : {"null", "[]", "[7]", "{}"}) {
    OrderedJson messages = OrderedJson::array(
        {{{"role", "assistant"}, {"tool_calls", *parse_ordered_json(calls, "calls")}},
         {{"role", "tool"}, {"tool_call_id", "1"}}});
    const OrderedJson before = messages;
    name_results(messages);
    EXPECT_EQ(messages, before) << calls;
  }
}

}  // namespace
}  // namespace cascade
