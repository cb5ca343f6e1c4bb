// The table of chat commands, and the functions that parse, explain and complete with it.
#include "clients/ctl/chat_command.h"

#include <algorithm>
#include <array>

#include "base/text_edges.h"
#include "clients/ctl/terminal_text.h"

namespace cascade::ctl {
namespace {

enum class Argument { kNone, kOptional, kRequired };

struct Command {
  std::string_view name;
  ChatVerb verb;
  Argument argument;
  std::string_view argument_name;
  std::string_view help;  // empty: another name of the command above
};

constexpr std::array<Command, 19> kCommands = {{
    {"/system", ChatVerb::kSystem, Argument::kOptional, "TEXT",
     "set the system prompt; without TEXT: remove it"},
    {"/context", ChatVerb::kContext, Argument::kRequired, "TEXT", "add a text to the next turn"},
    {"/query", ChatVerb::kQuery, Argument::kRequired, "TEXT", "set the question for /infer"},
    {"/infer", ChatVerb::kInfer, Argument::kNone, "", "answer the question"},
    {"/output", ChatVerb::kOutput, Argument::kOptional, "[all]",
     "list the outputs of this conversation; all: everybody's"},
    {"/outputs", ChatVerb::kOutput, Argument::kOptional, "", ""},
    {"/use-output", ChatVerb::kUseOutput, Argument::kRequired, "N|ID",
     "add an output to the conversation; N is its number in the last list"},
    {"/continue", ChatVerb::kContinue, Argument::kRequired, "N|ID",
     "go on with the conversation that an output ended"},
    {"/delete-output", ChatVerb::kDeleteOutput, Argument::kRequired, "N|ID",
     "give up an output; it is deleted with its KV cache if nobody else holds it"},
    {"/chunks", ChatVerb::kChunks, Argument::kNone, "", "list all chunks"},
    {"/stats", ChatVerb::kStats, Argument::kNone, "", "show what the daemon holds and did"},
    {"/think", ChatVerb::kThink, Argument::kRequired, "on|off|hide",
     "think and show it; do not think; think but do not show it"},
    {"/effort", ChatVerb::kEffort, Argument::kOptional, "LEVEL",
     "how much the model reasons, such as low or high; without LEVEL: its default"},
    {"/clear", ChatVerb::kClear, Argument::kNone, "",
     "begin a new conversation; the system prompt stays, and nothing is deleted"},
    {"/help", ChatVerb::kHelp, Argument::kNone, "", "show this"},
    {"/?", ChatVerb::kHelp, Argument::kNone, "", ""},
    {"/bye", ChatVerb::kBye, Argument::kNone, "", "leave (also /exit, /quit, Ctrl-D)"},
    {"/exit", ChatVerb::kBye, Argument::kNone, "", ""},
    {"/quit", ChatVerb::kBye, Argument::kNone, "", ""},
}};

// `text` without empty lines around it. A single line also loses its indentation.
std::string message(std::string_view text) {
  const std::string_view inner = trimmed(text);
  if (inner.find('\n') == std::string_view::npos) return std::string(inner);
  const size_t line = text.find_last_of('\n', static_cast<size_t>(inner.data() - text.data()));
  const size_t begin = line == std::string_view::npos ? 0 : line + 1;
  return std::string(text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1));
}

const Command* find_command(std::string_view name) {
  for (const Command& command : kCommands) {
    if (command.name == name) return &command;
  }
  return nullptr;
}

bool takes_text(const Command& command) {
  return command.argument_name == "TEXT";
}

std::vector<std::string> starting_with(std::string_view word, std::vector<std::string> choices) {
  std::erase_if(choices, [&](const std::string& choice) { return choice.rfind(word, 0) != 0; });
  std::sort(choices.begin(), choices.end());
  return choices;
}

}  // namespace

Result<ChatCommand> parse_chat_line(std::string_view line) {
  const std::string_view text = trimmed(line);
  if (text.empty()) return ChatCommand{ChatVerb::kNothing, ""};
  if (text[0] != '/') return ChatCommand{ChatVerb::kText, message(line)};
  if (text.rfind("//", 0) == 0) return ChatCommand{ChatVerb::kText, std::string(text.substr(1))};
  const size_t name_end = std::min(text.find_first_of(kBlanks), text.size());
  const std::string name(text.substr(0, name_end));
  const std::string_view argument = trimmed(text.substr(name_end));
  const Command* command = find_command(name);
  if (command == nullptr) {
    return invalid_argument(fitted(one_line(name), 40), "is not a command; /help lists them");
  }
  if (command->argument == Argument::kRequired && argument.empty()) {
    return invalid_argument(name, "needs an argument: " + std::string(command->argument_name));
  }
  if (command->argument == Argument::kNone && !argument.empty()) {
    return invalid_argument(name, "takes no argument");
  }
  return ChatCommand{command->verb, std::string(argument)};
}

std::optional<std::string> command_of_word(std::string_view line) {
  const std::string_view word = trimmed(line);
  if (word == "exit" || word == "quit" || word == "help") return "/" + std::string(word);
  return std::nullopt;
}

std::optional<std::string> message_of_paste(std::string_view text) {
  const std::string_view inner = trimmed(text);
  if (inner.find('\n') == std::string_view::npos) return std::nullopt;
  const Command* command = find_command(inner.substr(0, inner.find_first_of(kBlanks)));
  if (command != nullptr && takes_text(*command)) return std::nullopt;
  if (inner[0] == '/') return "/" + std::string(inner);
  return std::string(text);
}

std::string chat_help() {
  std::string out =
      "A line of text is a turn of the conversation. \"\"\" begins and ends text of many lines. "
      "Pasted text is one turn; Enter sends it.\n";
  for (const Command& command : kCommands) {
    if (command.help.empty()) continue;
    const std::string usage = std::string(command.name) + " " + std::string(command.argument_name);
    out += "  " + padded(usage, 22, false) + " " + std::string(command.help) + "\n";
  }
  return out +
         "exit, quit and help, typed alone, do what /exit, /quit and /help do; \"\"\"exit\"\"\" "
         "sends the word. Ctrl-C stops an answer. To send a text that begins with /, begin it "
         "with //.\n";
}

std::vector<std::string> completions(std::string_view line,
                                     const std::vector<std::string>& output_ids) {
  const size_t space = line.find_first_of(kBlanks);
  if (line.empty() || line[0] != '/') return {};
  if (space == std::string_view::npos) {
    std::vector<std::string> names;
    for (const Command& command : kCommands) {
      if (!command.help.empty()) names.emplace_back(command.name);
    }
    return starting_with(line, names);
  }
  const Command* command = find_command(line.substr(0, space));
  if (command == nullptr) return {};
  const size_t begin = std::min(line.find_first_not_of(kBlanks, space), line.size());
  const std::string_view word = line.substr(begin);
  // the command has its argument already
  if (word.find_first_of(kBlanks) != std::string_view::npos) return {};
  if (command->verb == ChatVerb::kThink) return starting_with(word, {"on", "off", "hide"});
  if (command->verb == ChatVerb::kEffort) return starting_with(word, {"low", "medium", "high"});
  if (command->verb == ChatVerb::kOutput) return starting_with(word, {"all"});
  if (command->argument_name == "N|ID") return starting_with(word, output_ids);
  return {};
}

}  // namespace cascade::ctl
