// Members are checked one by one, so that an error names the member.
#include "bench/eval/long_tasks.h"

#include <algorithm>

#include "bench/eval/json_lines.h"
#include "bench/eval/text_table.h"

namespace cascade::eval {
namespace {

constexpr int64_t kTaskTokensMax = int64_t{1} << 40;
constexpr char kAll[] = "all";

}  // namespace

Result<LongTask> long_task_of(const bench::InputLine& line) {
  LongTask task;
  ASSIGN_OR_RETURN(task.id, string_of(line, "id"));
  ASSIGN_OR_RETURN(task.kind, string_of(line, "kind"));
  ASSIGN_OR_RETURN(task.answer, string_of(line, "answer"));
  const Result<int64_t> tokens = required_int(line.object, "tokens", 1, kTaskTokensMax);
  if (!tokens.ok()) {
    return invalid_argument(line.field(tokens.error().field), tokens.error().message);
  }
  task.tokens = *tokens;
  ASSIGN_OR_RETURN(task.messages, messages_of(line));
  return task;
}

void LongScores::add(const LongTask& task, bool correct) {
  if (std::ranges::find(kinds_, task.kind) == kinds_.end()) kinds_.push_back(task.kind);
  Score& score = scores_[task.tokens][task.kind];
  score.right += correct ? 1 : 0;
  ++score.asked;
}

std::string LongScores::table() const {
  if (kinds_.empty()) return "";
  const auto text_of = [](const Score& score) {
    return std::to_string(score.right) + '/' + std::to_string(score.asked);
  };
  std::vector<std::vector<std::string>> lines = {{"kind"}};
  for (const auto& [tokens, by_kind] : scores_) lines[0].push_back(std::to_string(tokens));
  lines[0].push_back(kAll);
  std::vector<Score> sums(scores_.size() + 1);  // of the columns
  for (const std::string& kind : kinds_) {
    Score in_line;
    std::vector<std::string>& cells = lines.emplace_back();
    cells.push_back(kind);
    size_t column = 0;
    for (const auto& [tokens, by_kind] : scores_) {
      const auto found = by_kind.find(kind);
      const Score score = found == by_kind.end() ? Score{} : found->second;
      cells.push_back(text_of(score));
      for (Score* const sum : {&in_line, &sums[column], &sums.back()}) {
        sum->right += score.right;
        sum->asked += score.asked;
      }
      ++column;
    }
    cells.push_back(text_of(in_line));
  }
  std::vector<std::string>& last = lines.emplace_back();
  last.push_back(kAll);
  for (const Score& sum : sums) last.push_back(text_of(sum));
  return text_table(lines);
}

}  // namespace cascade::eval
