// Every entry is compared, whatever was found before it.
#include "wire/http/api_keys.h"

#include "base/random.h"

namespace cascade::http {
namespace {

constexpr std::string_view kBlanks = " \t\r";
constexpr size_t kTenantBytesMax = 32;  // of a name: it is part of a path of 107 bytes

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

}  // namespace

Result<ApiKeys> ApiKeys::parse(std::string_view text) {
  ApiKeys keys;
  for (int number = 1; !text.empty(); ++number) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = trimmed(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty() || line.starts_with('#')) continue;
    const std::string field = "line " + std::to_string(number);
    const size_t blank = line.find_first_of(kBlanks);
    if (blank == std::string_view::npos) {
      return invalid_argument(field, "must be a tenant and the SHA-256 of its key");
    }
    const std::string_view tenant = line.substr(0, blank);
    if (!is_tenant_name(tenant)) {
      return invalid_argument(field, "the tenant must have 1 to 32 of a-z, 0-9, _ and -");
    }
    const auto hash = Digest::from_hex(trimmed(line.substr(blank)));
    if (!hash) return invalid_argument(field, "the hash must have 64 hexadecimal digits");
    keys.entries_.push_back({std::string(tenant), *hash});
  }
  return keys;
}

std::set<std::string> ApiKeys::tenants() const {
  std::set<std::string> names;
  for (const Entry& entry : entries_) names.insert(entry.tenant);
  return names;
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

bool is_tenant_name(std::string_view name) {
  const bool plain = name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == name.npos;
  return plain && !name.empty() && name.size() <= kTenantBytesMax;
}

}  // namespace cascade::http
