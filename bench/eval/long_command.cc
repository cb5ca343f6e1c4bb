// long: questions about long contexts, one conversation after the other.
#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "bench/eval/commands.h"
#include "bench/eval/json_lines.h"
#include "bench/eval/long_tasks.h"
#include "model/conversation.h"

namespace cascade::eval {
namespace {

constexpr size_t kAnswerTokensMax = 64;

Result<std::vector<LongTask>> read_long_tasks(const std::string& path) {
  ASSIGN_OR_RETURN(const std::vector<InputLine> lines, read_json_lines(path));
  std::vector<LongTask> tasks;
  for (const InputLine& line : lines) {
    ASSIGN_OR_RETURN(tasks.emplace_back(), long_task_of(line));
  }
  return tasks;
}

// The most likely tokens after `prompt`, up to an end token, as text. Errors: those of
// Session::append() and sample().
Result<std::string> answer_to(Session& session, std::span<const int32_t> prompt) {
  const Model& model = session.model();
  std::vector<int32_t> sampled;
  Status problem;
  const auto choose = [&](size_t, std::span<float> row) {
    const auto next = sample(row, {}, {}, session.length(), *model.kernels);
    if (next.ok()) {
      sampled.push_back(next->token);
    } else {
      problem = next.error();
    }
  };
  const auto& ends = model.generation.end_tokens;
  session.clear();
  RETURN_IF_ERROR(session.append(prompt, 0, 1, choose));
  while (problem.ok() && std::ranges::find(ends, sampled.back()) == ends.end() &&
         sampled.size() < kAnswerTokensMax && session.length() < model.config.context_tokens_max) {
    RETURN_IF_ERROR(session.append(std::vector<int32_t>{sampled.back()}, 0, 1, choose));
  }
  RETURN_IF_ERROR(problem);
  return model.tokenizer.decode(sampled, /*skip_special=*/true);
}

// The line of the result. Errors: what the next tasks would meet, too.
Result<Json> run_task(Session& session, const LongTask& task, LongScores& scores) {
  const Model& model = session.model();
  const int64_t start_us = system_clock().monotonic_us();
  Json line = {{"id", task.id}, {"kind", task.kind}, {"tokens", task.tokens}};
  // An answer of a few tokens has no room for thoughts.
  const ConversationContext context = {model.tokenizer, model.templates, /*thinking=*/false,
                                       system_clock().wall_us() / 1'000'000};
  const auto prompt = encode_prompt(context, task.messages);
  if (!prompt.ok()) {
    scores.add(task, false);
    line["error"] = prompt.error().to_string();
    return line;
  }
  line["prompt_tokens"] = prompt->token_ids.size();
  const auto context_tokens = static_cast<size_t>(model.config.context_tokens_max);
  if (prompt->token_ids.size() > context_tokens) {
    scores.add(task, false);
    line["error"] = "the prompt has " + std::to_string(prompt->token_ids.size()) +
                    " tokens; the model's context holds " + std::to_string(context_tokens);
    return line;
  }
  const int64_t selected_before = session.selected_tokens();
  ASSIGN_OR_RETURN(const std::string output, answer_to(session, prompt->token_ids));
  const bool correct = trimmed(output) == trimmed(task.answer);
  scores.add(task, correct);
  line["answer"] = task.answer;
  line["output"] = trimmed(output);
  line["correct"] = correct;
  line["selected_tokens"] = session.selected_tokens() - selected_before;
  line["seconds"] = static_cast<double>(system_clock().monotonic_us() - start_us) / 1e6;
  return line;
}

}  // namespace

Status answer_long_tasks(const LongOptions& options) {
  ASSIGN_OR_RETURN(const std::vector<LongTask> tasks, read_long_tasks(options.tasks));
  ASSIGN_OR_RETURN(const auto session, Session::open(options.session));
  RETURN_IF_ERROR(session->model().templates.choose(/*tools=*/false));
  LongScores scores;
  for (const LongTask& task : tasks) {
    ASSIGN_OR_RETURN(const Json line, run_task(*session, task, scores));
    RETURN_IF_ERROR(write_line(line));
  }
  std::fputs(scores.table().c_str(), stderr);
  return {};
}

}  // namespace cascade::eval
