// Which clients may connect over tcp, and which tenant each of them is.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cascade::curve {

class AllowList {
 public:
  // Each line has a tenant, white space and a client's public key (key_pair.h); empty lines, and
  // those that begin with '#', are skipped. A tenant may have several keys; a key has one tenant.
  // Errors: kInvalidArgument, field "line N".
  static Result<AllowList> parse(std::string_view text);

  bool empty() const { return tenants_.empty(); }
  // The number of tenants that have a key.
  size_t tenant_count() const;
  // The tenant of a public key.
  std::optional<std::string> tenant_of(const std::string& public_key) const;

 private:
  std::map<std::string, std::string, std::less<>> tenants_;  // by public key
};

}  // namespace cascade::curve
