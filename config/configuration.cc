// The layer above the files, which is the environment, and the changes between two readings.
#include "config/configuration.h"

#include <cstdlib>
#include <string_view>

#include "base/suggestion.h"

namespace cascade::config {
namespace {

constexpr std::string_view kPrefix = "CASCADED_";
constexpr char kConfigVariable[] = "CASCADED_CONFIG";  // the name of the file; not a setting

std::vector<std::string> split(const std::string& text) {
  std::vector<std::string> parts;
  size_t begin = 0;
  while (begin <= text.size() && !text.empty()) {
    const size_t comma = std::min(text.find(',', begin), text.size());
    parts.push_back(text.substr(begin, comma - begin));
    begin = comma + 1;
  }
  return parts;
}

const Setting* setting_of(const std::string& variable) {
  for (const Setting& setting : settings()) {
    if (variable_of(setting) == variable) return &setting;
  }
  return nullptr;
}

}  // namespace

void add_environment(Configuration& configuration, const char* const* environment) {
  for (; *environment != nullptr; ++environment) {
    const std::string entry = *environment;
    const size_t equals = entry.find('=');
    if (!entry.starts_with(kPrefix) || equals == entry.npos) continue;
    const std::string variable = entry.substr(0, equals);
    if (variable == kConfigVariable) continue;
    const Setting* setting = setting_of(variable);
    if (setting == nullptr) {
      std::vector<std::string> variables;
      for (const Setting& known : settings()) variables.push_back(variable_of(known));
      configuration.warnings.push_back(variable +
                                       " in the environment is not a setting of cascaded" +
                                       did_you_mean(variable, variables));
      continue;
    }
    const std::string text = entry.substr(equals + 1);
    Value value = {setting->kind == Kind::kList ? split(text) : std::vector{text}, variable};
    const Status good = check(*setting, value.texts, variable);
    if (!good.ok()) configuration.problems.push_back(good.error());
    configuration.values.insert_or_assign(std::string(setting->name), std::move(value));
  }
}

std::string file_from_environment() {
  const char* file = std::getenv(kConfigVariable);
  return file == nullptr ? "" : file;
}

std::vector<Change> changes(const Values& before, const Values& after) {
  std::vector<Change> all;
  for (const Setting& setting : settings()) {
    const auto old = before.find(setting.name);
    const auto now = after.find(setting.name);
    const bool had = old != before.end(), has = now != after.end();
    if (!had && !has) continue;
    if (had && has && old->second.texts == now->second.texts) continue;
    all.push_back({&setting, has ? now->second.origin : ""});
  }
  return all;
}

}  // namespace cascade::config
