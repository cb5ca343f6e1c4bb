// Reads and removes keys line by line; comments stay where they are.
#include "wire/key_lines.h"

#include <algorithm>
#include <set>

#include "base/text_edges.h"

namespace cascade {
namespace {

constexpr std::string_view kKeyBlanks = " \t";  // between tenant and key
constexpr size_t kTenantBytesMax = 32;          // of a tenant's name, a part of a path of 107 bytes

// Splits a line into tenant and key. Both are empty for a comment or an empty line.
KeyLine split(std::string_view line) {
  line = trimmed(line);
  if (line.empty() || line.starts_with('#')) return {};
  const size_t blank = std::min(line.find_first_of(kKeyBlanks), line.size());
  return {0, line.substr(0, blank), trimmed(line.substr(blank))};
}

}  // namespace

Result<std::vector<KeyLine>> parse_key_lines(std::string_view text, const std::string& key_name) {
  std::vector<KeyLine> lines;
  std::set<std::string_view> tenants;
  for (size_t number = 1; !text.empty(); ++number) {
    KeyLine line = split(take_line(text));
    if (line.tenant.empty()) continue;
    line.number = number;
    if (line.key.empty()) {
      return invalid_argument(line_field(number), "must be a tenant and " + key_name);
    }
    if (!is_tenant_name(line.tenant)) {
      return invalid_argument(line_field(number), std::string("the tenant ") + kTenantNameRule);
    }
    tenants.insert(line.tenant);
    if (tenants.size() > kKeyTenantsMax) {
      return invalid_argument(line_field(number), "is of one tenant more than " +
                                                      std::to_string(kKeyTenantsMax) + " tenants");
    }
    lines.push_back(line);
  }
  return lines;
}

std::string line_field(size_t number) {
  return "line " + std::to_string(number);
}

bool is_tenant_name(std::string_view name) {
  const bool plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == name.npos;
  return plain && !name.empty() && name.size() <= kTenantBytesMax;
}

std::optional<std::string> without_key(std::string_view text, std::string_view key) {
  std::string kept;
  const size_t before = text.size();
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (split(line).key != key) kept += line;
  }
  if (kept.size() == before) return std::nullopt;
  return kept;
}

}  // namespace cascade
