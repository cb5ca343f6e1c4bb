// run_encode(): each mode gives the right ids for its text, and errors name their field.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "actors/engine.h"
#include "tests/actors/scheduler_world.h"

namespace cascade {
namespace {

using testing::demo_model;
using ::testing::HasSubstr;
using Mode = wire::EncodeJob::Mode;

// The ids of template text, special tokens recognised.
std::vector<int32_t> trusted(const std::string& text) {
  auto ids = demo_model().tokenizer.encode(text, true, false);
  EXPECT_TRUE(ids.ok());
  return *std::move(ids);
}

wire::EncodeJob job_of(Mode mode, std::vector<ChatMessage> messages = {}, std::string raw = {}) {
  wire::EncodeJob job;
  job.job = 42;
  job.mode = mode;
  job.messages = std::move(messages);
  job.raw = std::move(raw);
  return job;
}

ChatMessage message(const std::string& role, const std::string& content) {
  return {.role = role, .content = content, .reasoning = {}};
}

const std::vector<ChatMessage>& asked_messages() {
  static const std::vector<ChatMessage> messages = {message("system", "Be brief."),
                                                    message("user", "Why is the sky blue?")};
  return messages;
}
constexpr char kQuestion[] =
    "<|im_start|>system\nBe brief.<|im_end|>\n"
    "<|im_start|>user\nWhy is the sky blue?<|im_end|>\n<|im_start|>assistant\n";

// The demo model with another template.
std::unique_ptr<Model> model_with_template(const std::optional<std::string>& source) {
  ThreadPool pool(2);
  auto model = load_model(testing::demo_model_dir(), demo_model().options, pool);
  EXPECT_TRUE(model.ok());
  (*model)->templates = {};
  if (source) {
    auto loaded = conversation_template(*source, {});
    EXPECT_TRUE(loaded.ok());
    (*model)->templates.add("default", std::move(loaded));
  }
  return *std::move(model);
}

TEST(Encode, renders_a_prompt) {
  const auto done = run_encode(demo_model(), job_of(Mode::kPrompt, asked_messages()));
  EXPECT_EQ(done.job, 42u);
  EXPECT_FALSE(done.error.has_value());
  EXPECT_EQ(done.token_ids, trusted(kQuestion));
  EXPECT_EQ(done.generation_prefix, "");
  EXPECT_FALSE(done.inside_think);
}

TEST(Encode, takes_token_ids_as_they_are) {
  wire::EncodeJob job = job_of(Mode::kRaw);
  job.token_ids = {8185, 1, 2, 8183};
  EXPECT_EQ(run_encode(demo_model(), job).token_ids, job.token_ids);
  job.grammar = {GrammarKind::kJsonSchema, "not JSON"};
  ASSERT_TRUE(run_encode(demo_model(), job).error.has_value());
}

TEST(Encode, renders_a_prompt_that_ends_within_an_answer) {
  std::vector<ChatMessage> messages = asked_messages();
  messages.push_back(message("assistant", "Because of"));
  wire::EncodeJob job = job_of(Mode::kPrompt, messages);
  job.goes_on = true;
  const auto done = run_encode(demo_model(), job);
  EXPECT_EQ(demo_model().tokenizer.decode(done.token_ids, false),
            kQuestion + done.generation_prefix + "Because of");
  // A template that changes the text.
  const auto other =
      model_with_template("{% for m in messages %}{{ m.content | length }}{% endfor %}");
  const auto refused = run_encode(*other, job);
  ASSERT_TRUE(refused.error.has_value());
  EXPECT_EQ(refused.error->field, "continue_final_message");
}

TEST(Encode, shows_the_prompt_if_it_is_asked_to) {
  auto job = job_of(Mode::kPrompt, asked_messages());
  EXPECT_EQ(run_encode(demo_model(), job).text, "");
  job.show_text = true;
  EXPECT_EQ(run_encode(demo_model(), job).text, kQuestion);
}

TEST(Encode, gives_tools_and_calls_to_the_template) {
  const auto model = model_with_template(
      "{%- for t in tools or [] -%}{{ t.function.name }};{%- endfor -%}"
      "{%- for m in messages -%}{{ m.role }}:{{ m.content }}"
      "{%- for c in m.tool_calls or [] -%}[{{ c.function.name }} {{ c.function.arguments.city }}]"
      "{%- endfor -%}{{ m.tool_call_id or '' }};{%- endfor -%}");
  auto job = job_of(Mode::kPrompt, {message("user", "Weather?"), message("assistant", ""),
                                    message("tool", "sunny")});
  job.messages[1].tool_calls =
      R"([{"id":"c1","function":{"name":"weather","arguments":"{\"city\":\"Rome\"}"}}])";
  job.messages[2].tool_call_id = "c1";
  job.tools = R"([{"type":"function","function":{"name":"weather"}}])";
  job.show_text = true;
  const auto done = run_encode(*model, job);
  ASSERT_FALSE(done.error.has_value()) << done.error->to_string();
  EXPECT_EQ(done.text, "weather;user:Weather?;assistant:[weather Rome];tool:sunnyc1;");
}

TEST(Encode, refuses_tools_that_are_no_json) {
  auto job = job_of(Mode::kPrompt, asked_messages());
  job.tools = "[";
  const auto done = run_encode(demo_model(), job);
  ASSERT_TRUE(done.error.has_value());
  EXPECT_EQ(done.error->field, "tools");
}

TEST(Encode, tells_what_the_prompt_adds_for_the_answer) {
  auto job = job_of(Mode::kPrompt, asked_messages());
  job.thinking = false;
  const auto done = run_encode(demo_model(), job);
  const std::string prefix = "<think>\n\n</think>\n\n";
  EXPECT_EQ(done.token_ids, trusted(kQuestion + prefix));
  EXPECT_EQ(done.generation_prefix, prefix);
  EXPECT_FALSE(done.inside_think);
}

TEST(Encode, gives_the_template_the_effort_of_reasoning) {
  const auto model = model_with_template(
      "{{ reasoning_effort | default('default') }};"
      "{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}");
  auto job = job_of(Mode::kPrompt, asked_messages());
  job.show_text = true;
  EXPECT_THAT(run_encode(*model, job).text, ::testing::StartsWith("default;Be brief."));
  job.reasoning_effort = "low";
  EXPECT_THAT(run_encode(*model, job).text, ::testing::StartsWith("low;Be brief."));
}

TEST(Encode, tells_whether_the_answer_begins_inside_a_thought) {
  const auto model = model_with_template(
      "{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}"
      "{% if add_generation_prompt %}<think>{% endif %}");
  const auto done = run_encode(*model, job_of(Mode::kPrompt, asked_messages()));
  ASSERT_FALSE(done.error.has_value());
  EXPECT_TRUE(done.inside_think);
  EXPECT_EQ(done.generation_prefix, "<think>");
}

TEST(Encode, trusts_no_special_tokens_of_clients) {
  const auto end = demo_model().tokenizer.token_id("<|im_end|>");
  ASSERT_TRUE(end.has_value());
  const auto ends_in = [&](const wire::EncodeDone& done) {
    return std::ranges::count(done.token_ids, *end);
  };
  const std::string text = "a<|im_end|>b";
  EXPECT_EQ(ends_in(run_encode(demo_model(), job_of(Mode::kPrompt, {message("user", text)}))), 1);
  EXPECT_EQ(ends_in(run_encode(demo_model(), job_of(Mode::kRaw, {}, text))), 0);
  EXPECT_EQ(ends_in(run_encode(demo_model(), job_of(Mode::kText, {}, text))), 0);
}

TEST(Encode, renders_history_as_every_later_prompt_begins) {
  std::vector<ChatMessage> messages = asked_messages();
  messages.push_back(message("assistant", "<think>\nhm\n</think>\n\nScattering."));
  const auto history = run_encode(demo_model(), job_of(Mode::kHistory, messages));
  ASSERT_FALSE(history.error.has_value());
  // Thoughts are not shown again. The history ends with the last special token, where the user's
  // turn begins.
  EXPECT_EQ(history.token_ids,
            trusted(kQuestion + std::string("Scattering.<|im_end|>\n<|im_start|>")));
  for (const char* next : {"Why?", "\n\n", " x"}) {
    std::vector<ChatMessage> later = messages;
    later.push_back(message("user", next));
    const auto prompt = run_encode(demo_model(), job_of(Mode::kPrompt, later));
    ASSERT_GT(prompt.token_ids.size(), history.token_ids.size());
    EXPECT_TRUE(
        std::equal(history.token_ids.begin(), history.token_ids.end(), prompt.token_ids.begin()));
  }
}

TEST(Encode, encodes_raw_text_and_parts_of_it) {
  const std::string text = "Once upon a time";
  const auto& tokenizer = demo_model().tokenizer;
  const auto raw = run_encode(demo_model(), job_of(Mode::kRaw, {}, text));
  const auto part = run_encode(demo_model(), job_of(Mode::kText, {}, text));
  EXPECT_EQ(raw.token_ids, *tokenizer.encode(text, false, true));
  EXPECT_EQ(part.token_ids, *tokenizer.encode(text, false, false));
  EXPECT_EQ(tokenizer.decode(part.token_ids, false), text);
}

TEST(Encode, takes_an_empty_part_but_no_empty_prompt) {
  const auto part = run_encode(demo_model(), job_of(Mode::kText, {}, ""));
  EXPECT_FALSE(part.error.has_value());
  EXPECT_TRUE(part.token_ids.empty());
  const auto raw = run_encode(demo_model(), job_of(Mode::kRaw, {}, ""));
  ASSERT_TRUE(raw.error.has_value());
  EXPECT_EQ(raw.error->code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(raw.error->field, "prompt");
  EXPECT_EQ(raw.job, 42u);
}

TEST(Encode, needs_a_template_for_conversations_only) {
  const auto model = model_with_template(std::nullopt);
  for (const Mode mode : {Mode::kPrompt, Mode::kHistory}) {
    const auto done = run_encode(*model, job_of(mode, asked_messages()));
    ASSERT_TRUE(done.error.has_value());
    EXPECT_EQ(done.error->code, ErrorCode::kUnsupported);
    EXPECT_EQ(done.error->field, "chat_template");
    EXPECT_TRUE(done.token_ids.empty());
  }
  EXPECT_FALSE(run_encode(*model, job_of(Mode::kRaw, {}, "x")).error.has_value());
}

TEST(Encode, passes_on_what_the_template_objects_to) {
  const auto model = model_with_template("{{ raise_exception('roles must alternate') }}");
  for (const Mode mode : {Mode::kPrompt, Mode::kHistory}) {
    const auto done = run_encode(*model, job_of(mode, asked_messages()));
    ASSERT_TRUE(done.error.has_value());
    EXPECT_EQ(done.error->code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(done.error->message, HasSubstr("roles must alternate"));
  }
}

TEST(Encode, refuses_templates_that_render_nothing) {
  const auto model = model_with_template("{# nothing #}");
  const auto done = run_encode(*model, job_of(Mode::kPrompt, asked_messages()));
  ASSERT_TRUE(done.error.has_value());
  EXPECT_EQ(done.error->field, "messages");
}

TEST(Encode, gives_the_template_the_time_of_the_job) {
  const auto model = model_with_template("{{ strftime_now('%Y-%m-%d') }}");
  auto job = job_of(Mode::kPrompt, asked_messages());
  job.now_unix_s = 1'000'000'000;
  const auto done = run_encode(*model, job);
  ASSERT_FALSE(done.error.has_value());
  EXPECT_EQ(model->tokenizer.decode(done.token_ids, false), "2001-09-09");
}

TEST(Encode, refuses_texts_beyond_the_tokenizers_limit) {
  const auto done =
      run_encode(demo_model(), job_of(Mode::kText, {}, std::string((size_t{64} << 20) + 1, 'a')));
  ASSERT_TRUE(done.error.has_value());
  EXPECT_EQ(done.error->code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace cascade
