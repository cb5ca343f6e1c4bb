// Writes text for people, as TOML and as troff.
#include "config/manual.h"

namespace cascade::config {
namespace {

constexpr size_t kColumns = 98;

constexpr char kHead[] =
    R"(# The settings of cascaded. This file is their manual, too: it has every setting, with its
# default, commented out. Put your changes into a file of your own in cascaded.toml.d/: its *.toml
# files are read after this one, in the order of their names.
#
# A setting `kv_memory` is also the option --kv-memory and the variable CASCADED_KV_MEMORY. Options
# override variables, variables override these files, and later files override earlier ones.
#
#   cascadectl config check      says what is wrong here, with file and line
#   cascadectl config show       shows each setting's value, and where it was set
#   systemctl reload cascaded    applies the settings that are marked (reload); the others need
#                                a restart: systemctl restart cascaded
#
# Sizes: bytes, or "512M", "4G" (K, M, G are powers of 1,024).
)";

// Lines of at most kColumns columns, each beginning with `prefix`.
std::string wrapped(const std::string& text, const std::string& prefix) {
  std::string result, line = prefix;
  size_t begin = 0;
  while (begin < text.size()) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    const std::string word = text.substr(begin, end - begin);
    const bool first = line == prefix;
    if (!first && line.size() + 1 + word.size() > kColumns) {
      result += line + '\n';
      line = prefix + word;
    } else {
      line += (first ? "" : " ") + word;
    }
    begin = end + 1;
  }
  return result + line + '\n';
}

std::string capitalised(std::string text) {
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// The default, as text for people.
std::string default_of(const Setting& setting) {
  return std::string(setting.computed.empty() ? setting.fallback : setting.computed);
}

std::string quoted(const std::string& text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

// Escapes '\' and '-' for troff, so that they are printed as they are.
std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

}  // namespace

std::string assignment(const Setting& setting, const std::vector<std::string>& texts) {
  std::string value;
  if (setting.kind == Kind::kList) {
    for (const std::string& text : texts) value += (value.empty() ? "" : ", ") + quoted(text);
    value = '[' + value + ']';
  } else {
    const std::string text = texts.empty() ? "" : texts.front();
    const bool bare = setting.kind == Kind::kInteger || setting.kind == Kind::kShare;
    value = bare && !text.empty() ? text : quoted(text);
  }
  return key_of(setting) + " = " + value;
}

std::string manual_file(const std::string& model) {
  std::string text = kHead;
  std::string_view group;
  for (const Setting& setting : settings()) {
    if (setting.group != group) {
      group = setting.group;
      text += "\n# ---- " + std::string(group) + " ";
      text += std::string(kColumns - 8 - group.size(), '-') + '\n';
    }
    text += '\n' + wrapped(capitalised(std::string(setting.help)) + '.' +
                               (setting.reloads ? " (reload)" : ""),
                           "# ");
    text +=
        wrapped("Values: " + allowed_of(setting) + ". Default: " + default_of(setting) + ".", "# ");
    text += wrapped(capitalised(std::string(setting.reason)), "# ");
    if (setting.name == "model" && !model.empty()) {
      text += assignment(setting, {model}) + '\n';
    } else {
      const std::string value(setting.fallback);
      text += '#' + (value.empty() ? key_of(setting) + " =" : assignment(setting, {value})) + '\n';
    }
  }
  return text;
}

std::string manual_page() {
  std::string text =
      ".TH CASCADED.TOML 5 \"2026-11-26\" \"Cascade\" \"File formats\"\n"
      ".SH NAME\ncascaded.toml \\- settings of the Cascade LLM inference daemon\n"
      ".SH DESCRIPTION\n.BR cascaded (8)\nreads the file that\n.B \\-\\-config\n"
      "or CASCADED_CONFIG names, and after it the files\n.IR FILE .d/*.toml\n"
      "in the order of their names. The service's file is\n"
      ".IR /etc/cascaded/cascaded.toml .\nIt is TOML, one table of the keys below.\n.PP\n"
      "A setting kv_memory is also the option \\-\\-kv\\-memory and the variable "
      "CASCADED_KV_MEMORY. Options override variables, variables override files, and later files "
      "override earlier ones. In a variable, commas separate the texts of a list.\n.PP\n"
      "SIGHUP (systemctl reload cascaded) changes the settings that are marked (reload), and says "
      "which others have changed and need a restart. A file with a mistake changes nothing. Keys "
      "in the file of API keys are read again, too.\n";
  std::string_view group;
  for (const Setting& setting : settings()) {
    if (setting.group != group) {
      group = setting.group;
      text += ".SH " + std::string(group) + '\n';
    }
    text += ".TP\n.B " + escaped(key_of(setting)) + (setting.reloads ? " (reload)" : "") + '\n';
    text += escaped(capitalised(std::string(setting.help))) + ".\n.br\n";
    text += "Values: " + escaped(allowed_of(setting)) + ".\n.br\n";
    text += "Default: " + escaped(default_of(setting)) + ".\n.br\n";
    text += escaped(std::string(setting.reason)) + '\n';
  }
  return text + ".SH SEE ALSO\n.BR cascaded (8),\n.BR cascadectl (1)\n";
}

}  // namespace cascade::config
