// Who may be meant by a request: the names in its Host header. A page of another site that had its
// name resolved to our address (DNS rebinding) names that site.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace cascade::http {

struct HostRules {
  std::set<std::string, std::less<>> names;  // lower case, without ports
  std::set<std::string, std::less<>> given;  // of these, those that the operator named
  bool any_address = false;                  // also any IP address: no name was resolved then
};

// localhost, 127.0.0.1, [::1], and what is given.
HostRules host_rules(const std::set<std::string>& more, bool any_address);

// `host`: a Host header, with or without a port.
bool host_allowed(const HostRules& rules, std::string_view host);

// `origin`, `host`: the headers. A page's own requests are allowed, and those of pages of names
// that the operator gave, which may be those of a proxy; of others, also on other ports of this
// machine, none are: no CORS.
bool origin_allowed(const HostRules& rules, std::string_view origin, std::string_view host);

// The key of "Authorization: Bearer KEY"; empty if it is not of that form.
std::string_view bearer_key(std::string_view authorization);

}  // namespace cascade::http
