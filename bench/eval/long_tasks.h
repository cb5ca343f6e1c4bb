// Questions about long contexts, and how many of them were answered rightly.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/chunk.h"
#include "base/result.h"
#include "bench/json_lines.h"

namespace cascade::eval {

struct LongTask {
  std::string id;
  std::string kind;
  int64_t tokens = 0;  // about how many the author wanted the prompt to have
  std::vector<ChatMessage> messages;
  std::string answer;
};

// The task of a line: {"id", "kind", "tokens", "messages": [{"role", "content"}, …], "answer"};
// other members are passed over. Errors: kInvalidArgument, with a field such as "line 3:
// messages[1]: role".
Result<LongTask> long_task_of(const bench::InputLine& line);

// Counts of right answers, by kind and length.
class LongScores {
 public:
  void add(const LongTask& task, bool correct);
  // A line for each kind in the order of their first tasks, and one for all; a column for each
  // number of tokens, ascending, and one for all. Each cell is "right/asked". Empty without a task.
  std::string table() const;

 private:
  struct Score {
    int right = 0;
    int asked = 0;
  };
  std::vector<std::string> kinds_;
  std::map<int64_t, std::map<std::string, Score>> scores_;  // by tokens, then by kind
};

}  // namespace cascade::eval
