// What templates expect of texts and thoughts.
#include "model/template_habits.h"

#include <gtest/gtest.h>

#include "base/file.h"
#include "tests/model/calls/calls_models.h"

namespace cascade {
namespace {

TemplateHabits habits_of(std::string_view source) {
  return learn_habits(*ChatTemplate::parse(source), {{"bos_token", "<s>"}, {"eos_token", "</s>"}});
}

std::string each_message(const std::string& source) {
  return "{% for m in messages %}{% set calls = m.tool_calls or [] %}" + source + "{% endfor %}";
}

constexpr char kCalls[] = "{% for c in calls %}<{{ c.function.arguments | tojson }}>{% endfor %}";

TEST(TemplateHabits, text_beside_calls_comes_first) {
  const auto text_in = [](const std::string& source) { return habits_of(source).text; };
  EXPECT_EQ(text_in(each_message("{{ m.content }}" + std::string(kCalls))),
            TextBesideCalls::kStays);
  EXPECT_EQ(
      text_in(each_message("{% if not calls %}{{ m.content }}{% endif %}" + std::string(kCalls))),
      TextBesideCalls::kStays);
  const std::string last = each_message(std::string(kCalls) + "{{ m.content }}");
  EXPECT_EQ(text_in(last), TextBesideCalls::kOwnMessage);
  // A message of its own would be a turn of its own, but nothing else changes with the text.
  EXPECT_EQ(text_in(each_message("[" + std::string(kCalls) + "{{ m.content }}]")),
            TextBesideCalls::kStays);
  // The text ends the turn.
  EXPECT_EQ(text_in(each_message("[" + std::string(kCalls) +
                                 "{% if m.content %}{{ m.content }}END{% endif %}]")),
            TextBesideCalls::kIsLeftOut);
}

TEST(TemplateHabits, thoughts_are_where_the_template_reads_them) {
  EXPECT_EQ(habits_of(each_message("{{ m.reasoning_content }}{{ m.thinking }}")).thoughts,
            ThoughtsIn::kReasoningContent);
  EXPECT_EQ(habits_of(each_message("{{ m.thinking }}")).thoughts, ThoughtsIn::kThinking);
  EXPECT_EQ(habits_of(each_message("{% if m.content is not string %}{{ m.content[0].thinking }}"
                                   "{% endif %}"))
                .thoughts,
            ThoughtsIn::kContentParts);
  EXPECT_EQ(habits_of(each_message("{{ m.content }}")).thoughts, ThoughtsIn::kReasoningContent);
}

TEST(TemplateHabits, messages_are_changed_as_the_template_expects) {
  const OrderedJson calls = OrderedJson::array({{{"id", "1"}}});
  const OrderedJson beside = {{"role", "assistant"},
                              {"content", "Text"},
                              {"reasoning_content", "Hm."},
                              {"tool_calls", calls}};
  const OrderedJson plain = {{"role", "assistant"}, {"content", "Text"}};
  OrderedJson own = OrderedJson::array({plain, beside});
  adapt_texts(own, {.thoughts = ThoughtsIn::kThinking, .text = TextBesideCalls::kOwnMessage});
  ASSERT_EQ(own.size(), 3u);
  EXPECT_EQ(own[0], plain);
  EXPECT_EQ(own[1], (OrderedJson{{"role", "assistant"}, {"content", "Text"}, {"thinking", "Hm."}}));
  EXPECT_EQ(own[2], (OrderedJson{{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}}));
  OrderedJson left_out = OrderedJson::array({beside});
  adapt_texts(left_out, {.text = TextBesideCalls::kIsLeftOut});
  EXPECT_EQ(left_out[0]["content"], "");
  EXPECT_EQ(left_out[0]["reasoning_content"], "Hm.");
  OrderedJson parts = OrderedJson::array({beside});
  adapt_texts(parts, {.thoughts = ThoughtsIn::kContentParts});
  EXPECT_EQ(parts[0]["content"], (OrderedJson::array({{{"type", "thinking"}, {"thinking", "Hm."}},
                                                      {{"type", "text"}, {"text", "Text"}}})));
  EXPECT_FALSE(parts[0].contains("reasoning_content"));
}

TEST(TemplateHabits, real_templates_keep_text_beside_calls) {
  REQUIRE_SHARED("fixtures/templates");
  const auto folder = testing::shared_dir() / "fixtures/templates";
  const auto habits_in = [&](const std::string& name) {
    return habits_of(*read_file(folder / (name + ".jinja"), 1 << 20));
  };
  for (const char* name :
       {"HuggingFaceTB-SmolLM3-3B", "Qwen-Qwen2.5-7B-Instruct", "Qwen-Qwen3-0.6B",
        "ibm-granite-granite-3.3-2B-Instruct", "meta-llama-Llama-3.2-3B-Instruct",
        "mistralai-Mistral-Nemo-Instruct-2407", "google-gemma-2-2b-it"}) {
    EXPECT_EQ(habits_in(name).text, TextBesideCalls::kStays) << name;
    EXPECT_EQ(habits_in(name).thoughts, ThoughtsIn::kReasoningContent) << name;
  }
  EXPECT_EQ(habits_in("Qwen-Qwen3-0.6B").calls, CallForm::kJson);
  EXPECT_EQ(habits_in("HuggingFaceTB-SmolLM3-3B").calls, CallForm::kJson);
  EXPECT_EQ(habits_in("meta-llama-Llama-3.2-3B-Instruct").calls, CallForm::kLlama3);
  EXPECT_EQ(habits_in("mistralai-Mistral-Nemo-Instruct-2407").calls, CallForm::kMistral);
  EXPECT_EQ(habits_in("ibm-granite-granite-3.3-2B-Instruct").calls, CallForm::kGranite3);
}

TEST(TemplateHabits, templates_of_gemma_and_mistral_are_known) {
  const TemplateHabits gemma = habits_of(testing::kGemmaTemplate);
  EXPECT_EQ(gemma.text, TextBesideCalls::kOwnMessage);
  EXPECT_EQ(gemma.calls, CallForm::kGemma);
  const TemplateHabits mistral = habits_of(testing::kMistralTemplate);
  EXPECT_EQ(mistral.thoughts, ThoughtsIn::kContentParts);
  EXPECT_EQ(mistral.calls, CallForm::kMistral);
}

}  // namespace
}  // namespace cascade
