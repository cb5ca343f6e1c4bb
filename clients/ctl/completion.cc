// A table of words in the language of each shell, and a function that looks into it.
#include "clients/ctl/completion.h"

#include <algorithm>
#include <sstream>

#include "config/setting.h"

namespace cascade::ctl {
namespace {

// The text in single quotes, as any of the three shells reads it.
std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
    } else if (c != '\n' && c != '\\') {
      result += c;
    }
  }
  return result + "'";
}

std::string with_spaces(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

std::string replaced(std::string text, const std::string& what, const std::string& by) {
  for (size_t at = 0; (at = text.find(what, at)) != text.npos; at += by.size()) {
    text.replace(at, what.size(), by);
  }
  return text;
}

// For bash and zsh: the words that may follow each command, and the values of options ("@" for a
// file).
constexpr char kTables[] = R"(_@PROGRAM@_words() {
  subs= flags=
  case "$1" in@WORDS@
  esac
}
_@PROGRAM@_values() {
  values=
  case "$1" in@VALUES@
  esac
}
)";

// The deepest command among the words so far decides which words may follow.
constexpr char kBash[] = R"(_@PROGRAM@() {
  local current=${COMP_WORDS[COMP_CWORD]} at=@PROGRAM@ subs flags values i
  _@PROGRAM@_words "$at"
  for ((i = 1; i < COMP_CWORD; i++)); do
    case " $subs " in
      *" ${COMP_WORDS[i]} "*) at="$at ${COMP_WORDS[i]}"; _@PROGRAM@_words "$at" ;;
    esac
  done
  _@PROGRAM@_values "$at ${COMP_WORDS[COMP_CWORD-1]}"
  COMPREPLY=()
  if [[ $values == @ ]]; then
    compopt -o default 2>/dev/null
  elif [[ -n $values ]]; then
    COMPREPLY=($(compgen -W "$values" -- "$current"))
  else
    COMPREPLY=($(compgen -W "$subs $flags" -- "$current"))
  fi
}
complete -F _@PROGRAM@ @PROGRAM@
)";

constexpr char kZsh[] = R"(_@PROGRAM@() {
  local at=@PROGRAM@ subs flags values i
  _@PROGRAM@_words "$at"
  for ((i = 2; i < CURRENT; i++)); do
    case " $subs " in
      *" $words[i] "*) at="$at $words[i]"; _@PROGRAM@_words "$at" ;;
    esac
  done
  _@PROGRAM@_values "$at $words[CURRENT-1]"
  if [[ $values == @ ]]; then
    _files
  elif [[ -n $values ]]; then
    compadd -- ${=values}
  else
    compadd -- ${=subs} ${=flags}
  fi
}
compdef _@PROGRAM@ @PROGRAM@
)";

std::string tables(const std::vector<CommandWords>& all) {
  std::string words, values;
  for (const CommandWords& command : all) {
    std::vector<std::string> flags;
    for (const CommandWords::Option& option : command.options) {
      flags.push_back(option.name);
      if (!option.takes_value) continue;
      values += "\n    " + quoted(command.path + ' ' + option.name) +
                ") values=" + quoted(option.values.empty() ? "@" : with_spaces(option.values)) +
                " ;;";
    }
    words += "\n    " + quoted(command.path) + ") subs=" + quoted(with_spaces(command.commands)) +
             " flags=" + quoted(with_spaces(flags)) + " ;;";
  }
  return replaced(replaced(kTables, "@WORDS@", words), "@VALUES@", values);
}

std::string bash_script(const std::vector<CommandWords>& all) {
  const std::string& program = all.front().path;
  return "# Completions of " + program + " for bash; made by cascadectl completion.\n" +
         replaced(tables(all) + kBash, "@PROGRAM@", program);
}

std::string zsh_script(const std::vector<CommandWords>& all) {
  const std::string& program = all.front().path;
  // compinit looks at the first line.
  return "#compdef " + program + "\n# Completions for zsh; made by cascadectl completion.\n" +
         replaced(tables(all) + kZsh, "@PROGRAM@", program);
}

std::string fish_script(const std::vector<CommandWords>& all) {
  const std::string& program = all.front().path;
  std::ostringstream script;
  script << "# Completions of " << program << " for fish; made by cascadectl completion.\n";
  for (const CommandWords& command : all) {
    std::istringstream words(command.path.substr(program.size()));
    std::string condition;
    for (std::string word; words >> word;) {
      condition += (condition.empty() ? "" : "; and ") + ("__fish_seen_subcommand_from " + word);
    }
    for (const std::string& below : command.commands) {
      const auto found = std::ranges::find(all, command.path + ' ' + below, &CommandWords::path);
      const std::string none = "not __fish_seen_subcommand_from " + with_spaces(command.commands);
      script << "complete -c " << program << " -f -n "
             << quoted(condition.empty() ? none : condition + "; and " + none) << " -a " << below
             << " -d " << quoted(found == all.end() ? "" : found->help) << '\n';
    }
    for (const CommandWords::Option& option : command.options) {
      script << "complete -c " << program;
      if (!condition.empty()) script << " -n " << quoted(condition);
      script << " -l " << option.name.substr(2) << " -d " << quoted(option.help);
      if (option.takes_value) script << " -r";
      if (!option.values.empty()) script << " -f -a " << quoted(with_spaces(option.values));
      script << '\n';
    }
  }
  return script.str();
}

}  // namespace

CommandWords daemon_words() {
  CommandWords words = {"cascaded", "", {}, {}};
  words.options = {{"--help", "Print this help message and exit", false, {}},
                   {"--version", "Display program version information and exit", false, {}},
                   {"--config", "file of settings", true, {}},
                   {"--check", "only check the settings", false, {}}};
  for (const config::Setting& setting : config::settings()) {
    std::vector<std::string> values;
    if (setting.kind == config::Kind::kChoice) {
      std::istringstream allowed(replaced(std::string(setting.allowed), ",", " "));
      for (std::string word; allowed >> word;) values.push_back(word);
    }
    words.options.push_back({flag_of(setting), std::string(setting.help), true, values});
  }
  return words;
}

Result<std::string> completion_script(const std::string& shell,
                                      const std::vector<CommandWords>& all) {
  if (shell == "bash") return bash_script(all);
  if (shell == "zsh") return zsh_script(all);
  if (shell == "fish") return fish_script(all);
  return invalid_argument("SHELL", "must be bash, zsh or fish, got \"" + shell + '"');
}

}  // namespace cascade::ctl
