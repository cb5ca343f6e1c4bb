// Members are checked one by one, so that an error names the member.
#include "bench/eval/long_tasks.h"

#include <algorithm>

namespace cascade::eval {
namespace {

constexpr int64_t kTaskTokensMax = int64_t{1} << 40;
constexpr char kAll[] = "all";

// The error of a member, at its place in the file.
Error at_line(const bench::InputLine& line, const std::string& where, const Error& error) {
  return {error.code, line.field(where + error.field), error.message};
}

Result<std::vector<ChatMessage>> messages_of(const bench::InputLine& line) {
  const auto list = line.object.find("messages");
  if (list == line.object.end() || !list->is_array() || list->empty()) {
    return invalid_argument(line.field("messages"),
                            "must be a list of at least one {\"role\", \"content\"}");
  }
  std::vector<ChatMessage> messages;
  for (const Json& object : *list) {
    const std::string where = "messages[" + std::to_string(messages.size()) + "]";
    if (!object.is_object()) return invalid_argument(line.field(where), "must be an object");
    ChatMessage message;
    for (const auto& [key, to] :
         {std::pair{"role", &message.role}, std::pair{"content", &message.content}}) {
      Result<std::string> text = required_string(object, key);
      if (!text.ok()) return at_line(line, where + ": ", text.error());
      *to = *std::move(text);
    }
    messages.push_back(std::move(message));
  }
  return messages;
}

// Lines of cells, with columns of equal width: the first one to the left, the others to the right.
std::string aligned(const std::vector<std::vector<std::string>>& lines) {
  std::vector<size_t> widths(lines.front().size(), 0);
  for (const auto& cells : lines) {
    for (size_t i = 0; i < cells.size(); ++i) widths[i] = std::max(widths[i], cells[i].size());
  }
  std::string text;
  for (const auto& cells : lines) {
    text += cells[0] + std::string(widths[0] - cells[0].size(), ' ');
    for (size_t i = 1; i < cells.size(); ++i) {
      text += std::string(widths[i] - cells[i].size() + 2, ' ') + cells[i];
    }
    text += '\n';
  }
  return text;
}

}  // namespace

Result<LongTask> long_task_of(const bench::InputLine& line) {
  LongTask task;
  for (const auto& [key, to] : {std::pair{"id", &task.id}, std::pair{"kind", &task.kind},
                                std::pair{"answer", &task.answer}}) {
    Result<std::string> text = required_string(line.object, key);
    if (!text.ok()) return at_line(line, "", text.error());
    *to = *std::move(text);
  }
  const Result<int64_t> tokens = required_int(line.object, "tokens", 1, kTaskTokensMax);
  if (!tokens.ok()) return at_line(line, "", tokens.error());
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
  return aligned(lines);
}

}  // namespace cascade::eval
