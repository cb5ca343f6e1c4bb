// Messages as the templates of models that write harmony take them.
#include "model/harmony_history.h"

#include <gtest/gtest.h>

namespace cascade {
namespace {

OrderedJson messages_of(std::string_view text) {
  return *parse_ordered_json(text, "messages");
}

OrderedJson call(const std::string& id, const std::string& name, const std::string& arguments) {
  return {
      {"id", id}, {"type", "function"}, {"function", {{"name", name}, {"arguments", arguments}}}};
}

TEST(HarmonyHistory, other_messages_stay_as_they_are) {
  const OrderedJson messages = messages_of(R"([{"role":"system","content":"S"},
      {"role":"user","content":"<tool_call>{\"name\":\"f\"}</tool_call>"},
      {"role":"assistant","content":"A <tool_call> B"},{"role":"tool","content":"T"}])");
  EXPECT_EQ(harmony_messages(messages, true), messages);
}

TEST(HarmonyHistory, thoughts_have_the_templates_name) {
  const OrderedJson got = harmony_messages(
      messages_of(R"([{"role":"assistant","content":"A","reasoning_content":"R"}])"), true);
  EXPECT_EQ(got, messages_of(R"([{"role":"assistant","content":"A","thinking":"R"}])"));
}

TEST(HarmonyHistory, calls_in_a_text_become_calls) {
  const OrderedJson message = {
      {"role", "assistant"},
      {"content",
       "I look.\n<tool_call>\n{\"name\": \"f\", \"arguments\": {\"a\": 1}}\n</tool_call>"}};
  const OrderedJson got = harmony_messages(OrderedJson::array({message}), true);
  const OrderedJson as_text = harmony_messages(OrderedJson::array({message}), /*calls=*/false);
  EXPECT_EQ(as_text, OrderedJson::array({message}));
  ASSERT_EQ(got.size(), 1u);
  EXPECT_EQ(got[0]["content"], "I look.");
  EXPECT_EQ(got[0]["tool_calls"][0]["function"],
            (OrderedJson{{"name", "f"}, {"arguments", R"({"a":1})"}}));
}

TEST(HarmonyHistory, a_text_beside_a_call_and_thoughts_follows_them) {
  OrderedJson message = {{"role", "assistant"}, {"content", "C"}, {"reasoning_content", "R"}};
  message["tool_calls"] = OrderedJson::array({call("1", "f", "{}")});
  const OrderedJson got = harmony_messages(OrderedJson::array({message}), true);
  EXPECT_EQ(got[0]["thinking"], "R\n\nC");
  EXPECT_EQ(got[0]["content"], "");
  message.erase("reasoning_content");
  EXPECT_EQ(harmony_messages(OrderedJson::array({message}), true)[0]["content"], "C");
}

// The roles, calls and results of messages: "a1 t1 a2 t2 u".
std::string outline(const OrderedJson& messages) {
  std::string text;
  for (const OrderedJson& message : messages) {
    if (!text.empty()) text += ' ';
    text += message["role"].get<std::string>().substr(0, 1);
    if (message.contains("tool_calls")) text += message["tool_calls"][0]["id"].get<std::string>();
    if (message.contains("tool_call_id")) text += message["tool_call_id"].get<std::string>();
  }
  return text;
}

TEST(HarmonyHistory, each_of_several_calls_comes_before_its_result) {
  const auto of = [](const std::vector<std::string>& results) {
    OrderedJson message = {{"role", "assistant"}, {"content", "C"}};
    message["tool_calls"] =
        OrderedJson::array({call("1", "f", "{}"), call("2", "g", "{}"), call("3", "h", "{}")});
    OrderedJson messages = OrderedJson::array({message});
    for (const std::string& id : results) {
      messages.push_back({{"role", "tool"}, {"content", "R"}, {"tool_call_id", id}});
    }
    messages.push_back({{"role", "user"}, {"content", "U"}});
    messages.push_back({{"role", "tool"}, {"content", "R"}, {"tool_call_id", "1"}});
    return harmony_messages(messages, /*calls=*/true);
  };
  EXPECT_EQ(outline(of({"1", "2", "3"})), "a1 t1 a2 t2 a3 t3 u t1");
  EXPECT_EQ(outline(of({"3", "2", "1"})), "a1 t1 a2 t2 a3 t3 u t1");
  EXPECT_EQ(outline(of({"2"})), "a1 a2 t2 a3 u t1");
  EXPECT_EQ(outline(of({})), "a1 a2 a3 u t1");
  EXPECT_EQ(outline(of({"x", "1", "1"})), "a1 t1 a2 a3 tx t1 u t1");
  const OrderedJson three = of({"1", "2", "3"});
  EXPECT_EQ(three[0]["content"], "C");
  EXPECT_EQ(three[2]["content"], "");
}

TEST(HarmonyHistory, tools_have_descriptions_and_defaults_that_are_text) {
  const OrderedJson got = harmony_tools(messages_of(R"([{"function":{"name":"f","parameters":{
      "properties":{"a":{"enum":[1],"default":1},"b":{"default":2},"c":{"enum":["x"],"default":"x"},
      "d":{"oneOf":[],"default":null},"e":3}}}},{"function":{"name":"g","description":null}},
      {"function":{"name":"h","description":"H","parameters":{"properties":[]}}},{},5])"));
  EXPECT_EQ(got[0]["function"]["description"], "");
  const OrderedJson& properties = got[0]["function"]["parameters"]["properties"];
  EXPECT_EQ(properties["a"]["default"], "1");
  EXPECT_EQ(properties["b"]["default"], 2);
  EXPECT_EQ(properties["c"]["default"], "x");
  EXPECT_EQ(properties["d"]["default"], "null");
  EXPECT_EQ(got[1]["function"]["description"], "");
  EXPECT_EQ(got[2]["function"]["description"], "H");
  EXPECT_EQ(harmony_tools(nullptr), OrderedJson(nullptr));
}

TEST(HarmonyHistory, odd_messages_are_taken) {
  for (const char* text : {"[]", R"([{"role":"assistant","tool_calls":3}])",
                           R"([{"role":"assistant","content":null,"tool_calls":[]}])",
                           R"([{"role":"assistant","tool_calls":[1,2]},{"role":"tool"}])",
                           R"([{"role":"assistant","tool_calls":[{},{}]},{"role":"tool"}])"}) {
    (void)harmony_messages(messages_of(text), true);
  }
}

}  // namespace
}  // namespace cascade
