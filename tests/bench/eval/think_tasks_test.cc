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
    line[member] = "";
    const auto task = read(line);
    ASSERT_FALSE(task.ok()) << member;
    EXPECT_EQ(task.error().to_string(),
              "invalid_argument: line 3: " + std::string(member) + ": must not be empty");
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
  // Whatever comes next begins with this mark, so the history has it already.
  const std::string reply = "The code is 5.<|im_end|>\n<|im_start|>";
  EXPECT_EQ(text(chains->history), question + reply);
  EXPECT_EQ(text(chains->sampled),
            question + "<think>\n" + task.thought + "\n</think>\n\n" + reply);
  EXPECT_EQ(text(chains->next),
            "user\nWhich one?<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n");
  const auto in_sampled = std::span(chains->sampled).subspan(chains->reply_begin);
  EXPECT_TRUE(std::ranges::equal(in_sampled, std::span(chains->history).subspan(chains->begin)));
  EXPECT_EQ(text(in_sampled), reply);
  EXPECT_EQ(chains->thought_tokens(), std::ssize(chains->sampled) - std::ssize(chains->history));
  const int32_t end = *(*model)->tokenizer.token_id("<|im_end|>");
  EXPECT_EQ(std::ranges::count(chains->sampled, end), 2) << "that of the thought is only text";
}

TEST_F(ThinkChainsOf, a_model_without_think_tokens_is_refused) {
  const auto model = load(testing::fixtures_dir() / "granite");
  ASSERT_TRUE(model.ok()) << model.error().to_string();
  const auto chains = think_chains_of(**model, *read(valid_line()), 0);
  ASSERT_FALSE(chains.ok());
  EXPECT_THAT(chains.error().to_string(), HasSubstr("the model has no think tokens"));
}

}  // namespace
}  // namespace cascade::eval
