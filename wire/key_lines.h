// Files that give keys to tenants. Each line has a tenant, white space, and the key or what
// represents it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cascade {

// The largest number of tenants in a file. A tenant that has connected keeps two sockets of the
// daemon at each door.
inline constexpr size_t kKeyTenantsMax = 200;

struct KeyLine {
  size_t number = 0;  // of the line, from 1
  std::string_view tenant;
  std::string_view key;  // not checked
};

// Skips empty lines and those that begin with '#'. The result has views into `text`.
// Errors: kInvalidArgument, field "line N": a line without a key (`key_name` says what is
// expected), a name that no tenant can have, or more than kKeyTenantsMax tenants.
Result<std::vector<KeyLine>> parse_key_lines(std::string_view text, const std::string& key_name);

std::string line_field(size_t number);

// Whether the name has 1 to 32 characters of a-z, 0-9, _ and -.
bool is_tenant_name(std::string_view name);
// The error for other names.
inline constexpr char kTenantNameRule[] = "must have 1 to 32 of a-z, 0-9, _ and -";

// The text without the lines whose key is `key`; nullopt if there is none.
std::optional<std::string> without_key(std::string_view text, std::string_view key);

}  // namespace cascade
