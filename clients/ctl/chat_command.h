// What a line of the chat means: a command with its argument, or text for the model.
#pragma once

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
// is text. White space around commands and their arguments does not count.
// Errors: kInvalidArgument: unknown command, an argument missing or too much. Pure.
Result<ChatCommand> parse_chat_line(std::string_view line);

// One line for each command. Pure.
std::string chat_help();

// What Tab offers for the word that ends `line`: whole words, sorted; `output_ids` for commands
// that take one. Pure.
std::vector<std::string> completions(std::string_view line,
                                     const std::vector<std::string>& output_ids);

}  // namespace cascade::ctl
