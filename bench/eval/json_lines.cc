// Checks the members of input lines, and writes each output line at once.
#include "bench/eval/json_lines.h"

#include <cerrno>
#include <cstdio>

namespace cascade::eval {

Result<std::vector<int32_t>> ids_of(const InputLine& line, int64_t vocab_size) {
  const std::string field = line.field("ids");
  const auto ids = line.object.find("ids");
  if (ids == line.object.end()) return invalid_argument(field, "is missing: a list of token ids");
  if (!ids->is_array()) {
    return invalid_argument(field,
                            "must be a list of token ids, got " + std::string(ids->type_name()));
  }
  std::vector<int32_t> result;
  for (const Json& id : *ids) {
    const bool known =
        id.is_number_integer() && id.get<int64_t>() >= 0 && id.get<int64_t>() < vocab_size;
    if (!known) {
      return invalid_argument(line.field("ids[" + std::to_string(result.size()) + "]"),
                              "must be a whole number from 0 to " + std::to_string(vocab_size - 1) +
                                  " (the vocabulary has " + std::to_string(vocab_size) +
                                  " ids), got " + id.dump());
    }
    result.push_back(id.get<int32_t>());
  }
  return result;
}

Result<std::string> text_of(const InputLine& line) {
  Result<std::string> text = required_string(line.object, "text");
  if (text.ok()) return text;
  return Error{text.error().code, line.field("text"), text.error().message};
}

Status write_text(std::string_view text) {
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
  if (written && std::fflush(stdout) == 0) return {};
  return io_error("standard output", errno);
}

Status write_line(const Json& object) {
  // Decoded bytes may be anything: bytes that are not UTF-8 are replaced. Everything is written in
  // ASCII, since some readers take U+2028 and the like for the end of a line.
  const std::string text = object.dump(-1, ' ', true, Json::error_handler_t::replace);
  return write_text(text + '\n');
}

}  // namespace cascade::eval
