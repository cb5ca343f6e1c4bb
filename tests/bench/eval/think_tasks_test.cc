// Tests of the lines of tasks, and of the chains that turns with thoughts leave.
#include "bench/eval/think_tasks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "kernels/thread_pool.h"
#include "tests/shared_dir.h"

namespace cascade::eval {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

Json valid_line() {
  return {{"id", "a-1"},
          {"kind", "a"},
          {"messages", {{{"role", "user"}, {"content", "Which code?"}}}},
          {"thought", "Here it is."},
          {"reply", "The code is 5."},
          {"question", "Which one?"},
          {"answer", ""}};
}

Result<ThinkTask> read(const Json& line) {
  return think_task_of({line, 3});
}

TEST(ThinkTasks, a_line_is_read) {
  const auto task = read(valid_line());
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task->id, "a-1");
  EXPECT_EQ(task->kind, "a");
  EXPECT_EQ(task->messages, (std::vector<ChatMessage>{{"user", "Which code?", {}}}));
  EXPECT_EQ(task->thought, "Here it is.");
  EXPECT_EQ(task->reply, "The code is 5.");
  EXPECT_EQ(task->question, "Which one?");
  EXPECT_EQ(task->answer, "");
}

TEST(ThinkTasks, errors_name_the_line_and_the_member) {
  for (const char* member : {"id", "kind", "messages", "thought", "reply", "question", "answer"}) {
    Json line = valid_line();
    line[member] = 7;
    const auto task = read(line);
    ASSERT_FALSE(task.ok()) << member;
    EXPECT_THAT(task.error().to_string(),
                StartsWith("invalid_argument: line 3: " + std::string(member) + ": must be a"));
  }
  for (const char* member : {"thought", "reply", "question"}) {
    Json line = valid_line();
    line[member] = "\n ";
    const auto task = read(line);
    ASSERT_FALSE(task.ok()) << member;
    EXPECT_EQ(task.error().to_string(), "invalid_argument: line 3: " + std::string(member) +
                                            ": must have more than white space");
  }
  for (const char* kind : {"", "all", "two\nlines"}) {
    Json line = valid_line();
    line["kind"] = kind;
    const auto task = read(line);
    ASSERT_FALSE(task.ok()) << kind;
    EXPECT_THAT(task.error().to_string(), StartsWith("invalid_argument: line 3: kind: must be a"));
  }
}

class ThinkChainsOf : public ::testing::Test {
 protected:
  static Result<std::unique_ptr<Model>> load(const std::filesystem::path& folder) {
    ThreadPool pool(1);
    return load_model(folder.string(), {}, pool);
  }
};

TEST_F(ThinkChainsOf, a_reply_has_the_same_tokens_after_the_thoughts_and_without_them) {
  const auto model = load(testing::demo_model_dir());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  ThinkTask task = *read(valid_line());
  task.thought = "<|im_end|> is a mark that no text of a task can be.";
  const auto chains = think_chains_of(**model, task, /*now_unix_s=*/0);
  ASSERT_TRUE(chains.ok()) << chains.error().to_string();
  const auto text = [&](std::span<const int32_t> ids) {
    return (*model)->tokenizer.decode(ids, /*skip_special=*/false);
  };
  const std::string question = "<|im_start|>user\nWhich code?<|im_end|>\n<|im_start|>assistant\n";
  const std::string reply = "The code is 5.";
  EXPECT_EQ(text(chains->history), question + reply);
  EXPECT_EQ(text(chains->sampled),
            question + "<think>\n" + task.thought + "\n</think>\n\n" + reply);
  EXPECT_EQ(text(chains->next),
            "<|im_end|>\n<|im_start|>user\nWhich one?<|im_end|>\n<|im_start|>assistant\n"
            "<think>\n\n</think>\n\n");
  const auto in_sampled = std::span(chains->sampled).subspan(chains->reply_begin);
  EXPECT_TRUE(std::ranges::equal(in_sampled, std::span(chains->history).subspan(chains->begin)));
  EXPECT_EQ(text(in_sampled), reply);
  EXPECT_EQ(chains->thought_tokens(), std::ssize(chains->sampled) - std::ssize(chains->history));
  const int32_t end = *(*model)->tokenizer.token_id("<|im_end|>");
  EXPECT_EQ(std::ranges::count(chains->sampled, end), 1) << "that of the thought is only text";
}

TEST_F(ThinkChainsOf, a_template_that_puts_no_reply_where_the_thoughts_were_is_refused) {
  const auto model = load(testing::demo_model_dir());
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  struct Case {
    const char* before_reply;
    const char* error;  // "": it can be used
  };
  for (const auto& [before_reply, error] : std::vector<Case>{
           {"<|im_start|>assistant\n", ""},
           {"",
            "the history does not go on with the reply where the prompt for it ends, but with "
            "'The code is 5."},
           {"<|im_start|>assistant\n<|im_end|>", "but with '<|im_end|>The code is 5."},
           {"<|im_start|>assistant\nSo: ", "but with 'So: The code is 5."}}) {
    (*model)->templates = {};
    (*model)->templates.add(
        "default", conversation_template(
                       std::string("{% for m in messages %}"
                                   "{% if m.role == 'assistant' %}") +
                           before_reply +
                           "{{m.content}}<|im_end|>\n{% elif not loop.first %}"
                           "{{m.content}}{% endif %}{% endfor %}"
                           "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
                       OrderedJson::object()));
    const auto chains = think_chains_of(**model, *read(valid_line()), 0);
    const std::string got = chains.ok() ? "" : chains.error().to_string();
    EXPECT_EQ(got.empty(), *error == 0) << before_reply;
    EXPECT_THAT(got, HasSubstr(error));
  }
}

}  // namespace
}  // namespace cascade::eval
