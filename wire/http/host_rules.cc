// Names are compared in lower case, addresses as they are written.
#include "wire/http/host_rules.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cctype>

namespace cascade::http {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return out;
}

// The host without its port; "[::1]" keeps its brackets. Empty if malformed.
std::string_view without_port(std::string_view host) {
  if (host.starts_with('[')) {
    const size_t end = host.find(']');
    if (end == std::string_view::npos) return {};
    const std::string_view rest = host.substr(end + 1);
    return rest.empty() || rest.starts_with(':') ? host.substr(0, end + 1) : std::string_view();
  }
  return host.substr(0, host.find(':'));
}

bool is_address(std::string_view name) {
  std::array<uint8_t, 16> bytes{};
  if (name.starts_with('[')) name = name.substr(1, name.size() - 2);
  const std::string text(name);
  return ::inet_pton(AF_INET, text.c_str(), bytes.data()) == 1 ||
         ::inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

}  // namespace

HostRules host_rules(const std::set<std::string>& more, bool any_address,
                     const std::set<std::string>& origins) {
  HostRules rules;
  rules.names = {"localhost", "127.0.0.1", "[::1]"};
  rules.any_address = any_address;
  for (const std::string& name : more) rules.given.insert(lower(name));
  rules.names.insert(rules.given.begin(), rules.given.end());
  for (const std::string& origin : origins) rules.origins.insert(lower(origin));
  rules.any_origin = rules.origins.erase("*") > 0;
  return rules;
}

bool is_shared_with(const HostRules& rules, std::string_view origin) {
  return rules.any_origin || rules.origins.contains(lower(origin));
}

bool host_allowed(const HostRules& rules, std::string_view host) {
  const std::string name = lower(without_port(host));
  if (name.empty()) return false;
  return rules.names.contains(name) || (rules.any_address && is_address(name));
}

bool origin_allowed(const HostRules& rules, std::string_view origin, std::string_view host) {
  if (is_shared_with(rules, origin)) return true;
  for (const std::string_view scheme : {"http://", "https://"}) {
    if (!origin.starts_with(scheme)) continue;
    const std::string page = lower(origin.substr(scheme.size()));
    if (rules.given.contains(without_port(page))) return true;
    return page == lower(host) && host_allowed(rules, host);
  }
  return false;
}

std::string_view bearer_key(std::string_view authorization) {
  constexpr std::string_view kScheme = "bearer ";
  if (authorization.size() <= kScheme.size()) return {};
  if (lower(authorization.substr(0, kScheme.size())) != kScheme) return {};
  authorization.remove_prefix(kScheme.size());
  const size_t begin = authorization.find_first_not_of(' ');
  if (begin == std::string_view::npos) return {};
  return authorization.substr(begin, authorization.find_last_not_of(' ') + 1 - begin);
}

}  // namespace cascade::http
