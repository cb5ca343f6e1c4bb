// Input as JSON lines.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace cascade::bench {

struct InputLine {
  Json object;
  size_t number = 0;  // of the line in its file, from 1

  // "line 3: ids", for errors.
  std::string field(std::string_view key) const;
};

// The objects of `path` ("-": standard input), one per line; empty lines are skipped. Errors: those
// of read_file; kInvalidArgument, field "line N", if a line is not a JSON object.
Result<std::vector<InputLine>> read_json_lines(const std::string& path);

}  // namespace cascade::bench
