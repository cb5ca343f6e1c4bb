// What a line of the chat means: a command with its argument, or text for the model.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cascade::ctl {

enum class ChatVerb {
  kText,  // a turn of the conversation
  kNothing,
  kSystem,
  kContext,
  kQuery,
  kInfer,
  kOutput,
  kUseOutput,
  kContinue,
  kDeleteOutput,
  kChunks,
  kStats,
  kThink,
  kClear,
  kHelp,
  kBye
};

struct ChatCommand {
  ChatVerb verb = ChatVerb::kText;
  std::string argument;
};

// A line that begins with "/" is a command ("//" stands for a text that begins with "/"); any other
// is text. White space around commands, their arguments and texts does not count, but for the
// indentation of a text of several lines.
// Errors: kInvalidArgument: unknown command, an argument missing or too much. Pure.
Result<ChatCommand> parse_chat_line(std::string_view line);

// `exit`, `quit` and `help`, which people type at prompts: the command that is meant. Nothing for
// any other line. Pure.
std::optional<std::string> command_of_word(std::string_view line);

// What a text of several lines that was pasted means: it is one message whatever it begins with,
// but for a command that takes a text. Nothing if `text` is one line, or such a command: it is read
// like one that was typed. Pure.
std::optional<std::string> message_of_paste(std::string_view text);

// One line for each command. Pure.
std::string chat_help();

// What Tab offers for the word that ends `line`: whole words, sorted; `output_ids` for commands
// that take one. Pure.
std::vector<std::string> completions(std::string_view line,
                                     const std::vector<std::string>& output_ids);

}  // namespace cascade::ctl
