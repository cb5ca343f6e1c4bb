// Reads whole files: inputs have kilobytes or megabytes.
#include "bench/json_lines.h"

#include <algorithm>
#include <iostream>
#include <iterator>

#include "base/text_file.h"

namespace cascade::bench {
namespace {

constexpr size_t kInputBytesMax = size_t{1} << 30;

Result<std::string> read_all(const std::string& path) {
  if (path != "-") return read_text_file(path, kInputBytesMax);
  return without_byte_order_mark(std::string(std::istreambuf_iterator<char>(std::cin), {}),
                                 "stdin");
}

}  // namespace

Result<std::vector<InputLine>> read_json_lines(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, read_all(path));
  std::vector<InputLine> lines;
  size_t begin = 0, number = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    ++number;
    if (line.find_first_not_of(" \t\r") == line.npos) continue;
    const std::string field = "line " + std::to_string(number);
    ASSIGN_OR_RETURN(Json object, parse_json(line, field));
    if (!object.is_object()) return invalid_argument(field, "is not a JSON object");
    lines.push_back({std::move(object), number});
  }
  return lines;
}

std::string InputLine::field(std::string_view key) const {
  return "line " + std::to_string(number) + ": " + std::string(key);
}

}  // namespace cascade::bench
