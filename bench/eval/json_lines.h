// Input as JSON lines, output as JSON lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cascade::eval {

struct InputLine {
  Json object;
  size_t number = 0;  // of the line in its file, from 1

  // "line 3: ids", for errors.
  std::string field(std::string_view key) const;
};

// The objects of `path` ("-": standard input), one a line; empty lines are left out.
// Errors: as read_file; kInvalidArgument, field "line N", if one is not a JSON object.
Result<std::vector<InputLine>> read_json_lines(const std::string& path);

// The member "ids" of a line: ids of a vocabulary of `vocab_size`.
// Errors: kInvalidArgument, field "line N: ids" or "line N: ids[2]".
Result<std::vector<int32_t>> ids_of(const InputLine& line, int64_t vocab_size);

// The member "text" of a line. Errors: kInvalidArgument, field "line N: text".
Result<std::string> text_of(const InputLine& line);

// Writes to standard output and flushes it; as one line. Errors: kIo if it cannot be written.
Status write_text(std::string_view text);
Status write_line(const Json& object);

}  // namespace cascade::eval
