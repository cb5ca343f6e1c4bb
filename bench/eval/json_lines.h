// The members of cascade-eval's input lines, and its output.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/chunk.h"
#include "base/json.h"
#include "base/result.h"
#include "bench/json_lines.h"

namespace cascade::eval {

using bench::InputLine;
using bench::read_json_lines;

// The member "ids" of a line: ids from a vocabulary of `vocab_size`. Errors: kInvalidArgument,
// field "line N: ids" or "line N: ids[2]".
Result<std::vector<int32_t>> ids_of(const InputLine& line, int64_t vocab_size);

// A member that is a string. Errors: kInvalidArgument, with a field such as "line N: text".
Result<std::string> string_of(const InputLine& line, std::string_view key);

// The member "messages" of a line: [{"role", "content"}, …], at least one; other members of a
// message are passed over. Errors: kInvalidArgument, with a field such as "line N: messages[1]:
// role".
Result<std::vector<ChatMessage>> messages_of(const InputLine& line);

// The tasks of all lines of a file; `task_of` reads a line. Errors: those of read_json_lines() and
// of the first line that `task_of` refuses.
template <class Task>
Result<std::vector<Task>> read_tasks(const std::string& path,
                                     Result<Task> (*task_of)(const InputLine& line)) {
  ASSIGN_OR_RETURN(const std::vector<InputLine> lines, read_json_lines(path));
  std::vector<Task> tasks;
  for (const InputLine& line : lines) {
    ASSIGN_OR_RETURN(tasks.emplace_back(), task_of(line));
  }
  return tasks;
}

// Both write to standard output and flush it; write_line() writes one line. Errors: kIo if it
// cannot be written.
Status write_text(std::string_view text);
Status write_line(const Json& object);

}  // namespace cascade::eval
