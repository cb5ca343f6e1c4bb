// A map from public keys to tenants.
#include "wire/curve/allow_list.h"

#include <set>

#include "wire/curve/key_pair.h"
#include "wire/key_lines.h"

namespace cascade::curve {

Result<AllowList> AllowList::parse(std::string_view text) {
  ASSIGN_OR_RETURN(const std::vector<KeyLine> lines,
                   parse_key_lines(text, "the public key of a client"));
  AllowList list;
  for (const KeyLine& line : lines) {
    if (!is_key(line.key)) {
      return invalid_argument(line_field(line.number),
                              "the public key must have 40 characters of Z85");
    }
    const auto [known, added] = list.tenants_.emplace(line.key, line.tenant);
    if (!added && known->second != line.tenant) {
      return invalid_argument(line_field(line.number),
                              "this key is of the tenant " + known->second + " already");
    }
  }
  return list;
}

size_t AllowList::tenant_count() const {
  std::set<std::string_view> tenants;
  for (const auto& [key, tenant] : tenants_) tenants.insert(tenant);
  return tenants.size();
}

std::optional<std::string> AllowList::tenant_of(const std::string& public_key) const {
  const auto found = tenants_.find(public_key);
  if (found == tenants_.end()) return std::nullopt;
  return found->second;
}

}  // namespace cascade::curve
