// Patterns for the formats of JSON Schema.
#include "model/grammar/formats.h"

#include <array>
#include <utility>

namespace cascade {
namespace {

// Years 0001 to 9999, months of the right length, leap days in leap years only.
constexpr char kDate[] =
    "((000[1-9]|00[1-9][0-9]|0[1-9][0-9]{2}|[1-9][0-9]{3})-"
    "((0[13578]|1[02])-(0[1-9]|[12][0-9]|3[01])|(0[469]|11)-(0[1-9]|[12][0-9]|30)|"
    "02-(0[1-9]|1[0-9]|2[0-8]))|"
    "([0-9]{2}(0[48]|[2468][048]|[13579][26])|(0[48]|[2468][048]|[13579][26])00)-02-29)";
constexpr char kTime[] =
    "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\\.[0-9]{1,6})?"
    "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])";
constexpr char kHost[] =
    "([a-zA-Z0-9]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?\\.){0,5}[a-zA-Z]([a-zA-Z0-9-]{0,30}[a-zA-Z0-9])?";
constexpr char kOctet[] = "(25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])";

std::string whole(const std::string& pattern) {
  return "^(" + pattern + ")$";
}

using Format = std::pair<std::string_view, std::string>;

const std::array<Format, 10>& formats() {
  static const std::string octet = kOctet, date = kDate, time = kTime, host = kHost;
  static const std::array<Format, 10> all = {{
      {"date", whole(date)},
      {"time", whole(time)},
      {"date-time", whole(date + "T" + time)},
      {"duration",
       whole("P([0-9]{1,4}W|([0-9]{1,4}Y([0-9]{1,4}M([0-9]{1,4}D)?)?|[0-9]{1,4}M([0-9]{1,4}D)?|"
             "[0-9]{1,4}D)(T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|[0-9]{1,4}M([0-9]{1,4}S)?|"
             "[0-9]{1,4}S))?|T([0-9]{1,4}H([0-9]{1,4}M([0-9]{1,4}S)?)?|"
             "[0-9]{1,4}M([0-9]{1,4}S)?|[0-9]{1,4}S))")},
      {"uuid", whole("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")},
      {"email", whole("[a-zA-Z0-9]{1,30}([._+-][a-zA-Z0-9]{1,15}){0,2}@" + host)},
      {"hostname", whole(host)},
      {"ipv4", whole("(" + octet + "\\.){3}" + octet)},
      {"ipv6", whole("([0-9a-f]{1,4}:){7}[0-9a-f]{1,4}|::1|::")},
      {"uri", whole("(https?|ftp)://" + host +
                    "(:[1-9][0-9]{0,3})?(/([a-zA-Z0-9._~!$&'()*+,;=:@-]|%[0-9A-F]{2})*)*"
                    "(\\?([a-zA-Z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-F]{2})*)?"
                    "(#([a-zA-Z0-9._~!$&'()*+,;=:@/?-]|%[0-9A-F]{2})*)?")},
  }};
  return all;
}

}  // namespace

std::optional<std::string> pattern_of_format(std::string_view format) {
  for (const auto& [name, pattern] : formats()) {
    if (name == format) return pattern;
  }
  return std::nullopt;
}

std::string known_formats() {
  std::string names;
  for (const auto& [name, pattern] : formats()) {
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return names;
}

}  // namespace cascade
