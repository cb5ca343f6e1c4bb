// Checks the members of input lines, and writes each output line at once.
#include "bench/eval/json_lines.h"

#include <cerrno>
#include <cstdio>
#include <utility>

namespace cascade::eval {
namespace {

// The error of a member, at its place in the file.
Error at_line(const InputLine& line, const std::string& where, const Error& error) {
  return {error.code, line.field(where + error.field), error.message};
}

}  // namespace

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

Result<std::string> string_of(const InputLine& line, std::string_view key) {
  Result<std::string> text = required_string(line.object, key);
  if (text.ok()) return text;
  return at_line(line, "", text.error());
}

Result<std::vector<ChatMessage>> messages_of(const InputLine& line) {
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
