// How templates receive calls of tools, and which of several templates a conversation uses.
#include "model/conversation_template.h"

#include <gtest/gtest.h>

#include <string>

#include "base/file.h"
#include "tests/shared_dir.h"

namespace cascade {
namespace {

ConversationTemplate loaded(const std::string& source) {
  auto made = conversation_template(source, OrderedJson::object());
  EXPECT_TRUE(made.ok()) << source;
  return *std::move(made);
}

OrderedJson call_of(const OrderedJson& arguments, const std::string& id = "call_1") {
  OrderedJson call = {{"id", id}, {"type", "function"}};
  call["function"] = {{"name", "f"}, {"arguments", arguments}};
  return call;
}

OrderedJson with_calls(const OrderedJson& calls) {
  OrderedJson variables;
  variables["messages"] =
      OrderedJson::array({{{"role", "user"}, {"content", "Hi"}},
                          {{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}},
                          {{"role", "tool"}, {"content", "done"}, {"tool_call_id", "call_1"}}});
  variables["tools"] = nullptr;
  variables["add_generation_prompt"] = true;
  return variables;
}

std::string rendered(const ConversationTemplate& with, const OrderedJson& variables) {
  const auto text = with.render(variables, 0);
  return text.ok() ? plain_text(*text) : "error: " + text.error().message;
}

// The first call's arguments as the template prints them.
std::string arguments_in(const std::string& source, const OrderedJson& arguments) {
  const std::string before =
      "{% for m in messages %}{% for c in m.tool_calls or [] %}{% set a = c.function.arguments %}";
  return rendered(loaded(before + source + "{% endfor %}{% endfor %}"),
                  with_calls(OrderedJson::array({call_of(arguments)})));
}

constexpr char kWalks[] = "{% for k, v in a | items %}{{ k }}={{ v }};{% endfor %}";

CallForm form_in(const std::string& call) {
  return loaded("{% for m in messages %}{% for c in m.tool_calls or [] %}{% set f = c.function %}" +
                call + "{% endfor %}{% endfor %}")
      .call_form();
}

TEST(ConversationTemplate, the_form_of_calls_is_that_of_the_template) {
  const std::string each = "{% for k, v in f.arguments | items %}";
  EXPECT_EQ(form_in("<tool_call>{{ f | tojson }}</tool_call>"), CallForm::kJson);
  EXPECT_EQ(
      form_in("<tool_call>\n<function={{ f.name }}>\n" + each +
              "<parameter={{ k }}>\n{{ v }}\n</parameter>{% endfor %}</function></tool_call>"),
      CallForm::kQwenTags);
  EXPECT_EQ(form_in("<tool_call>{{ f.name }}\n" + each +
                    "<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}</arg_value>{% endfor %}"),
            CallForm::kGlmTags);
  EXPECT_EQ(loaded("{{ raise_exception('never') }}").call_form(), CallForm::kJson);
  EXPECT_EQ(ModelTemplates().call_form(), CallForm::kJson);
}

TEST(ConversationTemplate, arguments_are_an_object_where_clients_send_its_text) {
  EXPECT_EQ(arguments_in(kWalks, R"({"x": 1})"), "x=1;");
  EXPECT_EQ(arguments_in("{{ a | tojson }}", R"({"x": 1})"), R"({"x": 1})");
  for (const OrderedJson& none : {OrderedJson(""), OrderedJson("null"), OrderedJson()}) {
    EXPECT_EQ(arguments_in(kWalks, none), "") << none;
    EXPECT_EQ(arguments_in("{{ a | tojson }}", none), "{}") << none;
  }
}

TEST(ConversationTemplate, damaged_arguments_are_text_or_a_member_where_an_object_is_needed) {
  for (const char* damaged : {R"({"x": 1)", "[1]", "5", "no"}) {
    EXPECT_EQ(arguments_in("{{ a if a is string else a | tojson }}", damaged), damaged);
    EXPECT_EQ(arguments_in(kWalks, damaged), "arguments=" + std::string(damaged) + ";");
  }
  // The other calls of the same conversation stay as they are.
  const auto walks = loaded(
      "{% for c in messages[1].tool_calls %}{% for k, v in c.function.arguments | items %}"
      "{{ k }}={{ v }};{% endfor %}{% endfor %}");
  EXPECT_EQ(rendered(walks, with_calls({call_of("{"), call_of(R"({"x":1})")})), "arguments={;x=1;");
}

TEST(ConversationTemplate, a_template_that_joins_arguments_to_text_has_text) {
  EXPECT_EQ(arguments_in("{{ '<' + a + '>' }}", R"({"x": 1})"), R"(<{"x": 1}>)");
  EXPECT_EQ(arguments_in("{{ '<' + a + '>' }}", OrderedJson{{"x", 1}}), R"(<{"x":1}>)");
  constexpr char kLong[] = R"({"x":123456789012345678901})";
  const OrderedJson exact = *parse_ordered_json(kLong, "arguments");
  EXPECT_EQ(arguments_in("{{ '<' + a + '>' }}", exact), "<" + std::string(kLong) + ">");
}

TEST(ConversationTemplate, an_error_of_the_template_is_told_as_it_is) {
  EXPECT_EQ(arguments_in("{{ raise_exception('never') }}", "{"), "error: never");
}

// The ids of the call and of its result.
constexpr char kIds[] = "{{ messages[1].tool_calls[0].id }} {{ messages[2].tool_call_id }}";

TEST(ConversationTemplate, ids_become_short_where_no_others_are_taken) {
  const std::string strict =
      "{% for m in messages %}{% for c in m.tool_calls or [] %}{% if c.id | length != 9 %}"
      "{{ raise_exception('nine') }}{% endif %}{% endfor %}{% endfor %}" +
      std::string(kIds);
  const OrderedJson calls = OrderedJson::array({call_of("{}")});
  const std::string both = rendered(loaded(strict), with_calls(calls));
  ASSERT_EQ(both.size(), 19u) << both;
  EXPECT_EQ(both.substr(0, 9), both.substr(10));
  EXPECT_EQ(rendered(loaded(strict), with_calls(calls)), both);
  const OrderedJson plain = OrderedJson::array({call_of("{}", "abcDEF123")});
  EXPECT_EQ(rendered(loaded(strict), with_calls(plain)).substr(0, 9), "abcDEF123");
  EXPECT_EQ(rendered(loaded(kIds), with_calls(calls)), "call_1 call_1");
  // A result without an id gets the id of the call.
  OrderedJson unnamed = with_calls(calls);
  unnamed["messages"][2].erase("tool_call_id");
  EXPECT_EQ(rendered(loaded(strict), unnamed), both);
  unnamed["messages"][1]["tool_calls"][0]["id"] = "";
  const std::string empty = rendered(loaded(strict), unnamed);
  EXPECT_EQ(empty.substr(0, 9), empty.substr(10));
}

TEST(ConversationTemplate, content_beside_calls_is_null_for_templates_that_ask) {
  const OrderedJson calls = OrderedJson::array({call_of("{}")});
  const std::string turns =
      "{% for m in messages %}{% if m.content is not none %}[{{ m.content }}]{% endif %}"
      "{% endfor %}";
  EXPECT_EQ(rendered(loaded(turns), with_calls(calls)), "[Hi][done]");
  // A model should not read the word None.
  const std::string prints = "{% for m in messages %}[{{ m.content }}]{% endfor %}";
  EXPECT_EQ(rendered(loaded(prints), with_calls(calls)), "[Hi][][done]");
  const std::string joins = "{% for m in messages %}{{ '[' + m.content + ']' }}{% endfor %}";
  EXPECT_EQ(rendered(loaded(joins), with_calls(calls)), "[Hi][][done]");
  OrderedJson spoken = with_calls(calls);
  spoken["messages"][1]["content"] = "Well";
  EXPECT_EQ(rendered(loaded(turns), spoken), "[Hi][Well][done]");
}

TEST(ConversationTemplate, real_templates_take_calls_of_any_id_and_no_content) {
  REQUIRE_SHARED("fixtures/templates");
  const auto real = [](const std::string& name) {
    const auto file = testing::shared_dir() / "fixtures/templates" / (name + ".jinja");
    return *conversation_template(read_file(file, 1 << 20),
                                  {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
  };
  const OrderedJson calls = OrderedJson::array({call_of("{}")});
  const auto mistral = real("mistralai-Mistral-Nemo-Instruct-2407");
  EXPECT_NE(rendered(mistral, with_calls(calls)).find("TOOL_RESULTS"), std::string::npos)
      << rendered(mistral, with_calls(calls));
  const std::string distilled =
      rendered(real("deepseek-ai-DeepSeek-R1-Distill-Qwen-32B"), with_calls(calls));
  EXPECT_EQ(distilled.find("<\xEF\xBD\x9C"
                           "end\xE2\x96\x81of\xE2\x96\x81sentence"),
            distilled.rfind("<\xEF\xBD\x9C"
                            "end\xE2\x96\x81of\xE2\x96\x81sentence"))
      << distilled;
}

ModelTemplates named(const std::vector<std::string>& names) {
  ModelTemplates templates;
  for (const std::string& name : names) {
    templates.add(name, conversation_template(name, OrderedJson::object()));
  }
  return templates;
}

std::string chosen(const ModelTemplates& templates, bool tools) {
  const auto found = templates.choose(tools);
  return found.ok() ? plain_text(*(*found)->source().render(OrderedJson::object(), 0))
                    : "error: " + found.error().field;
}

TEST(ModelTemplates, are_chosen_by_the_rules_of_transformers) {
  const ModelTemplates both = named({"default", "rag", "tool_use"});
  EXPECT_EQ(chosen(both, /*tools=*/false), "default");
  EXPECT_EQ(chosen(both, /*tools=*/true), "tool_use");
  EXPECT_EQ(chosen(named({"default"}), true), "default");
  EXPECT_EQ(chosen(named({"tool_use"}), true), "tool_use");
  for (const ModelTemplates& none : {named({"tool_use"}), named({"rag"}), named({})}) {
    EXPECT_EQ(chosen(none, false), "error: chat_template");
  }
  EXPECT_TRUE(both.problems().empty());
}

TEST(ModelTemplates, one_that_cannot_be_used_is_told_to_whom_needs_it) {
  ModelTemplates templates = named({"default"});
  templates.add("tool_use", conversation_template(std::string("{% nonsense %}"), {}));
  EXPECT_EQ(chosen(templates, false), "default");
  const auto refused = templates.choose(/*tools=*/true);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(refused.error().message.find("--chat-template FILE"), std::string::npos);
  ASSERT_EQ(templates.problems().size(), 1u);
  EXPECT_NE(templates.problems()[0].find("\"tool_use\" cannot be used"), std::string::npos);
}

}  // namespace
}  // namespace cascade
