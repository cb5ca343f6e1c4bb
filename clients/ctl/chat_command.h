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
  kEffort,
  kClear,
  kHelp,
  kBye
};

struct ChatCommand {
  ChatVerb verb = ChatVerb::kText;
  std::string argument;
};

// A line that begins with "/" is a command ("//" begins a text that begins with "/"); any other
// line is text. White space around commands, arguments and texts is removed, except the indentation
// of a text of several lines. Errors: kInvalidArgument for an unknown command, a missing argument,
// or one too many. Pure.
Result<ChatCommand> parse_chat_line(std::string_view line);

// The command that is meant by `exit`, `quit` or `help`, which people type at prompts. Nothing for
// any other line. Pure.
std::optional<std::string> command_of_word(std::string_view line);

// The meaning of a pasted text of several lines: it is one message, whatever it begins with, unless
// it begins with a command that takes a text. Nothing if `text` is one line or such a command: then
// it is read like a typed line. Pure.
std::optional<std::string> message_of_paste(std::string_view text);

// One line for each command. Pure.
std::string chat_help();

// The words that Tab offers for the word at the end of `line`: whole words, sorted; `output_ids`
// for commands that take one. Pure.
std::vector<std::string> completions(std::string_view line,
                                     const std::vector<std::string>& output_ids);

}  // namespace cascade::ctl
