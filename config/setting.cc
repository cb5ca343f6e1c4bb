// Names and checks of settings, from the table.
#include "config/setting.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/checked.h"

namespace cascade::config {
namespace {

std::string with_underscores(std::string_view name) {
  std::string result(name);
  std::ranges::replace(result, '-', '_');
  return result;
}

template <class T>
bool parse_whole(const std::string& text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end;
}

bool is_choice(std::string_view allowed, const std::string& text) {
  if (text.empty() || text.find_first_of(", ") != text.npos) return false;
  return (", " + std::string(allowed) + ",").find(", " + text + ",") != std::string::npos;
}

bool is_allowed(const Setting& setting, const std::string& text) {
  switch (setting.kind) {
    case Kind::kChoice: return is_choice(setting.allowed, text);
    case Kind::kInteger: {
      int64_t value = 0;
      return parse_whole(text, value) && value >= setting.least && value <= setting.most;
    }
    case Kind::kShare: {
      double value = -1;
      return parse_whole(text, value) && value >= 0 && value <= 1;
    }
    case Kind::kSize: return parse_size("", text).ok();
    case Kind::kText:
    case Kind::kPath:
    case Kind::kList: return text.find('\0') == text.npos;
  }
  return false;
}

}  // namespace

const Setting* find_setting(std::string_view name) {
  const auto found = std::ranges::find(settings(), name, &Setting::name);
  return found == settings().end() ? nullptr : &*found;
}

std::string flag_of(const Setting& setting) {
  return "--" + std::string(setting.name);
}

std::string key_of(const Setting& setting) {
  return with_underscores(setting.name);
}

std::string variable_of(const Setting& setting) {
  std::string name = "CASCADED_" + key_of(setting);
  for (char& c : name) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return name;
}

std::string allowed_of(const Setting& setting) {
  switch (setting.kind) {
    case Kind::kChoice: return "one of " + std::string(setting.allowed);
    case Kind::kInteger:
      return "a whole number from " + std::to_string(setting.least) + " to " +
             std::to_string(setting.most) + " (" + std::string(setting.allowed) + ")";
    case Kind::kShare: return "a number from 0 to 1";
    case Kind::kSize:
      return "a whole number of bytes from 1 to 9223372036854775807, or one with K, M or G after "
             "it for KiB, MiB or GiB (512M, 4G)";
    case Kind::kList: return "a list: " + std::string(setting.allowed);
    case Kind::kText:
    case Kind::kPath: return std::string(setting.allowed);
  }
  return "";
}

Status check(const Setting& setting, const std::vector<std::string>& texts,
             const std::string& where) {
  if (setting.kind != Kind::kList && texts.size() != 1) {
    return invalid_argument(
        where, "must be given once, is given " + std::to_string(texts.size()) + " times");
  }
  for (const std::string& text : texts) {
    if (is_allowed(setting, text)) continue;
    return invalid_argument(where, "must be " + allowed_of(setting) + ", got \"" + text + '"');
  }
  return {};
}

Result<int64_t> parse_size(const std::string& where, const std::string& text) {
  const Error bad = invalid_argument(where,
                                     "must be a whole number of bytes from 1 to "
                                     "9223372036854775807, or one with K, M or G after it for "
                                     "KiB, MiB or GiB (512M, 4G), got \"" +
                                         text + "\"");
  int64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [unit, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || number <= 0) return bad;
  const std::string_view suffix(unit, static_cast<size_t>(end - unit));
  int shift = 0;
  if (suffix == "K") shift = 10;
  if (suffix == "M") shift = 20;
  if (suffix == "G") shift = 30;
  if (!suffix.empty() && shift == 0) return bad;
  const auto bytes = checked_mul(number, int64_t{1} << shift);
  if (!bytes) return bad;
  return *bytes;
}

}  // namespace cascade::config
