// To whom a request may be addressed: which names its Host header may have. A page of another site,
// whose name was made to resolve to our address (DNS rebinding), sends that site's name.
#pragma once

#include <set>
#include <string>
#include <string_view>

namespace cascade::http {

struct HostRules {
  std::set<std::string, std::less<>> names;  // lower case, without ports
  std::set<std::string, std::less<>> given;  // the names that the operator gave; also in `names`
  bool any_address = false;                  // also any IP address, for which no name was resolved
  // The origins of other sites whose pages may use this server: "https://app.example:8443", lower
  // case.
  std::set<std::string, std::less<>> origins;
  bool any_origin = false;  // pages of all origins may use this server
};

// Allows localhost, 127.0.0.1, [::1] and the given names. `origins`: as above, in upper or lower
// case; "*" stands for all.
HostRules host_rules(const std::set<std::string>& more, bool any_address,
                     const std::set<std::string>& origins = {});

// `host`: a Host header, with or without a port. An empty one is never allowed.
bool host_allowed(const HostRules& rules, std::string_view host);

// Whether `origin` (the header) is another site whose pages may use this server. Their browser is
// told so (CORS).
bool is_shared_with(const HostRules& rules, std::string_view origin);

// `origin`, `host`: the headers. Allowed are requests of a page to its own server, of pages at
// names that the operator gave (which may be those of a proxy), and of sites that the server is
// shared with. All others are refused, even those of pages on other ports of this machine.
bool origin_allowed(const HostRules& rules, std::string_view origin, std::string_view host);

// The key of "Authorization: Bearer KEY"; empty if the header is not of that form.
std::string_view bearer_key(std::string_view authorization);

}  // namespace cascade::http
