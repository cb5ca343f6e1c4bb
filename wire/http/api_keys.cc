// Every entry is compared, even if an earlier one matched.
#include "wire/http/api_keys.h"

#include <set>

#include "base/random.h"
#include "wire/key_lines.h"

namespace cascade::http {

Result<ApiKeys> ApiKeys::parse(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<KeyLine> lines,
                   parse_key_lines(text, "the SHA-256 of its key"));
  ApiKeys keys;
  keys.asked_ = true;
  for (const KeyLine& line : lines) {
    const auto hash = Digest::from_hex(line.key);
    if (!hash) {
      return invalid_argument(line_field(line.number), "the hash must have 64 hexadecimal digits");
    }
    keys.entries_.push_back({std::string(line.tenant), *hash});
  }
  return keys;
}

size_t ApiKeys::tenant_count() const {
  std::set<std::string_view> tenants;
  for (const Entry& entry : entries_) tenants.insert(entry.tenant);
  return tenants.size();
}

std::optional<std::string> ApiKeys::tenant_of(std::string_view key) const {
  const Digest hash = sha256(key);
  const Entry* found = nullptr;
  for (const Entry& entry : entries_) {
    if (equal_in_constant_time(entry.hash, hash)) found = &entry;
  }
  if (found == nullptr) return std::nullopt;
  return found->tenant;
}

std::string new_api_key() {
  const std::string first = random_id(""), second = random_id("");
  return "sk-cascade-" + first.substr(1) + second.substr(1);
}

std::string api_key_line(const std::string& tenant, std::string_view key) {
  return tenant + " " + sha256(key).hex();
}

}  // namespace cascade::http
