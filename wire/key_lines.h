// Files that give tenants keys: a line for each, of a tenant, white space and what stands for the
// key.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cascade {

// Of a file: a tenant that has come keeps two sockets of the daemon at each door.
inline constexpr size_t kKeyTenantsMax = 200;

struct KeyLine {
  size_t number = 0;  // of the line, from 1
  std::string_view tenant;
  std::string_view key;  // not looked at
};

// Empty lines, and those that begin with '#', are left out. Views into `text`.
// Errors: kInvalidArgument, field "line N": a line without a key (`key_name` says what is
// expected), a name that no tenant can have, or more than kKeyTenantsMax tenants.
Result<std::vector<KeyLine>> parse_key_lines(std::string_view text, const std::string& key_name);

// "line N".
std::string line_field(size_t number);

// 1 to 32 of a-z, 0-9, _ and -.
bool is_tenant_name(std::string_view name);
// What to say of others.
inline constexpr char kTenantNameRule[] = "must have 1 to 32 of a-z, 0-9, _ and -";

// The text without the lines whose key is `key`; nullopt if there is none.
std::optional<std::string> without_key(std::string_view text, std::string_view key);

}  // namespace cascade
