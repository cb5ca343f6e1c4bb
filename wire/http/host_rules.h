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
  // Of pages of other sites that may use this server: "https://app.example:8443", lower case.
  std::set<std::string, std::less<>> origins;
  bool any_origin = false;  // all of them may
};

// localhost, 127.0.0.1, [::1], and what is given. `origins`: as above, in any case; "*" is all.
HostRules host_rules(const std::set<std::string>& more, bool any_address,
                     const std::set<std::string>& origins = {});

// `host`: a Host header, with or without a port. An empty one is no name of ours.
bool host_allowed(const HostRules& rules, std::string_view host);

// Whether pages of `origin`, the header, are of another site and may use this server: their browser
// is told (CORS).
bool is_shared_with(const HostRules& rules, std::string_view origin);

// `origin`, `host`: the headers. A page's own requests are allowed, those of pages of names that
// the operator gave, which may be those of a proxy, and those of sites that it is shared with; of
// others, also on other ports of this machine, none are.
bool origin_allowed(const HostRules& rules, std::string_view origin, std::string_view host);

// The key of "Authorization: Bearer KEY"; empty if it is not of that form.
std::string_view bearer_key(std::string_view authorization);

}  // namespace cascade::http
