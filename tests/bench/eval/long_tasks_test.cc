// Tests of the lines of tasks, and of the table of their scores.
#include "bench/eval/long_tasks.h"

#include <gtest/gtest.h>

namespace cascade::eval {
namespace {

Result<LongTask> read_task(const std::string& text) {
  return long_task_of({Json::parse(text), 3});
}

TEST(LongTasks, a_line_is_read) {
  const auto task =
      read_task(R"({"id":"a-1","kind":"a","tokens":4000,"needs":[0.5],"answer":" It is 5.",)"
                R"("messages":[{"role":"system","content":"s"},{"role":"user","content":""}]})");
  ASSERT_TRUE(task.ok());
  EXPECT_EQ(task->id, "a-1");
  EXPECT_EQ(task->kind, "a");
  EXPECT_EQ(task->tokens, 4000);
  EXPECT_EQ(task->answer, " It is 5.");
  ASSERT_EQ(task->messages.size(), 2u);
  EXPECT_EQ(task->messages[0], (ChatMessage{"system", "s", {}}));
  EXPECT_EQ(task->messages[1].role, "user");
}

TEST(LongTasks, errors_name_the_line_and_the_member) {
  struct Case {
    const char* text;
    const char* error;
  };
  for (const auto& [text, error] : std::vector<Case>{
           {R"({})", "line 3: id: is missing"},
           {R"({"id":1})", "line 3: id: must be a string, got number"},
           {R"({"id":"","kind":"","answer":""})", "line 3: tokens: is missing"},
           {R"({"id":"","kind":"","answer":"","tokens":0})", "line 3: tokens: must be"},
           {R"({"id":"","kind":"","answer":"","tokens":1})",
            "line 3: messages: must be a list of at least one {\"role\", \"content\"}"},
           {R"({"id":"","kind":"","answer":"","tokens":1,"messages":[]})",
            "line 3: messages: must be a list of at least one"},
           {R"({"id":"","kind":"","answer":"","tokens":1,"messages":[7]})",
            "line 3: messages[0]: must be an object"},
           {R"({"id":"","kind":"","answer":"","tokens":1,)"
            R"("messages":[{"role":"user","content":"a"},{"role":"user"}]})",
            "line 3: messages[1]: content: is missing"}}) {
    const auto task = read_task(text);
    ASSERT_FALSE(task.ok()) << text;
    EXPECT_EQ(task.error().to_string().find("invalid_argument: " + std::string(error)), 0u)
        << task.error().to_string();
  }
}

TEST(LongTasks, scores_are_a_table_by_kind_and_length) {
  LongScores scores;
  EXPECT_EQ(scores.table(), "");
  const auto add = [&](const char* kind, int64_t tokens, bool correct) {
    LongTask task;
    task.kind = kind;
    task.tokens = tokens;
    scores.add(task, correct);
  };
  for (int i = 0; i < 12; ++i) add("simple", 16000, i != 0);
  add("code", 16000, true);
  add("code", 800, false);
  EXPECT_EQ(scores.table(),
            "kind    800  16000    all\n"
            "simple  0/0  11/12  11/12\n"
            "code    0/1    1/1    1/2\n"
            "all     0/1  12/13  12/14\n");
}

}  // namespace
}  // namespace cascade::eval
