// TOML by toml++: one flat table, the keys of the settings.
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>

#include "base/check.h"
#include "base/suggestion.h"
#include "base/text_edges.h"
#include "base/text_file.h"
#include "config/configuration.h"
#include "config/file_writers.h"

namespace cascade::config {
namespace {

constexpr size_t kFileBytesMax = size_t{1} << 20;  // the shipped file has 10 KiB

std::string type_of(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string: return "a string";
    case toml::node_type::integer: return "an integer";
    case toml::node_type::floating_point: return "a float";
    case toml::node_type::boolean: return "a boolean";
    case toml::node_type::array: return "an array";
    case toml::node_type::table: return "a table";
    default: return "a date or time";
  }
}

// "a string", …: how a value of the setting is written.
std::string types_wanted(const Setting& setting) {
  switch (setting.kind) {
    case Kind::kInteger: return "an integer";
    case Kind::kShare: return "a float";
    case Kind::kSize: return "a string or an integer";
    case Kind::kList: return "an array of strings";
    default: return "a string";
  }
}

// The shortest text that reads as the same number.
std::string text_of_number(double value) {
  std::array<char, 64> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  CHECK(error == std::errc());
  return {text.data(), end};
}

// The texts as given on a command line; nullopt for a type that the setting does not take.
std::optional<std::vector<std::string>> texts_of(const Setting& setting, const toml::node& node) {
  using Texts = std::vector<std::string>;
  if (setting.kind == Kind::kList) {
    const toml::array* array = node.as_array();
    if (array == nullptr) return std::nullopt;
    Texts texts;
    for (const toml::node& element : *array) {
      if (!element.is_string()) return std::nullopt;
      texts.push_back(element.as_string()->get());
    }
    return texts;
  }
  const bool integer =
      setting.kind == Kind::kInteger || setting.kind == Kind::kSize || setting.kind == Kind::kShare;
  if (integer && node.is_integer()) return Texts{std::to_string(node.as_integer()->get())};
  if (setting.kind == Kind::kShare && node.is_floating_point()) {
    return Texts{text_of_number(node.as_floating_point()->get())};
  }
  const bool string = setting.kind != Kind::kInteger && setting.kind != Kind::kShare;
  if (string && node.is_string()) return Texts{node.as_string()->get()};
  return std::nullopt;
}

const Setting* setting_of_key(std::string_view key) {
  const auto found = std::ranges::find_if(
      settings(), [key](const Setting& setting) { return key_of(setting) == key; });
  return found == settings().end() ? nullptr : &*found;
}

void add_entry(Configuration& configuration, const std::string& path, const toml::key& key,
               const toml::node& node) {
  const std::string name(key.str());
  const std::string where = path + ':' + std::to_string(key.source().begin.line) + ": " + name;
  const auto problem = [&](const std::string& what) {
    configuration.problems.push_back(invalid_argument(where, what));
  };
  const Setting* setting = setting_of_key(name);
  if (setting == nullptr) {
    std::string swapped = name;
    std::ranges::replace(swapped, '-', '_');
    const Setting* meant = setting_of_key(swapped);
    if (meant != nullptr) return problem("is not a setting; write it as " + swapped);
    std::vector<std::string> keys;
    for (const Setting& known : settings()) keys.push_back(key_of(known));
    const std::string close = did_you_mean(name, keys);
    return problem("is not a setting" + (close.empty() ? "; see cascaded.toml(5)" : close));
  }
  auto texts = texts_of(*setting, node);
  if (!texts) {
    return problem("must be " + types_wanted(*setting) + " (" + allowed_of(*setting) + "), is " +
                   type_of(node));
  }
  if (const Status good = check(*setting, *texts, where); !good.ok()) {
    configuration.problems.push_back(good.error());
  }
  configuration.values.insert_or_assign(std::string(setting->name),
                                        Value{*std::move(texts), where});
}

// Whether TOML takes the value without quotes.
bool is_bare(std::string_view value) {
  double number = 0;
  const char* const end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, number);
  return value == "true" || value == "false" || (error == std::errc() && stop == end);
}

// "; texts stand in quotes: weights = \"int8\"" if the line lacks quotes.
std::string quotes_for(std::string_view text, size_t line_number) {
  std::string_view line;
  for (size_t number = 1; number <= line_number; ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  const size_t equals = line.find('=');
  if (equals == line.npos) return {};
  const std::string_view key = trimmed(line.substr(0, equals));
  const std::string_view behind = line.substr(equals + 1);
  const std::string_view value = trimmed(behind.substr(0, behind.find('#')));
  if (key.empty() || value.empty() || is_bare(value)) return {};
  if (value.find_first_of("\"'[]{}=\\") != value.npos) return {};
  return "; put texts in quotes: " + std::string(key) + " = \"" + std::string(value) + '"';
}

void add_file(Configuration& configuration, const std::string& path) {
  configuration.files.push_back(path);
  const auto text = read_text_file(path, kFileBytesMax);
  if (!text.ok()) {
    configuration.problems.push_back(text.error());
    return;
  }
  for (std::string& warning : warnings_of_writers(path)) {
    configuration.warnings.push_back(std::move(warning));
  }
  try {
    const toml::table table = toml::parse(std::string_view(*text), std::string_view(path));
    for (const auto& [key, node] : table) add_entry(configuration, path, key, node);
  } catch (const toml::parse_error& error) {
    configuration.problems.push_back(
        invalid_argument(path + ':' + std::to_string(error.source().begin.line),
                         "is not TOML: " + std::string(error.description()) +
                             quotes_for(*text, error.source().begin.line)));
  }
}

}  // namespace

void add_files(Configuration& configuration, const std::string& file) {
  add_file(configuration, file);
  std::error_code failed;
  std::vector<std::string> more;
  for (std::filesystem::directory_iterator it(file + ".d", failed), end; !failed && it != end;
       it.increment(failed)) {
    // Editors keep hidden files beside the files that they edit.
    const std::string name = it->path().filename();
    if (name.ends_with(".toml") && !name.starts_with('.')) more.push_back(it->path());
  }
  if (failed && failed != std::errc::no_such_file_or_directory) {
    configuration.problems.push_back(
        Error{ErrorCode::kIo, file + ".d", "cannot be read: " + failed.message()});
  }
  std::ranges::sort(more);
  for (const std::string& path : more) add_file(configuration, path);
}

}  // namespace cascade::config
