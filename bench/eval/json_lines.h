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

// Both write to standard output and flush it; write_line() writes one line. Errors: kIo if it
// cannot be written.
Status write_text(std::string_view text);
Status write_line(const Json& object);

}  // namespace cascade::eval
