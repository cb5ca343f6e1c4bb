// Input as JSON lines, output as JSON lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cascade::eval {

// The objects of `path` ("-": standard input), one a line; empty lines are left out.
// Errors: as read_file; kInvalidArgument, field "line N", if one is not a JSON object.
Result<std::vector<Json>> read_json_lines(const std::string& path);

// The member "ids" of a line: whole numbers in [0, id_end). Errors: kInvalidArgument, field "ids".
Result<std::vector<int32_t>> ids_of(const Json& line, int64_t id_end);

// Writes to standard output and flushes it; as one line. Errors: kIo if it cannot be written.
Status write_text(std::string_view text);
Status write_line(const Json& object);

}  // namespace cascade::eval
